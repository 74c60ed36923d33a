"""A results folder as the report model: every pair is validated before anything of it is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discovercall.contract.comparison import Side, compare_runs
from discovercall.contract.summary import score_records
from discovercall.contract.tasks import TaskSet, load_task_set
from discovercall.foundation.artifacts import RUNS_SUFFIX, SUMMARY_SUFFIX
from discovercall.foundation.ecma_json import decode
from discovercall.foundation.errors import DiscovercallError, RefusedError
from discovercall.publication.lanes import results_of_pair
from discovercall.publication.pair import Pair
from discovercall.publication.policy import Policy
from discovercall.publication.summary import EXTRAS
from discovercall.publication.transaction import interrupted, journal_of, locked
from discovercall.publication.trend import first_measured, release_of, trends_of
from discovercall.publication.verification import read_pair, verify_pair
from discovercall.report.reading import comparability_of, gap_of
from discovercall.report.results import (
    REFERENCE,
    LaneGap,
    Refused,
    Result,
    ResultsReport,
    RunResults,
    refusal,
)


@dataclass(frozen=True, slots=True)
class _Known:
    """A result with what it was validated by."""

    result: Result
    records: Sequence[Mapping[str, Any]]
    task_set: TaskSet


def results_report(folder: Path, policy: Policy, task_sets: Mapping[str, TaskSet | None]) -> ResultsReport:
    """Validate every pair of a folder, and put together what there is to say of those that pass.

    Args:
        folder: the results folder.
        policy: the publication policy that the pairs have to keep.
        task_sets: task sets by file name, `vN.jsonl`; None for one that is no valid task set.

    Returns:
        The report without the gateway's and the agent benchmark's measurements, which other packages know.
    """
    found: list[_Known] = []
    refused: list[Refused] = []
    for pair in _pairs(folder, refused):
        try:
            found += _read(pair, policy, task_sets)
        except DiscovercallError as error:
            refused.append(refusal(pair.runs.name, _why(error, pair)))
    official = [known for known in found if not known.result.rehearsal]
    return ResultsReport(
        runs=_runs(official),
        rehearsals=_runs([known for known in found if known.result.rehearsal]),
        refused=tuple(refused),
        trends=trends_of((known.result, _version(known)) for known in official),
        gateway=None,
        scenarios=(),
    )


def load_task_sets(folder: Path) -> dict[str, TaskSet | None]:
    """The task sets of a folder by file name; None for one that is not valid."""
    found: dict[str, TaskSet | None] = {}
    for path in sorted(folder.glob("v*.jsonl")):
        try:
            found[path.name] = load_task_set(path)
        except DiscovercallError:
            found[path.name] = None
    return found


def _pairs(folder: Path, refused: list[Refused]) -> Iterable[Pair]:
    """Every pair of which both files are there; halves and cut-off publications are refused by name."""
    with locked(folder, shared=True):
        cut_off = {journal_of(pair).name: pair.stem for pair in interrupted(folder)}
        names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    for journal, stem in sorted(cut_off.items()):
        refused.append(refusal(journal, f"a publication of {stem} was cut off; finish or undo it"))
    stems = {
        name.removesuffix(suffix)
        for name in names
        for suffix in (RUNS_SUFFIX, SUMMARY_SUFFIX)
        if name.endswith(suffix)
    }
    for stem in sorted(stems - set(cut_off.values())):
        missing = [s for s in (RUNS_SUFFIX, SUMMARY_SUFFIX) if f"{stem}{s}" not in names]
        if missing:
            other = SUMMARY_SUFFIX if missing[0] == RUNS_SUFFIX else RUNS_SUFFIX
            refused.append(refusal(f"{stem}{other}", f"is half of a pair: {stem}{missing[0]} is missing"))
        else:
            yield Pair(folder, stem)


def _read(pair: Pair, policy: Policy, task_sets: Mapping[str, TaskSet | None]) -> list[_Known]:
    if not pair.version:
        raise RefusedError("the stem doesn't end in -vN, the version of the task set")
    task_set = task_sets.get(f"v{pair.version}.jsonl")
    if task_set is None:
        raise RefusedError(f"there is no valid task set v{pair.version}")
    files = read_pair(pair)
    verified = verify_pair(files, policy, task_set)
    if verified.differences:
        raise RefusedError(f"the summary is not that of the records: {verified.differences[0]}")
    summary = decode(files.summary)
    if EXTRAS not in summary:
        summary = score_records(
            task_set.raw,
            verified.records,
            task_set_sha256=task_set.sha256,
            generated_at=summary["generated_at"],
        )
    return [
        _Known(result, [r for r in verified.records if r["model"] == result.lane.model], task_set)
        for result in results_of_pair(pair.stem, summary, verified.records, rehearsal=verified.rehearsal)
    ]


def _why(error: DiscovercallError, pair: Pair) -> str:
    """The reason without the folder that the file is in."""
    return str(error).replace(f"{pair.folder}/", "").removeprefix(f"{pair.runs.name}: ")


def _version(known: _Known) -> str:
    return known.task_set.path.stem


def _runs(found: Sequence[_Known]) -> tuple[RunResults, ...]:
    """Lanes that were measured together; a lane measured again begins another run.

    The release that was first measured last comes first, and of one release the latest run.
    """
    first = first_measured(known.result for known in found)
    runs: dict[tuple[Any, ...], list[_Known]] = {}
    for known in sorted(found, key=lambda known: known.result.measured_at):
        number = 0
        while any(_lane(one) == _lane(known) for one in runs.get((*_together(known), number), ())):
            number += 1
        runs.setdefault((*_together(known), number), []).append(known)
    ordered = [sorted(run, key=_reference_first) for run in runs.values()]
    ordered.sort(key=lambda run: _age(run, first), reverse=True)
    return tuple(_run(run) for run in ordered)


def _age(run: Sequence[_Known], first: Mapping[str, str]) -> tuple[str, str, str]:
    release = release_of(run[0].result)
    return first[release], release, max(known.result.measured_at for known in run)


def _lane(known: _Known) -> tuple[str, str]:
    return known.result.lane.lane, known.result.lane.model


def _reference_first(known: _Known) -> tuple[bool, str, str]:
    return known.result.lane.lane != REFERENCE, *_lane(known)


def _together(known: _Known) -> tuple[Any, ...]:
    found = known.result.lane.provenance
    names = ("toolkit_revision", "task_set_sha256", "api_base_url", "discovery_limit")
    return (*(found[name] for name in names), known.result.methodology, known.result.trials)


def _run(run: Sequence[_Known]) -> RunResults:
    first = run[0]
    return RunResults(
        release=release_of(first.result),
        date=min(known.result.measured_at for known in run)[:10],
        task_set=_version(first),
        rehearsal=first.result.rehearsal,
        results=tuple(known.result for known in run),
        gaps=tuple(_gap(first, other) for other in run[1:]) if first.result.lane.lane == REFERENCE else (),
    )


def _gap(reference: _Known, other: _Known) -> LaneGap:
    sides = [Side("the reference", reference.records), Side("this lane", other.records)]
    names = (reference.result.lane.model, other.result.lane.model)
    tasks = reference.task_set
    try:
        found = compare_runs(tasks.raw, *sides, task_set_sha256=tasks.sha256)
    except DiscovercallError as error:
        return LaneGap(*names, None, " ".join(filter(None, (error.where, error.what))), None)
    return LaneGap(*names, gap_of(found["gap"]), None, comparability_of(found["comparability"]))
