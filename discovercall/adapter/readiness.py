"""Whether a bundled adapter can decide here: what is there, what is missing, and what to do about it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from discovercall.adapter.authoring import Refusal
from discovercall.adapter.bundled import BundledAdapter
from discovercall.adapter.clis.facts import MODEL_CLIS, ModelCli, login_file, pins
from discovercall.adapter.clis.options import CliOptions, locate
from discovercall.adapter.environment import adapter_environment
from discovercall.adapter.identity import installed_version
from discovercall.foundation.ecmascript import trim

State = Literal["ok", "warning", "missing"]
_START_TIMEOUT_S = 30


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that an adapter needs.

    Attributes:
        what: the thing: `starts`, `command`, `version`, `key`, or the name of a variable.
        state: `missing` keeps the adapter from deciding, `warning` does not.
        found: what there is, never a secret.
        fix: what to do; None where nothing needs doing.
    """

    what: str
    state: State
    found: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Readiness:
    """All checks of one adapter."""

    name: str
    checks: tuple[Check, ...]

    @property
    def ready(self) -> bool:
        """True when nothing is missing."""
        return all(check.state != "missing" for check in self.checks)


def check_adapter(adapter: BundledAdapter, environment: Mapping[str, str]) -> Readiness:
    """Look at what one adapter needs; no model is asked and nothing goes over the network.

    Args:
        adapter: the adapter.
        environment: this process's environment.
    """
    own = adapter_environment(environment, adapter.environment, ())
    if adapter.model_cli is None:
        checks = [_starts(adapter, own), *(_variable(name, own) for name in adapter.environment)]
    else:
        cli = MODEL_CLIS[adapter.model_cli]
        checks = [_starts(adapter, own), *_command(cli, own), _key(cli, own)]
    return Readiness(adapter.name, tuple(checks))


def _starts(adapter: BundledAdapter, environment: Mapping[str, str]) -> Check:
    """Its file is there and runs: an unknown stage is what every adapter knows to refuse."""
    with tempfile.TemporaryDirectory() as folder:
        tasks = Path(folder, "tasks.jsonl")
        tasks.touch()
        try:
            done = subprocess.run(
                adapter.command(tasks),
                input=b'{"stage":"none"}',
                env=dict(environment),
                cwd=folder,
                capture_output=True,
                timeout=_START_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            done = None
    if done is not None and b"=unsupported_stage" in done.stderr:
        return Check("starts", "ok", "yes")
    return Check("starts", "missing", "no", "install discovercall anew: its adapter or its Python is broken")


def _variable(name: str, environment: Mapping[str, str]) -> Check:
    if trim(environment.get(name, "")):
        return Check(name, "ok", "set")
    return Check(
        name, "missing", "not set", f"export {name}=…, unless arguments of the adapter make it needless"
    )


def _command(cli: ModelCli, environment: Mapping[str, str]) -> list[Check]:
    pinned = pins(cli)
    newest = pinned.versions[-1]
    install = f"npm install --global {pinned.package}@{newest}"
    try:
        program = locate(cli, CliOptions(), environment.get("PATH"))
    except Refusal:
        return [
            Check(
                "command", "missing", f"no {cli.name} in PATH", f"{install}, or give --adapter-arg --cli-path"
            )
        ]
    command = Check("command", "ok", program)
    try:
        version = installed_version(cli, program, environment)
    except Refusal as refusal:
        return [command, Check("version", "missing", refusal.detail, install)]
    if version in pinned.versions:
        return [command, Check("version", "ok", version)]
    return [
        command,
        Check("version", "warning", f"{version} (tested: {', '.join(pinned.versions)})", install),
    ]


def _key(cli: ModelCli, environment: Mapping[str, str]) -> Check:
    if trim(environment.get(cli.key_variable, "")):
        return Check("key", "ok", f"{cli.key_variable} is set")
    login = login_file(cli, environment)
    fix = f"export {cli.key_variable}=…, or log in with `{cli.login}`"
    if login is None:
        return Check("key", "missing", f"no {cli.key_variable}, no login", fix)
    if not os.access(login, os.R_OK):
        return Check("key", "missing", "the login cannot be read", fix)
    return Check("key", "ok", f"login of {cli.name}")
