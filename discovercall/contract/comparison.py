"""Two runs over the same tasks: the gap, its exact test, and what the two catalogs allow to be said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import stdev
from typing import Any

from discovercall.contract.additions import workflow_task_rates
from discovercall.contract.summary import score_records
from discovercall.foundation.digests import sha256_of_json
from discovercall.foundation.errors import RefusedError

_SAME = (
    ("methodology", "the method"),
    ("tasks", "the number of tasks"),
    ("trials_per_task", "the number of trials per task"),
)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two runs.

    Args:
        name: how messages name it, for instance its file.
        records: its records, private or public, of one model.
    """

    name: str
    records: Sequence[Mapping[str, Any]]


def compare_runs(
    tasks: Sequence[Mapping[str, Any]], a: Side, b: Side, *, task_set_sha256: str
) -> dict[str, Any]:
    """Compare two runs; every difference is A minus B.

    Args:
        tasks: the task set of both.
        task_set_sha256: its digest.

    Returns:
        `schema_version`; `a` and `b`, the names of the sides; `models`, both summary entries with their
        headline intervals as `headline_95`; `gap`, in rates: `points` with `interval_95` and `p_value`,
        `differing_tasks` of at least `differing_tasks_needed`, the tasks `better`, `equal` and `worse` by id,
        `smallest_detectable` and `tasks_needed_for_5_points`; and `comparability`, see `comparability`.

    Raises:
        InputError: records that can't be scored.
        RefusedError: runs that can't be compared; says why.
    """
    summaries = [score_records(tasks, side.records, task_set_sha256=task_set_sha256) for side in (a, b)]
    entries = [_one_model(side, summary) for side, summary in zip((a, b), summaries, strict=True)]
    for field, what in _SAME:
        values = [
            {**entry, "methodology": s["methodology"]}[field]
            for entry, s in zip(entries, summaries, strict=True)
        ]
        if values[0] != values[1]:
            raise RefusedError(f"{what} differs: {a.name} has {values[0]}, {b.name} has {values[1]}")
    rates = []
    for side, summary in zip((a, b), summaries, strict=True):
        task_rates = workflow_task_rates(summary["records"])
        if task_rates is None:
            raise RefusedError(
                "has records whose result evidence is missing, so its success is unknown", where=side.name
            )
        rates.append(task_rates)
    return {
        "schema_version": 1,
        "a": a.name,
        "b": b.name,
        "models": [
            {**entry, "headline_95": summary["discovercall"]["models"][0]["workflow_success_headline_95"]}
            for entry, summary in zip(entries, summaries, strict=True)
        ],
        "gap": _gap(rates[0], rates[1], entries[0]["trials_per_task"]),
        "comparability": comparability(a.records, b.records),
    }


def _one_model(side: Side, summary: Mapping[str, Any]) -> Mapping[str, Any]:
    models: list[Mapping[str, Any]] = summary["models"]
    if len(models) != 1:
        names = ", ".join(model["model"] for model in models)
        raise RefusedError(
            f"holds {len(models)} models ({names})", where=side.name, fix="compare one lane with one lane"
        )
    if models[0]["executed"] == 0 and models[0]["completed"] > 0:
        raise RefusedError("is a dry run: nothing was called", where=side.name, fix="run it with --execute")
    return models[0]


def _gap(a: Mapping[str, float], b: Mapping[str, float], trials: int) -> dict[str, Any]:
    from discovercall.statistics.comparison import (
        MINIMUM_DIFFERING_TASKS,
        gap_interval,
        sign_flip_p_value,
        smallest_detectable_gap,
        tasks_needed,
    )

    differences = {task: a[task] - b[task] for task in a}
    counts = [round(difference * trials) for difference in differences.values()]
    values = [count / trials for count in counts]
    return {
        "points": sum(values) / len(values),
        "interval_95": list(gap_interval(values)),
        "p_value": sign_flip_p_value(counts),
        "differing_tasks": sum(count != 0 for count in counts),
        "differing_tasks_needed": MINIMUM_DIFFERING_TASKS,
        "better": [task for task, count in zip(differences, counts, strict=True) if count > 0],
        "equal": [task for task, count in zip(differences, counts, strict=True) if count == 0],
        "worse": [task for task, count in zip(differences, counts, strict=True) if count < 0],
        "smallest_detectable": smallest_detectable_gap(values),
        "tasks_needed_for_5_points": tasks_needed(stdev(values)) if len(values) > 1 else None,
    }


def comparability(a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the discovery lists of two runs allow to be said about their gap.

    Args:
        a: records of one run; private ones hold the lists, public ones a digest of each.
        b: records of the other.

    Returns:
        `same_discovery` (None where a record doesn't say what discovery listed), `unknown_trials`, of which
        that is so, and `differing_trials`, both of `trials`; `differing_tasks`; and `mean_overlap` (Jaccard
        index of the differing lists, 0 to 1; None where a list isn't known).
    """
    lists_b = {_trial(record): record for record in b}
    differing: list[str] = []
    overlaps: list[float | None] = []
    compared = unknown = 0
    for record in a:
        other = lists_b.get(_trial(record))
        if other is None:
            continue
        compared += 1
        snapshots = (_snapshot(record), _snapshot(other))
        unknown += None in snapshots
        if snapshots[0] != snapshots[1]:
            differing.append(record["task_id"])
            overlaps.append(_overlap(record, other))
    known = [overlap for overlap in overlaps if overlap is not None]
    return {
        "same_discovery": None if unknown else not differing,
        "unknown_trials": unknown,
        "trials": compared,
        "differing_trials": len(differing),
        "differing_tasks": list(dict.fromkeys(differing)),
        "mean_overlap": sum(known) / len(known) if known and len(known) == len(overlaps) else None,
    }


def _trial(record: Mapping[str, Any]) -> tuple[str, int]:
    return record["task_id"], record["trial"]


def _ids(record: Mapping[str, Any]) -> list[str] | None:
    ids = record["discovery"].get("result_tool_ids") if isinstance(record.get("discovery"), Mapping) else None
    return ids if isinstance(ids, list) and all(isinstance(i, str) for i in ids) else None


def _snapshot(record: Mapping[str, Any]) -> object:
    ids = _ids(record)
    if ids is not None:
        return sha256_of_json(ids)
    discovery = record.get("discovery")
    return discovery.get("snapshot_sha256") if isinstance(discovery, Mapping) else None


def _overlap(left: Mapping[str, Any], right: Mapping[str, Any]) -> float | None:
    ids = [_ids(left), _ids(right)]
    if ids[0] is None or ids[1] is None:
        return None
    one, other = set(ids[0]), set(ids[1])
    return len(one & other) / len(one | other) if one | other else 1.0
