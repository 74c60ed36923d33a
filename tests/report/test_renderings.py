"""The page and its Markdown, whatever the results hold: unknown, empty, huge or hostile."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from discovercall.report.concise import results_line
from discovercall.report.gateway import gateway_of
from discovercall.report.html import results_html
from discovercall.report.results import Refused, ResultsReport
from discovercall.report.results_markdown import results_markdown, trends_markdown
from discovercall.report.wording import ALWAYS_SAID
from tests.report.made import gateway_result, lane_records, report_of
from tests.support.records import failed

VOID = {"meta", "input", "br", "line", "circle", "rect"}
MARKUP = "<script>alert(1)</script>"
HOSTILE = [MARKUP, '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", "a|b`c``d", "</style><b>", "&amp;"]
HEBREW, ARABIC = "מזג-אוויר", "طقس-لندن"


class Page(HTMLParser):
    """Checks that elements nest, and collects what a test asks about."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.isolated: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if "bdi" in self.open:
            self.isolated.append(data)

    def values(self, name: str) -> list[str]:
        return [value or "" for _, attributes in self.elements if (value := attributes.get(name)) is not None]


def page_of(report: ResultsReport) -> Page:
    return Page(results_html(report, "results/"))


def cells(page: str, kind: str) -> list[str]:
    return re.findall(rf'<td class="{kind}(?: first)?">([^<]*)</td>', page)


def columns(line: str) -> int:
    """Columns of a row: bars outside of code."""
    return re.sub(r"\\\|", "", line).count("|") - 1


def check_tables(text: str) -> None:
    """Every table's rows have its number of columns."""
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({columns(row) for row in block.splitlines()}) == 1, block


IDS = ["t1", "t2", "t3"]


def test_the_page_needs_and_may_load_nothing() -> None:
    text = results_html(report_of(IDS, lane_records(IDS)), "results/")
    page = Page(text)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "form", "base", "font"}
    assert not {name for _, attributes in page.elements for name in attributes if name[:2] == "on"}
    assert not page.values("style")
    assert not page.values("src")
    assert "url(" not in text
    assert "@import" not in text
    style = text[text.index("<style>") + 7 : text.index("</style>")]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = [a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_ids_are_unique_and_references_lead_somewhere() -> None:
    report = report_of(IDS, lane_records(IDS, lane="reference"), lane_records(IDS, "model-b"))
    page = page_of(report)
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {ref[1:] for ref in page.values("href") if ref.startswith("#")} <= set(ids)
    assert set(page.values("aria-labelledby")) <= set(ids)


def test_every_trial_has_a_cell_with_its_gate_in_text() -> None:
    records = lane_records(IDS)
    records[4] = {**failed("t2", 2), "model": "model-a", "metadata": records[0]["metadata"]}
    records[4]["started_at"] = records[0]["started_at"]
    report = report_of(IDS, records)
    page = results_html(report, "")
    assert cells(page, "pass") == ["pass"] * 8
    assert cells(page, "fail") == ["select"]
    text = results_markdown(report, "")
    assert "| `t2` | pass | **select** | pass |" in text
    assert "| Configured model `model-a` | select | `missing_tool_id` | 1 | `t2` 1 |" in text


def test_what_is_always_said_is_said() -> None:
    report = report_of(IDS, lane_records(IDS))
    page = " ".join(page_of(report).text)
    for text in (results_markdown(report, ""), trends_markdown(report), page):
        for sentence in ALWAYS_SAID:
            assert sentence in text
    for text in (results_markdown(report, ""), page):
        assert "3 tasks × 3 trials, 9 of 9 planned trials scored; design effect" in text


def test_what_is_unknown_is_a_dash_and_never_zero() -> None:
    records = lane_records(IDS)
    del records[0]["call"]["result_nonempty"]
    report = report_of(IDS, lane_records(IDS, "model-r", lane="reference"), records)
    page, text = results_html(report, ""), results_markdown(report, "")
    assert cells(page, "unknown") == ["unknown"]
    assert "<small>strict success: unknown</small>" in page
    assert "| **Strict workflow success** | **100.0% (9/9)** | **–** |" in text
    assert "| `t1` | pass | pass | pass | unknown | pass | pass |" in text
    assert "The gap is unknown" in page
    assert "The gap is unknown" in text
    assert "None" not in text
    assert "None" not in page
    check_tables(text)


def test_a_run_without_a_call_has_no_call_rate() -> None:
    records = lane_records(IDS)
    nothing = [
        {**row, **failed(row["task_id"], row["trial"]), "model": "model-a", "metadata": row["metadata"]}
        for row in records
    ]
    report = report_of(IDS, nothing)
    page, text = results_html(report, ""), results_markdown(report, "")
    assert "| Call succeeded, of calls | – |" in text
    assert "| Called | 0.0% (0/9) |" in text
    assert cells(page, "pass") == []
    assert cells(page, "fail") == ["select"] * 9
    Page(page)


def test_one_task_has_an_interval_and_is_one_task() -> None:
    report = report_of(["only"], lane_records(["only"], lane="reference"), lane_records(["only"], "model-b"))
    page, text = " ".join(page_of(report).text), results_markdown(report, "")
    for words in (page, text):
        assert "1 task × 3 trials" in words
        assert "with so few tasks no gap would have been found" in words.lower()


def test_two_hundred_tasks_are_all_there() -> None:
    ids = [f"task-{number:03}" for number in range(200)]
    report = report_of(ids, lane_records(ids))
    page, text = results_html(report, ""), results_markdown(report, "")
    assert len(cells(page, "pass")) == 600
    assert all(f'<bdi class="name">{name}</bdi></th>' in page for name in ids)
    assert all(f"| `{name}` | pass |" in text for name in ids)
    Page(page)


@pytest.mark.parametrize("name", [*HOSTILE, "x" * 256, "long name " * 25, HEBREW, ARABIC])
def test_names_are_shown_as_they_are_wherever_they_occur(name: str) -> None:
    ids = [name, "other"]
    records = lane_records(ids, name, metadata={"api_revision": name, "adapter_revision": name})
    records[1] = {**failed(name, 2), "model": name, "metadata": records[0]["metadata"]}
    records[1]["started_at"] = records[0]["started_at"]
    refused = (Refused(f"{name}.runs.jsonl", f"{name} is wrong"),)
    report = report_of(ids, lane_records(ids, lane="reference"), records, refused=refused)
    text = results_html(report, "results/")
    page = Page(text)
    assert "script" not in {tag for tag, _ in page.elements}
    assert "img" not in {tag for tag, _ in page.elements}
    assert html.escape(name, quote=False) in text or html.escape(name) in text.replace("&#34;", "&quot;")
    assert page.isolated.count(name) >= 8
    check_tables(results_markdown(report, "results/"))


@pytest.mark.parametrize("name", [HEBREW, ARABIC, *HOSTILE])
def test_text_outside_of_isolation_holds_no_foreign_name(name: str) -> None:
    report = report_of([name], lane_records([name], name))

    class Outside(Page):
        def handle_data(self, data: str) -> None:
            if "bdi" not in self.open:
                assert name not in data

    Outside(results_html(report, ""))


@pytest.mark.parametrize("render", [lambda r: results_markdown(r, ""), trends_markdown], ids=["all", "trend"])
def test_markdown_keeps_names_in_code_and_isolates_what_runs_leftward(
    render: Callable[[ResultsReport], str],
) -> None:
    report = report_of([HEBREW, MARKUP], lane_records([HEBREW, MARKUP], "\u202egpj.exe"))
    text = render(report)
    assert "\u202e" not in text
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert "<script" not in outside
    assert HEBREW not in outside
    assert text.count(HEBREW) == text.count(f"\u2068{HEBREW}\u2069")


def test_a_snapshot_of_the_gateway_is_shown() -> None:
    found = gateway_of(gateway_result(MARKUP), "gateway/snapshots/baseline.json", "gateway/BENCHMARKS.md")
    assert [scope.name for scope in found.scopes] == ["overall", "no_match"]
    report = report_of(IDS, lane_records(IDS), gateway=found)
    page = page_of(report)
    assert "script" not in {tag for tag, _ in page.elements}
    assert "results/gateway/snapshots/baseline.json" in page.values("href")
    text = results_markdown(report, "results/")
    assert "| `overall` | 8 | 87.5% | [52.9%, 97.8%] | 100.0% | 0.900 | 0.0% | – | 4.0% |" in text
    assert f"| `discovery.{MARKUP}` | at least 0.900 | 0.875 | **fail** |" in text
    assert f"| skipped: `{MARKUP}` |" in text
    assert (
        f"Verdict `fail` (`worse than the baseline: discovery.top1; parity skipped: {MARKUP}`), measured"
        in text
    )
    assert f"worse than the baseline: discovery.top1; parity skipped: {MARKUP}" in " ".join(page.text)
    assert f"| `invocation.repairSuccess` | 2 | 50.0% | [9.4%, 90.5%] | `{MARKUP}` |" in text
    assert "reads 336 tokens instead of 39,729: 99.2% less" in text
    assert "results/gateway/BENCHMARKS.md" in page.values("href")
    check_tables(text)


def test_lanes_of_one_kind_are_told_apart_by_their_models() -> None:
    text = results_markdown(report_of(IDS, lane_records(IDS), lane_records(IDS, "model-b")), "")
    assert "| Task | Configured model `model-a` 1 |" in text
    assert "| Configured model `model-b` 3 |" in text


def test_one_line_says_the_rates_and_the_refusals() -> None:
    report = report_of([HEBREW], lane_records([HEBREW], "a\u202eb"), refused=(Refused("x", "y"),))
    line = results_line(report)
    assert line == (
        "release cccccccccccc, 2026-11-30, v9: configured-model a\ufffdb 100.0% [2.5%, 100.0%] · refused 1"
    )
    empty = report_of(["x"], lane_records(["x"]), runs=(), trends=())
    assert results_line(empty) == "rehearsals only: 0 · refused 0"
