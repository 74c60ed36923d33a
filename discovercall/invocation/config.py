"""What is run: the JSON configuration, the command line over it, and the key from the environment alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from discovercall.foundation.base_url import normalize_base_url
from discovercall.foundation.ecmascript import is_safe, trim
from discovercall.foundation.errors import InputError
from discovercall.foundation.json_file import read_json
from discovercall.foundation.jsonl import read_text
from discovercall.foundation.models import NotBlank, StrictModel, check, unique, unknown_field
from discovercall.invocation.cases import CASE_NAMES
from discovercall.invocation.redaction import SecretRedactor
from discovercall.invocation.runtime.modes import ModeName

KEY_VARIABLE = "AGENT_LAB_OPENAI_API_KEY"
DEFAULT_TIMEOUT_S = 120.0
MAX_RUNS_PER_CASE = 1000
_FILE_LIMIT = 1 << 20
_KEY = re.compile(r"[\x21-\x7e]{8,}")

_Modes = Annotated[
    list[Literal["dual_agent", "chat_agent_tools"]], Field(min_length=1), AfterValidator(unique)
]
_Cases = Annotated[list[NotBlank], Field(min_length=1), AfterValidator(unique)]


class ConfigFile(StrictModel):
    """The JSON configuration. It has no place for a key."""

    schema_version: Literal[1]
    base_url: NotBlank | None = None
    model: NotBlank | None = None
    runs_per_case: Annotated[int, Field(ge=1, le=MAX_RUNS_PER_CASE)] | None = None
    modes: _Modes | None = None
    cases: _Cases | None = None


@dataclass(frozen=True, slots=True)
class InvokeOptions:
    """What the command line says; None and empty where it says nothing."""

    config: Path | None = None
    base_url: str | None = None
    model: str | None = None
    modes: Sequence[str] = ()
    cases: Sequence[str] = ()
    runs_per_case: int | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S
    mock: bool = False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the model is and what it is asked with."""

    base_url: str
    model: str
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run, checked. `endpoint` is None for the mock."""

    endpoint: Endpoint | None
    modes: tuple[ModeName, ...]
    cases: tuple[str, ...]
    runs_per_case: int
    timeout_s: float

    @property
    def runs(self) -> int:
        """How many runs that are."""
        return len(self.cases) * len(self.modes) * self.runs_per_case


def make_plan(options: InvokeOptions, environment: Mapping[str, str], folder: Path) -> Plan:
    """The plan from command line, configuration file, environment and `.env`, in this order of weight.

    Args:
        options: the command line.
        environment: where the key may be; before `.env`.
        folder: where `.env` may be.

    Raises:
        InputError: something is missing or wrong; the message never repeats a secret.
    """
    file = _read(options.config) if options.config is not None else ConfigFile(schema_version=1)
    modes = _one_of(options.modes or file.modes or list(ModeName), list(ModeName), "--mode", "modes")
    cases = _one_of(options.cases or file.cases or CASE_NAMES, CASE_NAMES, "--case", "cases")
    runs = options.runs_per_case if options.runs_per_case is not None else (file.runs_per_case or 1)
    endpoint = None
    if not options.mock:
        endpoint = _endpoint(
            options.base_url or file.base_url, options.model or file.model, environment, folder
        )
    return Plan(
        endpoint=endpoint,
        modes=tuple(ModeName(mode) for mode in modes),
        cases=tuple(cases),
        runs_per_case=runs,
        timeout_s=options.timeout_s,
    )


def _read(path: Path) -> ConfigFile:
    value, _ = read_json(path, _FILE_LIMIT)
    redact = SecretRedactor()
    if redact.tree(value) != value:
        raise InputError(
            "holds something shaped like a key", where=str(path), fix=f"put the key into {KEY_VARIABLE}"
        )
    if isinstance(value, dict):
        known = ConfigFile.model_fields
        unknown = [name for name in value if name not in known]
        if unknown:
            error = unknown_field([redact.short(unknown[0])], list(known), str(path))
            raise InputError(
                error.what, where=error.where, fix=f"{error.fix} (a key goes into {KEY_VARIABLE})"
            )
    return check(ConfigFile, value, str(path))


def _one_of(names: Sequence[str], known: Sequence[str], flag: str, field_name: str) -> Sequence[str]:
    for name in names:
        if name not in known:
            raise InputError(
                f"{name[:64]!r} is not known",
                where=f"{flag} or {field_name}",
                fix=f"known are {', '.join(known)}",
            )
    if len(set(names)) < len(names):
        raise InputError("names something twice", where=f"{flag} or {field_name}")
    return names


def _endpoint(
    base_url: str | None, model: str | None, environment: Mapping[str, str], folder: Path
) -> Endpoint:
    if not base_url:
        raise InputError(
            "no base URL", where="--base-url", fix="give one, or --mock for a run without a model"
        )
    if not model:
        raise InputError(
            "no model", where="--model", fix="give its name, or --mock for a run without a model"
        )
    if not is_safe(model):
        raise InputError("has control characters or more than 256 characters", where="--model")
    return Endpoint(normalize_base_url(base_url), model, _key(environment, folder))


def _key(environment: Mapping[str, str], folder: Path) -> str:
    key = trim(environment.get(KEY_VARIABLE) or "") or trim(_from_env_file(folder / ".env") or "")
    if not key:
        raise InputError("no API key", where=KEY_VARIABLE, fix="set it in the environment or in .env")
    if not _KEY.fullmatch(key):
        raise InputError(
            "is no usable API key", where=KEY_VARIABLE, fix="it has 8 or more printable ASCII characters"
        )
    return key


def _from_env_file(path: Path) -> str | None:
    if not path.is_file():
        return None
    from dotenv import dotenv_values

    text, _ = read_text(path, _FILE_LIMIT)
    return dotenv_values(stream=StringIO(text), interpolate=False).get(KEY_VARIABLE)
