"""`discovercall report` on results folders with valid, broken and rehearsed pairs."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.publication.runs import ROOT, SANDBOX_URL
from tests.report.histories import Folder, Measured, results_folder
from tests.report.made import gateway_result
from tests.support.bench import Done

pytestmark = [pytest.mark.slow, pytest.mark.part("report commands")]

IDS = ["tokyo-time", "bitcoin-price"]
LOST = {"tokyo-time": "nothing selected", "bitcoin-price": ("success", "success", "empty result")}
Report = Callable[..., Done]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Four releases of two lanes; the last of one lost a task, and a trial of another. And a rehearsal."""
    folder = results_folder(tmp_path_factory.mktemp("history"), IDS)
    for number in range(1, 5):
        lost = LOST if number == 4 else {}
        named = (f"r{number}", f"2026-0{number}-01")
        folder.add(
            Measured(*named, "reference", "reference-v1"), Measured(*named, model="model-a", kinds=lost)
        )
    folder.add(Measured("r5", "2026-05-01", model="model-a", api=SANDBOX_URL))
    return folder


@pytest.fixture
def report(command: Callable[..., Done]) -> Callable[..., Done]:
    def run(folder: Folder, *words: object) -> Done:
        return command("report", folder.results, "--tasks", folder.root / "tasks", *words)

    return run


@pytest.fixture
def small(tmp_path: Path) -> Folder:
    """One release of two lanes and one task, to be changed by a test."""
    folder = results_folder(tmp_path / "small", IDS[:1])
    named = ("r4", "2026-04-01")
    folder.add(
        Measured(*named, "reference", "reference-v1"),
        Measured(*named, model="model-a", kinds={"tokyo-time": ("success", "empty result", "empty result")}),
    )
    return folder


def test_the_page_is_written_and_the_same_again(report: Report, small: Folder, tmp_path: Path) -> None:
    output = tmp_path / "report.html"
    done = report(small, "--output", output)
    assert (done.code, done.err, done.out) == (0, "", f"Wrote {output}\n")
    text = output.read_text("utf-8")
    assert report(small, "--output", output).code == 0
    assert output.read_text("utf-8") == text
    assert text.startswith("<!DOCTYPE html>\n")
    assert f'Newest result: release <bdi class="name">{Measured("r4", "").commit[:12]}</bdi>' in text


def test_links_lead_from_the_page_to_the_pairs(report: Report, history: Folder, tmp_path: Path) -> None:
    folder = tmp_path / "a folder" / "below"
    folder.mkdir(parents=True)
    assert report(history, "--output", folder / "page.html").code == 0
    text = (folder / "page.html").read_text("utf-8")
    links = {link for link in re.findall(r'href="([^"#]*)"', text) if link}
    assert len(links) == 2 * 9
    for link in links:
        assert (folder / link).is_file(), link


def test_markdown_tells_of_the_newest_run_and_its_gap(report: Report, history: Folder) -> None:
    done = report(history, "--format", "markdown")
    assert done.code == 0
    assert "| **Strict workflow success** | **100.0% (6/6)** | **33.3% (2/6)** |" in done.out
    assert "| `tokyo-time` | pass | pass | pass | **select** | **select** | **select** |" in done.out
    assert "- The reference did better on: `tokyo-time`, `bitcoin-price`" in done.out
    assert done.out.count("## Earlier result:") == 3


def test_rehearsals_are_marked_and_in_no_headline_or_trend(
    report: Report, history: Folder, tmp_path: Path
) -> None:
    value = json.loads(report(history, "--format", "json").out)
    assert [len(trend["measurements"]) for trend in value["trends"]] == [4, 4]
    assert [run["date"] for run in value["runs"]] == [f"2026-0{n}-01" for n in (4, 3, 2, 1)]
    assert [run["date"] for run in value["rehearsals"]] == ["2026-05-01"]
    only = results_folder(tmp_path / "only", IDS[:1])
    only.add(Measured("r5", "2026-05-01", model="model-a", api=SANDBOX_URL))
    done = report(only, "--format", "html")
    assert "No official result is published yet." in done.out
    assert '<span class="tag">Rehearsal</span>' in done.out
    assert "Newest result" not in done.out


def test_the_trend_names_the_tasks(report: Report, history: Folder) -> None:
    done = report(history, "--trend")
    assert done.code == 0
    assert "No notice for release" in done.out  # of the reference
    assert (
        "(exact one-sided release permutation within tasks against 3 earlier releases, p = 0.0625)"
        in done.out
    )
    dark = "**Gone dark, without a success now and with some in every earlier release of the test:**"
    assert f"{dark} `tokyo-time`\n" in done.out
    assert "## Newest" not in done.out


def test_too_short_a_history_is_said(report: Report, small: Folder) -> None:
    value = json.loads(report(small, "--trend", "--format", "json").out)
    assert set(value) == {"schema_version", "refused", "trends"}
    said = "Not tested: the test needs 3 comparable releases before the newest; there are none."
    assert report(small, "--trend").out.count(said) == 2


def test_json_keeps_its_schema(report: Report, small: Folder) -> None:
    schema = json.loads((ROOT / "schemas" / "report.schema.json").read_bytes())
    value = json.loads(report(small, "--format", "json").out)
    Draft202012Validator(schema).validate(value)
    trials = value["runs"][0]["results"][1]["by_task"][0]["trials"]
    assert trials[2] == {"trial": 3, "success": False, "stage": "result", "reason": "empty_result"}


def broken_number(folder: Folder) -> str:
    path = next(folder.results.glob("2026-04-01-model-a*.summary.json"))
    path.write_text(
        path.read_text("utf-8").replace('"workflow_success_rate": 0.3333', '"workflow_success_rate": 0.9')
    )
    return path.name.replace(".summary.json", ".runs.jsonl")


def broken_record(folder: Folder) -> str:
    path = next(folder.results.glob("2026-04-01-model-a*.runs.jsonl"))
    path.write_text(
        path.read_text("utf-8").replace('"schema_version":1', '"schema_version":1,"parameters":{}', 1)
    )
    return path.name


def half(folder: Folder) -> str:
    path = next(folder.results.glob("2026-04-01-model-a*.summary.json"))
    path.unlink()
    return path.name.replace(".summary.json", ".runs.jsonl")


def without_task_set(folder: Folder) -> str:
    path = next(folder.results.glob("2026-04-01-model-a*.runs.jsonl"))
    for part in folder.results.glob("2026-04-01-model-a*"):
        part.rename(part.with_name(part.name.replace("-v9.", "-v8.")))
    return path.name.replace("-v9.", "-v8.")


def no_stem(folder: Folder) -> str:
    for part in folder.results.glob("2026-04-01-model-a*"):
        part.rename(part.with_name(part.name.replace("-v9.", ".")))
    return next(folder.results.glob("2026-04-01-model-a*.runs.jsonl")).name


@pytest.mark.parametrize(
    ("breaking", "format"),
    [
        (broken_number, "html"),
        (broken_number, "markdown"),
        (broken_number, "json"),
        (broken_record, "html"),
        (half, "html"),
        (without_task_set, "html"),
        (no_stem, "html"),
    ],
)
def test_what_does_not_validate_is_named_and_not_shown(
    report: Report, small: Folder, format: str, breaking: Callable[[Folder], str]
) -> None:
    name = breaking(small)
    done = report(small, "--format", format)
    assert done.code == 1
    assert f"refused  {name}: " in done.err
    assert name in done.out
    assert "reference-v1" in done.out
    assert "33.3%" not in done.out
    assert "(1/3)" not in done.out
    assert str(small.root) not in done.out
    assert report(small, "--trend").code == 1


def test_a_broken_gateway_snapshot_or_agent_report_is_refused_by_name(report: Report, small: Folder) -> None:
    for name in ("gateway/snapshots/baseline.json", "invocation/one/report.json"):
        path = small.results / name
        path.parent.mkdir(parents=True)
        path.write_text('{"verdict": "pass"')
        done = report(small)
        assert done.code == 1
        assert f"refused  {name}: not valid JSON" in done.err
        path.write_text('{"verdict": "pass"}')
        assert f"refused  {name}: " in report(small).err


def test_the_gateways_own_measurement_is_shown(
    report: Report, small: Folder, command: Callable[..., Done]
) -> None:
    out = small.results / "gateway"
    assert command("eval", "run", "cache", "--out", out).code == 0
    (run,) = (out / "snapshots").glob("run-*.json")
    run.rename(run.with_name("baseline.json"))
    done = report(small)
    assert done.code == 0, done.err
    assert re.search(r"\| `cache\.redundantCallReduction` \| \d+ \| \d+\.\d% \|", done.out)
    assert "Verdict `pass`" in done.out


def test_published_runs_of_agents_are_shown(
    report: Report, small: Folder, command: Callable[..., Done]
) -> None:
    out = small.results / "invocation"
    assert command("invoke", "run", "--mock", "--case", "ordinary_chat", "--out", out).code == 0
    done = report(small)
    assert done.code == 0, done.err
    assert "**Fixed answers were replayed: this measures no model.**" in done.out
    assert done.out.count("| `ordinary_chat` | 100.0% (1/1) | 100.0% (1/1) |") == 1


def test_a_publication_that_was_cut_off_is_refused_and_its_pair_not_shown(
    report: Report, small: Folder
) -> None:
    stem = next(small.results.glob("*model-a*.runs.jsonl")).name.removesuffix(".runs.jsonl")
    (small.results / f".{stem}.publication.json").write_text("{}")
    done = report(small)
    assert done.code == 1
    assert f"refused  .{stem}.publication.json: a publication of {stem} was cut off" in done.err
    assert "33.3%" not in done.out
    assert "reference-v1" in done.out


def test_an_empty_folder_is_no_mistake(report: Report, tmp_path: Path) -> None:
    folder = results_folder(tmp_path, IDS)
    folder.results.mkdir()
    for words in ((), ("--trend",), ("--format", "html"), ("--format", "json")):
        done = report(folder, *words)
        assert (done.code, done.err) == (0, ""), words
    assert "No official result is published yet." in report(folder).out


def test_the_repositorys_own_results_are_shown_by_default(command: Callable[..., Done]) -> None:
    done = command("report")
    assert (done.code, done.err) == (0, "")
    assert "Rehearsal: release `" in done.out


def test_outside_of_a_checkout_it_asks_for_a_folder(
    command: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "discovercall.foundation.resources.resource_path", lambda *names: tmp_path.joinpath(*names)
    )
    done = command("report")
    assert (done.code, done.out) == (2, "")
    assert done.err == "discovercall: results: is required outside of a checkout; name a folder of results\n"


def test_a_file_of_which_the_ending_does_not_say_the_format_is_named_with_it(
    report: Report, small: Folder, tmp_path: Path
) -> None:
    page = tmp_path / "page.docx"
    assert report(small, "--output", page).out == f"Wrote {page}, as html\n"
    assert report(small, "--output", page, "--format", "markdown").out == f"Wrote {page}, as markdown\n"


def test_usage_mistakes_are_one_line(
    report: Report, small: Folder, command: Callable[..., Done], tmp_path: Path
) -> None:
    missing = command("report", tmp_path / "none")
    assert (missing.code, missing.out) == (2, "")
    assert "is no folder" in missing.err
    for words, says in (
        (("--trend", "--format", "html"), "is not written as html"),
        (("--trend", "--format", "concise"), "is not written as concise"),
        (("--trend", "--output", tmp_path / "x.html"), "is not written as html"),
        (("--format", "pdf"), "'pdf' is not one of"),
        (("--output", tmp_path / "no" / "x.html"), "does not exist"),
        (("--output", tmp_path), "is no regular file"),
    ):
        done = report(small, *words)
        assert (done.code, done.out) == (2, ""), words
        assert says in done.err
        assert done.err.count("\n") == 1
    policy = tmp_path / "policy.json"
    policy.write_bytes((ROOT / "publication-policy.json").read_bytes())
    scoreboard = small.results / "gateway" / "BENCHMARKS.md"
    scoreboard.parent.mkdir()
    scoreboard.write_text("# Scoreboard")
    for path in (next(small.results.glob("*.runs.jsonl")), policy, small.tasks.path, scoreboard):
        before = path.read_bytes()
        done = report(small, "--policy", policy, "--output", path)
        assert (done.code, done.out) == (2, "")
        assert "is also an input" in done.err
        assert path.read_bytes() == before


@pytest.mark.parametrize(("ending", "begins"), [("md", "# "), ("json", "{\n"), ("html", "<!D"), ("x", "<!D")])
def test_the_ending_says_the_format(
    report: Report, small: Folder, tmp_path: Path, ending: str, begins: str
) -> None:
    output = tmp_path / f"report.{ending}"
    assert report(small, "--output", output).code == 0
    assert output.read_text("utf-8").startswith(begins)


@pytest.mark.parametrize(
    "odd",
    [
        {"offenders": {}, "intervals": [1]},
        {"intervals": {"rate": {}}, "rate": 1},
        {"intervals": {"rate": {"of": 1, "low": "x", "high": 1}}, "rate": 1},
    ],
)
def test_a_gateway_family_of_an_unknown_shape_is_refused_by_name(
    report: Report, small: Folder, monkeypatch: pytest.MonkeyPatch, odd: object
) -> None:
    path = small.results / "gateway" / "snapshots" / "baseline.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    value = {**gateway_result(), "invocation": odd}
    monkeypatch.setattr("discovercall.evals.soundness.read_sound_result", lambda path: value)
    done = report(small)
    assert done.code == 1
    assert "refused  gateway/snapshots/baseline.json: a family is of an unknown shape" in done.err


@pytest.mark.parametrize("format", ["markdown", "html", "json", "concise"])
def test_pipes_devices_and_strange_names_are_refused_at_once(
    report: Report, small: Folder, tmp_path: Path, format: str
) -> None:
    folder = small.results
    for stem in ("pipe-v9", "zero-v9"):
        (folder / f"{stem}.summary.json").write_text("{}")
    os.mkfifo(folder / "pipe-v9.runs.jsonl")
    (folder / "zero-v9.runs.jsonl").symlink_to("/dev/zero")
    (folder / "invocation" / "one").mkdir(parents=True)
    os.mkfifo(folder / "invocation" / "one" / "report.json")
    (folder / "gateway" / "snapshots").mkdir(parents=True)
    os.mkfifo(folder / "gateway" / "snapshots" / "baseline.json")
    (folder / "x\x1b]0;pwned\x07\u202e-v9.runs.jsonl").write_text("")
    Path(os.fsdecode(os.fsencode(folder) + b"/y\xff-v9.runs.jsonl")).write_text("")
    output = tmp_path / "report"
    done = report(small, "--format", format, "--output", output)
    assert done.code == 1
    for line in (
        "refused  pipe-v9.runs.jsonl: cannot be read (no regular file)",
        "refused  zero-v9.runs.jsonl: cannot be read (no regular file)",
        "refused  invocation/one/report.json: cannot be read (no regular file)",
        "refused  gateway/snapshots/baseline.json: cannot be read (no regular file)",
        "refused  x\ufffd]0;pwned\ufffd\ufffd-v9.runs.jsonl: ",
        "refused  y\ufffd-v9.runs.jsonl: ",
    ):
        assert line in done.err
    for text in (done.err, done.out, output.read_text("utf-8")):
        assert not any(sign in text for sign in "\x1b\x07\u202e")


def test_an_old_release_measured_again_hides_no_loss_of_the_newest(report: Report, tmp_path: Path) -> None:
    folder = results_folder(tmp_path, [f"t{number}" for number in range(6)])
    gone = dict.fromkeys([f"t{number}" for number in range(6)], "nothing selected")
    for number in range(1, 5):
        folder.add(Measured(f"r{number}", f"2026-0{number}-01", kinds=gone if number == 4 else None))
    before = report(folder, "--trend").out
    assert "Notice: release" in before
    folder.add(Measured("r2", "2026-05-01"))
    assert report(folder, "--trend").out.replace("2026-05-01", "2026-02-01") == before
    newest = Measured("r4", "").commit[:12]
    assert f"## Newest result: release `{newest}`, 2026-04-01" in report(folder).out
    assert f"release {newest}, 2026-04-01" in report(folder, "--format", "concise").out
    assert "notice for" in report(folder, "--format", "concise").out


def test_a_report_of_agents_that_contradicts_its_runs_is_not_shown(
    report: Report, small: Folder, command: Callable[..., Done]
) -> None:
    out = small.results / "invocation"
    assert command("invoke", "run", "--mock", "--case", "ordinary_chat", "--out", out).code == 0
    (path,) = out.glob("[!.]*/report.json")
    value = json.loads(path.read_bytes())
    value["cells"][0]["passed"] = value["runs_passed"] = 99
    path.write_text(json.dumps(value))
    done = report(small)
    assert done.code == 1
    assert "runs_passed: is not what the runs give" in done.err
    assert "9900" not in done.out
    assert "## Agent invocation" not in done.out
