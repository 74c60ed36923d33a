"""The cases of the benchmark and the mock's streams, as data: `tasks/invocation/`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from discovercall.foundation.digests import sha256_hex
from discovercall.foundation.errors import InputError
from discovercall.foundation.json_file import read_json
from discovercall.foundation.models import NotBlank, UniqueTexts, check
from discovercall.foundation.resources import resource_path
from discovercall.invocation.runtime.mock import Script, stream_item
from discovercall.invocation.runtime.modes import AgentRole, ModeName

CASE_NAMES = (
    "ordinary_chat",
    "device_volume_silent",
    "calendar_schedule_template",
    "web_search_two_answers",
    "session_terminate",
    "parallel_volume_schedule",
)
"""The built-in cases, in the order of results."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Expectation(_Model):
    """What must hold after the turn of a case; see `tasks/invocation/README.md`."""

    answers: list[Literal["model", "template"]]
    events: list[NotBlank]
    follow_ups: Annotated[int, Field(ge=0)]
    session: Literal["open", "terminal"]


class Case(_Model):
    """One case: the same input, events, limits and parameters in both modes."""

    id: NotBlank
    input: NotBlank
    events: UniqueTexts
    max_events: Annotated[int, Field(ge=1)]
    parameters: dict[str, Any]
    expect: Expectation


class _CaseFile(_Model):
    schema_version: Literal[1]
    cases: list[Case]


class _MockStreams(_Model):
    fallbacks: Annotated[int, Field(ge=0, le=1)]
    streams: dict[AgentRole, list[dict[str, Any]]]


class _MockFile(_Model):
    schema_version: Literal[1]
    cases: dict[str, dict[ModeName, _MockStreams]]


@dataclass(frozen=True, slots=True)
class CaseSet:
    """All cases, and the SHA-256 of the file they come from."""

    cases: tuple[Case, ...]
    sha256: str

    def named(self, names: Sequence[str]) -> tuple[Case, ...]:
        """The cases with these names, in the order of the names."""
        by_name = {case.id: case for case in self.cases}
        return tuple(by_name[name] for name in names)


@dataclass(frozen=True, slots=True)
class MockAnswers:
    """What the mock says in one case and mode, and how often the EventAgent has to be asked for it."""

    script: Script
    fallbacks: int


def load_cases(path: Path | None = None) -> CaseSet:
    """Read the cases; the built-in ones when no path is given.

    Raises:
        InputError: the file is unreadable or malformed; names the field.
    """
    path = path or resource_path("tasks", "invocation", "cases.json")
    value, data = read_json(path)
    return CaseSet(tuple(check(_CaseFile, value, str(path)).cases), sha256_hex(data))


def load_mock_answers(path: Path | None = None) -> dict[tuple[str, ModeName], MockAnswers]:
    """Read the mock's streams by case and mode; the built-in ones when no path is given.

    Raises:
        InputError: the file is unreadable or malformed.
    """
    path = path or resource_path("tasks", "invocation", "mock.json")
    value, _ = read_json(path)
    answers = {}
    for name, modes in check(_MockFile, value, str(path)).cases.items():
        for mode, told in modes.items():
            where = f"{path}: cases.{name}.{mode.value}"
            answers[name, mode] = MockAnswers(_script(told, where), told.fallbacks)
    return answers


def _script(told: _MockStreams, where: str) -> Script:
    try:
        return {role: [stream_item(item) for item in items] for role, items in told.streams.items()}
    except (KeyError, TypeError, AttributeError):
        raise InputError(
            "an item is none of text, reasoning, tool_call, usage, finish", where=where
        ) from None
