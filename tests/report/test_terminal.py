import io

import pytest
from rich.console import Console

from discovercall import score_records
from discovercall.report.numbers import percent, percent_interval
from discovercall.report.terminal import print_summary
from tests.support.records import failed, record, run, task

TASKS = [task("t1"), task("t2")]


def printed(records):
    console = Console(file=io.StringIO(), width=120)
    print_summary(score_records(TASKS, records), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def row(text, label):
    """The cells of a table row."""
    line = next(line for line in text.splitlines() if label in line)
    return [cell.strip() for cell in line.strip("│ ").split("│")]


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0.0%"), (0.8333, "83.3%"), (1, "100.0%"), (0.0004, "0.0%"), (None, "–")]
)
def test_rates_are_percentages_and_unknown_ones_a_dash(value, text):
    assert percent(value) == text


def test_intervals():
    assert percent_interval([0.25, 1]) == "[25.0%, 100.0%]"
    assert percent_interval(None) == "–"


def test_each_model_has_a_column_with_its_own_numbers():
    won = run(TASKS, 2, model="model-a")
    half = [
        record("t1", 1, model="model-b"),
        record("t1", 2, model="model-b"),
        failed("t2", 1, model="model-b"),
        record("t2", 2, model="model-b", call={"attempted": True, "success": True, "result_nonempty": False}),
    ]
    text = printed(won + half)
    assert row(text, "Strict success") == ["Strict success", "100.0%", "50.0%"]
    assert row(text, "Tasks × trials") == ["Tasks × trials", "2 × 2", "2 × 2"]
    assert row(text, "Completed / called") == ["Completed / called", "4 / 4 of 4", "3 / 3 of 4"]
    assert row(text, "Call success")[1:] == ["100.0%", "100.0%"]
    assert row(text, "Result non-empty")[1:] == ["100.0%", "66.7%"]
    assert row(text, "bootstrap (v2)")[1:] == ["[100.0%, 100.0%]", "[0.0%, 100.0%]"]
    assert row(text, "select ") == ["select", "0", "1"]
    assert row(text, "result ") == ["result", "0", "1"]
    assert "missing_tool_id: model-b 1" in text
    assert "empty_result: model-b 1" in text


def test_without_a_failure_it_says_so():
    assert "No strict failure." in printed(run(TASKS, 1))


def test_what_is_unknown_is_no_zero():
    records = run(TASKS, 1)
    del records[0]["call"]["result_nonempty"]
    text = printed(records)
    assert row(text, "Strict success")[1] == "–"
    assert row(text, "95% over tasks")[1] == "–"
    assert row(text, "Result non-empty")[1] == "–"
    dry = printed(run(TASKS, 1, call={"attempted": False, "success": None}))
    assert row(dry, "Call success")[1] == "–"


@pytest.mark.parametrize("name", ["model[/bold]", "[red]model", "model [1]", ":smile: model"])
def test_names_are_printed_as_they_are(name):
    error = {"stage": name, "reason_code": name}
    text = printed([failed("t1", model=name, error=error), record("t2", model=name)])
    assert text.count(name) >= 4


def test_control_characters_do_not_reach_the_terminal():
    error = {"stage": "api\x1b]0;title\x07", "reason_code": "\x1b[2J"}
    text = printed([failed("t1", model="a\x1b[31m", error=error), record("t2", model="a\x1b[31m")])
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\ufffd[2J: a\ufffd[31m 1" in text
