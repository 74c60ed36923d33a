"""Trends: what is comparable, the newest release against those before it, and the names of its tasks."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from discovercall.publication.trend import trends_of, without_commit
from discovercall.report.concise import results_line
from discovercall.report.results import Result, ResultsReport
from discovercall.report.wording import trend_statements
from tests.report.made import lane_records, result_of
from tests.support.records import failed

IDS = [f"t{number}" for number in range(1, 5)]


def release(number: int, lost: dict[str, int] | None = None, **more: Any) -> Result:
    """A result of release `number` of one lane, with so many failed trials of each task."""
    commit = f"{number:040x}"
    more.setdefault("metadata", {})
    more["metadata"] = {
        "toolkit_revision": commit,
        "adapter_revision": f"{commit}/codex-1/high",
        **more["metadata"],
    }
    rows = lane_records(IDS, **more)
    day = f"2026-01-{number:02}T10:00:00.000Z"
    records = [
        {**failed(row["task_id"], row["trial"]), **{k: row[k] for k in ("run_id", "model", "metadata")}}
        if row["trial"] <= (lost or {}).get(row["task_id"], 0)
        else row
        for row in rows
    ]
    return result_of(IDS, [{**row, "started_at": day} for row in records], f"release-{number}-v9")


def trends(*results: Result) -> Any:
    return trends_of((result, "v9") for result in results)


def test_a_loss_is_a_notice_that_names_the_tasks_and_those_gone_dark() -> None:
    (found,) = trends(*(release(n) for n in range(1, 6)), release(6, {"t2": 3, "t4": 3}))
    assert found.check is not None
    assert (found.check.history, found.check.notice) == (5, True)
    counts = [[3] * 5 + [0]] * 2
    law = [sum(draw) for draw in product(*counts)]
    assert found.check.p_value == pytest.approx(sum(total <= 0 for total in law) / len(law))
    assert found.check.lower == found.check.dark == ("t2", "t4")
    said = list(trend_statements(found))
    assert said[0].strong
    assert said[0].tasks == ("t2", "t4")
    assert "Notice: release" in said[0].text
    assert "Gone dark" in said[2].text


def test_one_task_gone_dark_is_listed_without_a_notice() -> None:
    (found,) = trends(*(release(n) for n in range(1, 6)), release(6, {"t3": 3}))
    assert found.check is not None
    assert not found.check.notice
    assert found.check.dark == ("t3",)
    assert [s.tasks for s in trend_statements(found)] == [(), ("t3",)]


def test_only_the_five_newest_releases_are_the_history() -> None:
    old = [release(n, dict.fromkeys(IDS, 3)) for n in (1, 2)]
    (found,) = trends(*old, *(release(n) for n in range(3, 8)), release(8, {"t1": 3, "t2": 3}))
    assert found.check is not None
    assert found.check.history == 5
    assert found.check.notice
    assert len(found.measurements) == 8


@pytest.mark.parametrize(("earlier", "says"), [(0, "there are none"), (1, "there is 1"), (2, "there are 2")])
def test_too_short_a_history_is_said(earlier: int, says: str) -> None:
    (found,) = trends(*(release(n) for n in range(1, earlier + 2)))
    assert found.check is None
    (said,) = trend_statements(found)
    assert said.text == f"Not tested: the test needs 3 comparable releases before the newest; {says}."


def test_what_is_measured_otherwise_is_no_history() -> None:
    base = [release(n) for n in (1, 2, 3)]
    others: list[dict[str, Any]] = [
        {"model": "model-b"},
        {"lane": "current-model"},
        {"trials": 4},
        {"metadata": {"discovery_limit": 5}},
        {"metadata": {"adapter_revision": f"{4:040x}/codex-1/low"}},
        {"metadata": {"model_revision": "2026-01-01"}},
        {"metadata": {"api_base_url": "https://other.example/v1"}},
    ]
    for other in others:
        found = trends(*base, release(4, **other))
        assert len(found) == 2, other
        assert [len(trend.measurements) for trend in found] == [1, 3], other
        assert found[0].check is None


def test_a_release_counts_once_by_its_last_measurement() -> None:
    first = release(3, dict.fromkeys(IDS, 3))
    again = release(
        4, metadata={"toolkit_revision": f"{3:040x}", "adapter_revision": f"{3:040x}/codex-1/high"}
    )
    (found,) = trends(release(1), release(2), first, again)
    assert [one.stem for one in found.measurements] == ["release-1-v9", "release-2-v9", "release-4-v9"]


def test_the_order_of_the_files_does_not_matter() -> None:
    results = [*(release(n) for n in range(1, 5)), release(5, {"t1": 3})]
    assert trends(*results) == trends(*results[::-1])


@pytest.mark.parametrize(
    ("revision", "shown"),
    [
        (f"{'a' * 40}/codex/high", "<release>/codex/high"),
        ("b" * 64, "<release>"),
        ("a" * 41, "a" * 41),
        ("unreported", "unreported"),
    ],
)
def test_a_release_commit_is_no_part_of_a_configuration(revision: str, shown: str) -> None:
    assert without_commit(revision) == shown


def test_one_line_names_a_notice() -> None:
    found = trends(*(release(n) for n in range(1, 6)), release(6, {"t2": 3, "t4": 3}))
    line = results_line(ResultsReport((), (), (), found, None, ()))
    assert line == "rehearsals only: 0 · notice for configured-model model-a: t2, t4 · refused 0"


def test_a_release_has_the_place_of_its_first_measurement_in_any_lane() -> None:
    again = replace(release(2), measured_at="2026-02-01T10:00:00.000Z")
    lost = release(5, {"t2": 3, "t4": 3})
    others = [release(n, model="model-b") for n in (2, 3, 4)]
    late = replace(release(1, model="model-b"), measured_at="2026-03-01T10:00:00.000Z")
    first, second = sorted(
        trends(*(release(n) for n in range(1, 5)), lost, again, *others, late), key=lambda one: one.model
    )
    assert [one.release[-1] for one in first.measurements] == ["1", "2", "3", "4", "5"]
    assert first.measurements[1].date == "2026-02-01"
    assert first.check.dark == ("t2", "t4")
    assert [one.release[-1] for one in second.measurements] == ["1", "2", "3", "4"]
