"""Faults that the gateway commits on request, so that clients can be tried against a hostile service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from discovercall.foundation.errors import InputError
from discovercall.foundation.json_file import read_json
from discovercall.foundation.json_text import compact
from discovercall.foundation.models import StrictModel, check, refuse

Operation = Literal["search", "inspect", "execute"]
OPERATIONS: tuple[Operation, ...] = ("search", "inspect", "execute")
ALWAYS = -1
_Seconds = Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)]


class _DoFile(StrictModel):
    latency_ms: Annotated[float, Field(ge=0, le=3_600_000, allow_inf_nan=False)] = 0
    status: Annotated[int, Field(ge=400, le=599)] | None = None
    retry_after: _Seconds | str | None = None
    reset: bool = False
    hang_s: _Seconds | None = None
    body_hang_s: _Seconds | None = None
    bad_json: bool = False
    pad_bytes: Annotated[int, Field(ge=0, le=2**30)] = 0
    empty: bool = False

    @model_validator(mode="after")
    def _does_something(self) -> _DoFile:
        if not self.model_fields_set:
            raise refuse(f"must name at least one of {', '.join(type(self).model_fields)}")
        return self


class _FaultFile(StrictModel):
    on: Literal["search", "inspect", "execute", "*"] | list[Operation] = "*"
    match: str | None = None
    times: Annotated[int, Field(ge=ALWAYS)] = 1
    do: _DoFile


@dataclass(frozen=True, slots=True)
class Effect:
    """What a fault does to one request.

    Attributes:
        latency_ms: milliseconds to wait before anything else.
        status: answer with this HTTP error instead.
        retry_after: value of a Retry-After header, in seconds or as text; alone it implies status 429.
        reset: cut the connection with a TCP reset before answering.
        hang_s: stay silent for so many seconds, then close the connection.
        body_hang_s: send half of the body, stay silent for so many seconds, then close.
        bad_json: send a body that breaks off in the middle of its JSON text.
        pad_bytes: make the body longer by so many bytes.
        empty: a well-formed answer with nothing in it: no results, or a successful call without a result.
    """

    latency_ms: float = 0
    status: int | None = None
    retry_after: float | str | None = None
    reset: bool = False
    hang_s: float | None = None
    body_hang_s: float | None = None
    bad_json: bool = False
    pad_bytes: int = 0
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """An effect, the operations it strikes, the text a request must contain, and how often (-1: always)."""

    do: Effect
    on: tuple[Operation, ...] = OPERATIONS
    match: str | None = None
    times: int = 1


def load_faults(path: Path) -> tuple[Fault, ...]:
    """Read a faults file: a JSON list of {on, match, times, do}.

    Raises:
        InputError: names the file, the entry, the member and what would be right.
    """
    value, _ = read_json(path)
    return parse_faults(value, where=str(path))


def parse_faults(value: Any, *, where: str) -> tuple[Fault, ...]:
    """Check a list of faults.

    Raises:
        InputError: for the first problem.
    """
    if not isinstance(value, list):
        raise InputError("must be a list", where=where, fix="expected [{on, match, times, do}, …]")
    return tuple(_fault(entry, f"{where}: faults[{index}]") for index, entry in enumerate(value))


def _fault(entry: Any, where: str) -> Fault:
    checked = check(_FaultFile, entry, where)
    on: tuple[Operation, ...]
    if isinstance(checked.on, list):
        on = tuple(checked.on)
    else:
        on = OPERATIONS if checked.on == "*" else (checked.on,)
    return Fault(Effect(**checked.do.model_dump()), on, checked.match, checked.times)


class FaultPlan:
    """Deals out faults: the first that fits a request and has a use left strikes it."""

    def __init__(self, faults: Sequence[Fault] = ()) -> None:
        self._faults = tuple(faults)
        self._left = [fault.times for fault in faults]

    def strike(self, operation: Operation, body: Any, tool_id: str | None) -> Effect | None:
        """The effect on a request, which uses one of the fault's times up; None for a healthy answer.

        Args:
            operation: which request it is.
            body: its parsed body; `match` is looked for in its compact JSON and in the tool id.
            tool_id: of an execute request.
        """
        if not self._faults:
            return None
        text = f"{compact(body)} {tool_id or ''}"
        for place, fault in enumerate(self._faults):
            if operation not in fault.on or self._left[place] == 0:
                continue
            if fault.match is not None and fault.match not in text:
                continue
            if self._left[place] > 0:
                self._left[place] -= 1
            return fault.do
        return None
