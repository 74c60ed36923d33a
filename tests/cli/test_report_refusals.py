"""`discovercall report` on a folder with a run and everything that is refused, each by its whole line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.publication.runs import ROOT
from tests.report.histories import Folder, Measured, results_folder
from tests.report.made import gateway_result
from tests.support.bench import Done

Command = Callable[..., Done]
BASELINE = "gateway/snapshots/baseline.json"
KINDS = {"tokyo-time": ("success", "empty result", "empty result")}
REFUSED = [
    ".2026-01-01-cut-v9.publication.json: a publication of 2026-01-01-cut-v9 was cut off; finish or undo it",
    "2026-01-01-half-v9.runs.jsonl: is half of a pair: 2026-01-01-half-v9.summary.json is missing",
    "2026-01-01-old-v8.runs.jsonl: there is no valid task set v8",
    "2026-01-01-other-v9.runs.jsonl: the summary is not that of the records: ",
    "2026-01-01-plain.runs.jsonl: the stem doesn't end in -vN, the version of the task set",
    f"{BASELINE}: not valid JSON (",
    "invocation/one/report.json: not valid JSON (",
]


def written(root: Path) -> Folder:
    """One run of two lanes."""
    folder = results_folder(root, ["tokyo-time"])
    folder.add(
        Measured("r4", "2026-04-01", "reference", "reference-v1"),
        Measured("r4", "2026-04-01", model="model-a", kinds=KINDS),
    )
    return folder


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return written(tmp_path_factory.mktemp("good"))


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The run, and what is refused beside it."""
    folder = written(tmp_path_factory.mktemp("bad"))
    (runs,) = folder.results.glob("*model-a*.runs.jsonl")
    summary = runs.with_name(runs.name.replace(".runs.jsonl", ".summary.json"))
    records, numbers = runs.read_bytes(), summary.read_bytes()
    for stem in ("half-v9", "old-v8", "other-v9", "plain", "cut-v9"):
        (folder.results / f"2026-01-01-{stem}.runs.jsonl").write_bytes(records)
        if stem != "half-v9":
            (folder.results / f"2026-01-01-{stem}.summary.json").write_bytes(numbers)
    changed = numbers.replace(b'"workflow_success_rate": 0.3333', b'"workflow_success_rate": 0.9')
    (folder.results / "2026-01-01-other-v9.summary.json").write_bytes(changed)
    (folder.results / ".2026-01-01-cut-v9.publication.json").write_text("{}")
    (folder.root / "tasks" / "v8.jsonl").write_text("{}\n")
    for name in (BASELINE, "invocation/one/report.json"):
        path = folder.results / name
        path.parent.mkdir(parents=True)
        path.write_text('{"verdict": "pass"')
    return folder


def report(command: Command, folder: Folder, *words: object) -> Done:
    return command("report", folder.results, "--tasks", folder.root / "tasks", *words)


@pytest.mark.parametrize("format", ["markdown", "html", "json", "concise"])
def test_what_is_refused_is_named_in_every_format(command: Command, bad: Folder, format: str) -> None:
    done = report(command, bad, "--format", format)
    assert done.code == 1
    lines = done.err.splitlines()
    assert len(lines) == len(REFUSED)
    for line, begins in zip(lines, REFUSED, strict=True):
        assert line.startswith(f"refused  {begins}"), line
    if format == "json":
        value = json.loads(done.out)
        assert [one["file"] for one in value["refused"]] == [line.split(": ")[0] for line in REFUSED]
        assert len(value["runs"]) == 1
    elif format != "concise":
        assert done.out.count("2026-01-01-half-v9.runs.jsonl") == 1
        assert "reference-v1" in done.out


@pytest.mark.parametrize(("ending", "begins"), [("md", "# "), ("json", "{\n"), ("html", "<!D")])
def test_a_file_is_written_as_its_ending_says(
    command: Command, good: Folder, tmp_path: Path, ending: str, begins: str
) -> None:
    output = tmp_path / f"report.{ending}"
    done = report(command, good, "--output", output)
    assert (done.code, done.err, done.out) == (0, "", f"Wrote {output}\n")
    assert output.read_text("utf-8").startswith(begins)


def test_the_trend_alone(command: Command, good: Folder) -> None:
    done = report(command, good, "--trend", "--format", "json")
    assert set(json.loads(done.out)) == {"schema_version", "refused", "trends"}
    said = "Not tested: the test needs 3 comparable releases before the newest; there are none."
    assert report(command, good, "--trend").out.count(said) == 2


def test_mistakes_are_one_line(command: Command, good: Folder, tmp_path: Path) -> None:
    (runs,) = good.results.glob("*model-a*.runs.jsonl")
    before = runs.read_bytes()
    none = tmp_path / "none"
    for done, line in (
        (command("report", none), f"{none}: is no folder; name a folder of published results"),
        (
            report(command, good, "--trend", "--format", "html"),
            "--trend: is not written as html; use markdown or json",
        ),
        (
            report(command, good, "--output", runs, "--format", "html"),
            f"--output: {runs} is also an input; name another file",
        ),
    ):
        assert (done.code, done.out, done.err) == (2, "", f"discovercall: {line}\n")
    assert runs.read_bytes() == before


def test_a_page_that_cannot_be_written_is_told(command: Command, good: Folder) -> None:
    done = report(command, good, "--output", "/proc/report.html")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("discovercall: --output: /proc/report.html cannot be written (")


def test_a_gateway_family_of_an_unknown_shape_is_refused_by_name(
    command: Command, good: Folder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "results" / BASELINE
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    odd = {**gateway_result(), "invocation": {"intervals": {"rate": {}}, "rate": 1}}
    monkeypatch.setattr("discovercall.evals.soundness.read_sound_result", lambda path: odd)
    done = command("report", tmp_path / "results")
    assert (done.code, done.err) == (1, f"refused  {BASELINE}: a family is of an unknown shape ('low')\n")


def test_published_runs_of_agents_are_shown(command: Command, good: Folder, tmp_path: Path) -> None:
    out = tmp_path / "results" / "invocation"
    done = command("invoke", "run", "--mock", "--case", "ordinary_chat", "--out", out)
    assert done.code == 0, done.err
    done = command("report", tmp_path / "results")
    assert (done.code, done.err) == (0, "")
    assert "**Fixed answers were replayed: this measures no model.**" in done.out
    assert done.out.count("| `ordinary_chat` | 100.0% (1/1) | 100.0% (1/1) |") == 1
    page = command("report", tmp_path / "results", "--format", "html")
    assert (page.code, page.err) == (0, "")
    assert "Agent invocation" in page.out


def test_our_own_results_are_shown_by_default(command: Command) -> None:
    done = command("report", "--policy", ROOT / "publication-policy.json")
    assert (done.code, done.err) == (0, "")
    assert "## Gateway" in done.out
    assert "Rehearsal: release `" in done.out
