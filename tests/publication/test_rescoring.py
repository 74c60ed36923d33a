"""A summary that is not that of its records is explained field by field."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from discovercall.foundation.ecma_json import decode
from discovercall.publication.rescoring import differences
from discovercall.publication.summary import summary_digest
from tests.publication.runs import prepared


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return dict(decode(prepared(tmp_path_factory.mktemp("pair")).summary))


def explained(published: Any, recomputed: Any, *, required: bool = False) -> list[str]:
    return list(differences(published, recomputed, digests_required=required))


def test_equal_summaries_differ_in_nothing_but_the_time(summary: dict[str, Any]) -> None:
    plain = {name: value for name, value in summary.items() if name != "discovercall"}
    assert explained({**plain, "generated_at": "2027-01-01T00:00:00.000Z"}, summary) == []
    assert explained(summary, summary, required=True) == []


def test_a_rate_is_named_with_both_values(summary: dict[str, Any]) -> None:
    other = copy.deepcopy(summary)
    del other["discovercall"]
    other["models"][0]["result_nonempty_rate"] = 0.8824
    recomputed = copy.deepcopy(summary)
    recomputed["models"][0]["result_nonempty_rate"] = 1.0
    assert explained(other, recomputed) == [
        "models[0].result_nonempty_rate: published 0.8824, recomputed 1.0"
    ]


def test_missing_added_and_retyped_fields_are_named(summary: dict[str, Any]) -> None:
    other = copy.deepcopy(summary)
    del other["discovercall"], other["models"][0]["runs"]
    other["models"][0]["note"] = {"a": 1}
    other["records"][2]["completed"] = 1
    other["records"].pop()
    other["models"][0]["failures_by_stage"] = []
    lines = explained(other, summary)
    assert "models[0].runs: not published, recomputed 54" in lines
    assert "models[0].note: published an object of 1, not recomputed" in lines
    assert "records[2].completed: published 1, recomputed true" in lines
    assert "records[53]: not published, recomputed an object of 17" in lines
    assert any(line.startswith("models[0].failures_by_stage: published a list of 0") for line in lines)


@pytest.mark.parametrize("published", [None, [], "text", 5])
def test_what_is_no_object_is_said_so(published: Any, summary: dict[str, Any]) -> None:
    assert len(explained(published, summary)) == 1


def test_digests_count_where_they_are_or_must_be(summary: dict[str, Any]) -> None:
    plain = {name: value for name, value in summary.items() if name != "discovercall"}
    assert explained(plain, summary) == []
    assert "discovercall.runs_sha256: not published" in explained(plain, summary, required=True)[0]
    lines = explained({**summary, "generated_at": "2027-01-01T00:00:00.000Z"}, summary)
    assert [line.split(":")[0] for line in lines] == ["discovercall.summary_sha256"]


def test_a_last_digit_of_another_machine_is_no_difference(summary: dict[str, Any]) -> None:
    other = copy.deepcopy(summary)
    bounds = other["discovercall"]["models"][0]["workflow_success_headline_95"]
    bounds[1] *= 1 + 1e-12
    other["discovercall"]["summary_sha256"] = summary_digest(other)
    assert explained(other, summary) == []
    bounds[1] *= 1.001
    other["discovercall"]["summary_sha256"] = summary_digest(other)
    (line,) = explained(other, summary)
    assert line.startswith("discovercall.models[0].workflow_success_headline_95[1]: published ")


def test_a_figure_that_came_later_is_not_missed_in_an_old_summary(summary: dict[str, Any]) -> None:
    old = copy.deepcopy(summary)
    del old["discovercall"]["models"][0]["design_effect"]
    old["discovercall"]["summary_sha256"] = summary_digest(old)
    assert explained(old, summary) == []
    del old["discovercall"]["runs_sha256"]
    old["discovercall"]["summary_sha256"] = summary_digest(old)
    assert [line.split(":")[0] for line in explained(old, summary)] == ["discovercall.runs_sha256"]


def test_long_texts_are_cut_and_escaped(summary: dict[str, Any]) -> None:
    other = {name: value for name, value in summary.items() if name != "discovercall"}
    other["methodology"] = "\x1b[31m" + "x" * 500
    (line,) = explained(other, summary)
    assert "\x1b" not in line
    assert len(line) < 200


def test_a_summary_file_is_written_as_the_method_says(tmp_path: Path) -> None:
    data = prepared(tmp_path).summary
    assert data.startswith(b'{\n  "schema_version": 1,\n  "methodology": "discover-call-v2",\n')
    assert data.endswith(b"}\n")
