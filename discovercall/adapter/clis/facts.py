"""The model command lines that adapters start: how they differ, and which versions are tested."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from discovercall.adapter.authoring import Refusal
from discovercall.foundation.resources import resource_path


@dataclass(frozen=True, slots=True)
class ModelCli:
    """A model command line.

    Attributes:
        name: its name in revisions and in `adapters/model-clis.json`; also the program that is looked up.
        key_variable: the variable with the API key, which comes before a login.
        home_variable: the variable that moves its configuration folder.
        home_folder: that folder below HOME otherwise.
        credential: the file in it that a login leaves.
        login: how a person logs in.
        efforts: what `--effort` takes.
        version: finds the version in what `--version` prints.
        full_name: what a full model name looks like.
        examples: full names, for messages.
    """

    name: str
    key_variable: str
    home_variable: str
    home_folder: str
    credential: str
    login: str
    efforts: tuple[str, ...]
    version: re.Pattern[str]
    full_name: re.Pattern[str]
    examples: str


_VERSION = r"(\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?)"

CODEX = ModelCli(
    name="codex",
    key_variable="CODEX_API_KEY",
    home_variable="CODEX_HOME",
    home_folder=".codex",
    credential="auth.json",
    login="codex login",
    efforts=("none", "minimal", "low", "medium", "high", "xhigh"),
    version=re.compile(rf"^codex-cli {_VERSION}$", re.M),
    full_name=re.compile(r"(?!.*latest)(?=.*[0-9])[a-z][a-z0-9.]*(?:-[a-z0-9.]+)*"),
    examples="gpt-5.5",
)
CLAUDE = ModelCli(
    name="claude",
    key_variable="ANTHROPIC_API_KEY",
    home_variable="CLAUDE_CONFIG_DIR",
    home_folder=".claude",
    credential=".credentials.json",
    login="claude /login",
    efforts=("low", "medium", "high", "xhigh", "max"),
    version=re.compile(rf"^{_VERSION} \(Claude Code\)$", re.M),
    full_name=re.compile(r"(?!.*latest)claude(?:-[a-z0-9]+)*-[0-9][a-z0-9]*(?:-[a-z0-9]+)*"),
    examples="claude-sonnet-4-5",
)
MODEL_CLIS = {cli.name: cli for cli in (CODEX, CLAUDE)}


@dataclass(frozen=True, slots=True)
class Pins:
    """The npm package of a command line, and its versions that are tested, the newest last."""

    package: str
    versions: tuple[str, ...]


def pins(cli: ModelCli) -> Pins:
    """What `adapters/model-clis.json` says of a command line."""
    said = json.loads(resource_path("adapters", "model-clis.json").read_bytes())[cli.name]
    return Pins(str(said["package"]), tuple(said["versions"]))


def check_model(cli: ModelCli, model: object) -> str:
    """The model's name, when it is a full one: an alias means another model with each version.

    Raises:
        Refusal: `start_failed`; an alias, or no name at all.
    """
    if not isinstance(model, str) or not cli.full_name.fullmatch(model):
        raise Refusal("start_failed", f"the model must be a full name such as {cli.examples}, not an alias")
    return model


def login_file(cli: ModelCli, environment: Mapping[str, str]) -> Path | None:
    """The file of an existing login; None where there is none."""
    folder = environment.get(cli.home_variable)
    if not folder and not environment.get("HOME"):
        return None
    path = Path(folder or os.path.join(environment["HOME"], cli.home_folder), cli.credential)
    return path.resolve() if path.is_file() else None
