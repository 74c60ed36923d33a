"""Whether a report that was read can be true: every total in it is recomputed from its runs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from discovercall.foundation.digests import is_commit
from discovercall.foundation.ecmascript import is_number, is_safe, strictly_equal
from discovercall.foundation.errors import InputError, RefusedError
from discovercall.invocation.cases import CASE_NAMES
from discovercall.invocation.report_model import Cell, Report, RunReport, Tokens
from discovercall.invocation.summary import METRICS, PAIRED, cell_of, compare_modes, token_totals
from discovercall.publication.fields import is_timestamp

_VERSION = re.compile(r"[0-9][0-9A-Za-z.+-]{0,63}\Z")
_FIX = "reports are not edited: measure again"
_RELATIVE_TOLERANCE = 1e-9


def check_sound(report: Report, where: str) -> None:
    """Refuse a report that no benchmark can have written.

    Args:
        report: as it was read, of the right shape.
        where: its file.

    Raises:
        InputError: a text is none that a report has, or a cell or a figure is missing; names the field.
        RefusedError: a total is not that of the runs, or the runs are not those of the plan; names the field.
    """
    for field, rule in _unusable(report):
        raise InputError(rule, where=f"{where}: {field}")
    try:
        for field, problem in _contradictions(report):
            raise RefusedError(problem, where=f"{where}: {field}", fix=_FIX)
    except OverflowError:
        raise InputError("holds a number that no figure can be made of", where=where) from None


def _unusable(report: Report) -> Iterator[tuple[str, str]]:
    settings, toolkit = report.settings, report.toolkit
    if not is_timestamp(report.generated_at):
        yield "generated_at", "must be a real time written as YYYY-MM-DDTHH:MM:SS.mmmZ"
    if not _VERSION.match(toolkit.version):
        yield "toolkit.version", "must be a version: a digit, then up to 63 of A-Z, a-z, 0-9 and .+-"
    if toolkit.commit is not None and not is_commit(toolkit.commit):
        yield "toolkit.commit", "must be null or a commit: 40 or 64 hex digits"
    for name, values, known in (
        ("modes", settings.modes, None),
        ("cases", settings.cases, CASE_NAMES),
    ):
        if not values or len(set(values)) < len(values):
            yield f"settings.{name}", "must name one or more, each once"
        if known is not None and not set(values) <= set(known):
            yield f"settings.{name}", f"must be some of {', '.join(known)}"
    for name in ("model", "base_url"):
        value = getattr(settings, name)
        if settings.client == "mock" and value is not None:
            yield f"settings.{name}", "must be null where the client is mock"
        if settings.client == "live" and not is_safe(value, 2048):
            yield f"settings.{name}", "must be a text without control characters where the client is live"
    yield from _incomplete(report)


def _incomplete(report: Report) -> Iterator[tuple[str, str]]:
    wanted = [(case, mode) for case in report.settings.cases for mode in report.settings.modes]
    if [(cell.case, cell.mode) for cell in report.cells] != wanted:
        yield "cells", "must have one entry for each case and mode of the settings, in their order"
    for index, cell in enumerate(report.cells):
        if set(cell.metrics) != set(METRICS):
            yield f"cells[{index}].metrics", f"must have {', '.join(METRICS)}"
    if (report.comparison is not None) != (len(report.settings.modes) == 2):
        yield "comparison", "must be there where two modes were run, and be null where one was"
    if report.comparison is not None and set(report.comparison.latency) != set(PAIRED):
        yield "comparison.latency", f"must have {', '.join(PAIRED)}"


def _contradictions(report: Report) -> Iterator[tuple[str, str]]:
    settings, runs = report.settings, report.runs
    total = len(settings.cases) * len(settings.modes) * settings.runs_per_case
    if len(runs) != total:
        yield "runs", f"are {len(runs)}, and the plan has {total}"
        return
    planned = [
        (case, mode, iteration)
        for case in settings.cases
        for mode in settings.modes
        for iteration in range(1, settings.runs_per_case + 1)
    ]
    found = [(run.case, run.mode, run.iteration) for run in runs]
    if found != planned:
        yield "runs", "are not those of the plan in the order case, mode, iteration"
        return
    for index, run in enumerate(runs):
        for field, problem in _run_problems(run):
            yield f"runs[{index}].{field}", problem
    passed = sum(run.passed for run in runs)
    recomputed: dict[str, Any] = {
        "runs_planned": len(planned),
        "runs_passed": passed,
        "passed": passed == len(planned),
        "cells": [cell.model_dump(mode="json") for cell in _cells(report)],
        "tokens": token_totals(runs).model_dump(mode="json"),
        "comparison": _comparison(report),
    }
    told = report.model_dump(mode="json")
    for name, value in recomputed.items():
        for field in _differences(told[name], value, name):
            yield field, "is not what the runs give"


def _run_problems(run: RunReport) -> Iterator[tuple[str, str]]:
    if run.passed != (run.error is None and not run.failures):
        yield "passed", "must be true exactly where there is no error and no failure"
    if run.passed and not all(call.status == "completed" for call in run.model_calls):
        yield "passed", "is true although a model call was not completed"
    if run.passed and not all(event.status == "succeeded" for event in run.events):
        yield "passed", "is true although an event did not succeed"
    if run.passed and not run.model_calls:
        yield "passed", "is true without a model call"
    events = run.event_agent_fallbacks
    asked = [call.role for call in run.model_calls].count("event_agent")
    if len(run.model_calls) == run.chat_agent_calls + events:
        if asked != events:
            yield "event_agent_fallbacks", "is not the number of the EventAgent's calls"
        for kind in Tokens.model_fields:
            values = [getattr(call.tokens, kind) for call in run.model_calls]
            total = sum(values) if values and None not in values else None
            if getattr(run.tokens, kind) != total:
                yield f"tokens.{kind}", "is not the sum over the model calls"
    elif run.passed:
        yield "model_calls", "are not as many as chat_agent_calls and event_agent_fallbacks say"


def _cells(report: Report) -> Iterator[Cell]:
    for case in report.settings.cases:
        for mode in report.settings.modes:
            yield cell_of(case, mode, [run for run in report.runs if (run.case, run.mode) == (case, mode)])


def _comparison(report: Report) -> Any:
    settings = report.settings
    if len(settings.modes) != 2:
        return None
    first, second = settings.modes
    found = compare_modes(report.runs, first, second, settings.cases, settings.runs_per_case)
    return found.model_dump(mode="json")


def _differences(told: Any, recomputed: Any, path: str) -> Iterator[str]:
    """Where two values differ; figures may in their last digits, which depend on the machine."""
    if isinstance(told, Mapping) and isinstance(recomputed, Mapping):
        for name in recomputed:
            yield from _differences(told.get(name), recomputed[name], f"{path}.{name}")
    elif _is_list(told) and _is_list(recomputed) and len(told) == len(recomputed):
        for index, pair in enumerate(zip(told, recomputed, strict=True)):
            yield from _differences(*pair, f"{path}[{index}]")
    elif isinstance(recomputed, float) and is_number(told):
        if not math.isclose(told, recomputed, rel_tol=_RELATIVE_TOLERANCE, abs_tol=1e-9):
            yield path
    elif not strictly_equal(told, recomputed):
        yield path


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
