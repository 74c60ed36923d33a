"""Reports made of scored records, without files: for what no official run could hold, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discovercall.contract.comparison import Side, compare_runs
from discovercall.contract.summary import score_records
from discovercall.publication.lanes import results_of_pair
from discovercall.publication.trend import trends_of
from discovercall.report.reading import comparability_of, gap_of
from discovercall.report.results import LaneGap, Result, ResultsReport, RunResults
from tests.support.records import DIGEST, metadata, run, task

Records = Sequence[Mapping[str, Any]]


def lane_records(ids: Sequence[str], model: str = "model-a", trials: int = 3, **more: Any) -> list[Any]:
    """Strict successes of every task in one lane."""
    lane = more.pop("lane", "configured-model")
    own = metadata(lane=lane, publication_policy="policy-1", **more.pop("metadata", {}))
    rows = run([task(name) for name in ids], trials, model=model, metadata=own, **more)
    return [{**row, "started_at": "2026-11-30T10:00:00.000Z"} for row in rows]


def result_of(ids: Sequence[str], records: Records, stem: str = "2026-11-30-x-v9") -> Result:
    """The one result of records of one lane."""
    tasks = [task(name) for name in ids]
    summary = score_records(tasks, records, task_set_sha256=DIGEST, generated_at="2026-11-30T12:00:00.000Z")
    (found,) = results_of_pair(stem, summary, records, rehearsal=False)
    return found


def report_of(ids: Sequence[str], *lanes: Records, **more: Any) -> ResultsReport:
    """A report of one run; the first lane is compared with the others."""
    results = [result_of(ids, records) for records in lanes]
    one = RunResults("c" * 40, "2026-11-30", "v9", False, tuple(results), _gaps(ids, lanes, results))
    parts: dict[str, Any] = {
        "runs": (one,),
        "rehearsals": (),
        "refused": (),
        "trends": trends_of((result, "v9") for result in results),
        "gateway": None,
        "scenarios": (),
    }
    return ResultsReport(**parts | more)


def _gaps(ids: Sequence[str], lanes: Sequence[Records], results: Sequence[Result]) -> tuple[LaneGap, ...]:
    tasks = [task(name) for name in ids]
    found = []
    for other, result in zip(lanes[1:], results[1:], strict=True):
        names = (results[0].lane.model, result.lane.model)
        try:
            both = Side("the reference", lanes[0]), Side("this lane", other)
            compared = compare_runs(tasks, *both, task_set_sha256=DIGEST)
        except Exception as error:
            found.append(LaneGap(*names, None, str(error), None))
        else:
            gap, lists = gap_of(compared["gap"]), comparability_of(compared["comparability"])
            found.append(LaneGap(*names, gap, None, lists))
    return tuple(found)


def gateway_result(foreign: str = "text") -> dict[str, Any]:
    """A gateway measurement, as far as the report reads it, with a text that is not ours."""
    scope = {
        "n": 8, "top1": 0.875, "top3": 1.0, "mrr": 0.9, "wrongServerRate": 0.0, "noMatchCorrectness": None,
        "falseRefusalRate": 0.04, "intervals": {"top1": {"hits": 7, "of": 8, "low": 0.529, "high": 0.978}},
    }  # fmt: skip
    nothing = {**scope, "top1": None, "top3": None, "mrr": None, "noMatchCorrectness": 1.0, "intervals": {}}
    gate = {
        "name": f"discovery.{foreign}", "comparator": "min", "threshold": 0.9, "actual": 0.875,
        "pass": False, "skipped": False, "skipReason": None,
    }  # fmt: skip
    return {
        "verdict": "fail",
        "skipped": [{"what": "parity", "reason": foreign}],
        "regressions": ["discovery.top1"],
        "generatedAt": "2026-11-30T12:00:00.000Z",
        "provenance": {
            "gitCommit": None, "dirty": True, "corpusVersion": 1, "model": None, "semanticRan": False,
            "semanticSkipReason": foreign,
        },
        "invocation": {
            "repairSuccess": 0.5, "offlineHandledRate": None, "offenders": {"repairSuccess": [foreign]},
            "intervals": {
                "repairSuccess": {"hits": 1, "of": 2, "low": 0.0945, "high": 0.9055},
                "offlineHandledRate": None,
            },
        },
        "tokens": {
            "directStartup": 39729, "brokerStartup": 336, "startupReduction": 0.9915, "estimator": "chars/4"
        },
        "discovery": {"no_match": nothing, "overall": scope},
        "gates": [
            gate,
            {**gate, "pass": True, "comparator": "max"},
            {**gate, "skipped": True, "actual": None, "skipReason": foreign},
        ],
    }  # fmt: skip
