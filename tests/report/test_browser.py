"""The page in a real browser: wide and narrow, light and dark, by keyboard, on paper, with axe-core."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discovercall.report.gateway import gateway_of
from discovercall.report.html import results_html
from discovercall.report.results import Refused
from tests.report.made import gateway_result, lane_records, report_of
from tests.support.bench import PROGRAM
from tests.support.browser.installed import axe, chromium
from tests.support.records import failed

pytestmark = [pytest.mark.slow, pytest.mark.part("report in a browser")]

HOSTILE = [
    "<script>document.title = 'owned'</script>",
    '"><img src=x onerror="document.title = 1">',
    "x" * 256,
    "מזג-אוויר",
    "طقس-لندن",
    "a name with many words " * 8,
]
DESKTOP, PHONE = (1280, 900), (375, 780)


def pages() -> dict[str, str]:
    """Made pages of every kind: usual, of hostile names, of 200 tasks, of one task, and of nothing."""
    many = [f"task-{number:03}-of-many" for number in range(200)]
    return {
        "usual": results_html(_usual(), "results/"),
        "hostile": results_html(_hostile(), "results/"),
        "many": results_html(report_of(many, lane_records(many, lane="reference"), _lossy(many)), ""),
        "one": results_html(report_of(["only"], lane_records(["only"])), ""),
        "nothing": results_html(report_of(["x"], lane_records(["x"]), runs=(), trends=()), ""),
    }


def _lossy(ids: list[str], model: str = "model-b") -> list[Any]:
    """Every third task fails at selection, and one trial is unknown."""
    rows = lane_records(ids, model)
    for index, row in enumerate(rows):
        if ids.index(row["task_id"]) % 3 == 1:
            kept = {name: row[name] for name in ("run_id", "model", "metadata", "started_at")}
            rows[index] = {**failed(row["task_id"], row["trial"]), **kept}
    return rows


def _usual() -> Any:
    ids = [f"task-{number}" for number in range(18)]
    usual = report_of(ids, lane_records(ids, "model-r", lane="reference"), _lossy(ids))
    rehearsal = report_of(ids, lane_records(ids))
    return report_of(
        ids,
        lane_records(ids),
        runs=(*usual.runs, *rehearsal.runs),
        rehearsals=rehearsal.runs,
        trends=usual.trends,
        gateway=gateway_of(gateway_result(), "gateway/snapshots/baseline.json"),
    )


def _hostile() -> Any:
    records = lane_records(HOSTILE, HOSTILE[0], metadata={"api_revision": HOSTILE[1]})
    del records[0]["call"]["result_nonempty"]
    refused = tuple(Refused(f"{name}.runs.jsonl", f"{name} is wrong") for name in HOSTILE)
    return report_of(HOSTILE, lane_records(HOSTILE, HOSTILE[2], lane="reference"), records, refused=refused)


KINDS = ("usual", "hostile", "many", "one", "nothing", "own")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("pages")
    for name, text in pages().items():
        (found / f"{name}.html").write_text(text, encoding="utf-8")
    subprocess.run([PROGRAM, "report", "--output", found / "own.html"], check=True)
    return found


@pytest.fixture(scope="module")
def script() -> Path:
    found = axe()
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.fixture(scope="module")
def started() -> Iterator[Any]:
    looking = pytest.importorskip("tests.support.browser.looking")
    program = chromium()
    if isinstance(program, str):
        pytest.skip(program)
    with looking.browser(program) as found:
        yield found


def look(started: Any, folder: Path, kind: str, size: tuple[int, int], scheme: str, **more: Any) -> Any:
    from tests.support.browser.looking import look as in_window

    return in_window(started, folder / f"{kind}.html", size, scheme, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_nothing_and_nothing_is_asked_for_or_complained_of(
    started: Any, folder: Path, script: Path, kind: str, scheme: str, size: tuple[int, int]
) -> None:
    with look(started, folder, kind, size, scheme, bypass_csp=False) as strict:
        assert strict.asked == [(folder / f"{kind}.html").resolve().as_uri()]
        assert strict.said == []
        assert strict.page.title() == "Discover-call results"
        assert strict.overflow() <= 0
        strict.open_all()
        assert strict.overflow() <= 0
    with look(started, folder, kind, size, scheme) as found:
        found.open_all()
        assert found.violations(script) == []


def test_schemes_differ(started: Any, folder: Path) -> None:
    backgrounds = set()
    for scheme in ("light", "dark"):
        with look(started, folder, "usual", DESKTOP, scheme) as found:
            backgrounds.add(found.page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(backgrounds) == 2


def test_the_policy_of_the_page_keeps_scripts_out(started: Any, folder: Path, tmp_path: Path) -> None:
    text = (folder / "usual.html").read_text("utf-8")
    poisoned = text.replace(
        "</main>", "<script>document.title = 'owned'</script><p style='color: red'>x</p></main>"
    )
    (tmp_path / "poisoned.html").write_text(poisoned, encoding="utf-8")
    with look(started, tmp_path, "poisoned", DESKTOP, "light", bypass_csp=False) as found:
        assert found.page.title() == "Discover-call results"
        assert sum("Content Security Policy" in line for line in found.said) == 2


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_everything_is_reached_by_keyboard_and_shows_where_it_is(
    started: Any, folder: Path, size: tuple[int, int]
) -> None:
    wanted = "a[href], summary, input, [tabindex='0']"
    with look(started, folder, "usual", size, "light") as found:
        page = found.page
        page.evaluate(
            "sel => document.querySelectorAll(sel).forEach((one, n) => { one.dataset.n = n })", wanted
        )
        count = page.evaluate(
            "sel => [...document.querySelectorAll(sel)].filter(one => one.checkVisibility()).length", wanted
        )
        reached = []
        for _ in range(count):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.dataset.n"))
            width = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
            assert float(width.removesuffix("px")) >= 2, page.evaluate("document.activeElement.outerHTML")
        assert None not in reached
        assert len(set(reached)) == count > 20


def test_the_skip_link_folds_and_the_filter_work_by_keyboard(started: Any, folder: Path) -> None:
    with look(started, folder, "usual", DESKTOP, "light") as found:
        page = found.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "content"
        rows = "document.querySelectorAll('#newest ~ * .heat tbody tr, section .heat tbody tr')"
        shown = f"[...{rows}].filter(one => one.checkVisibility()).length"
        before = page.evaluate(shown)
        page.locator("input[type=checkbox]").first.focus()
        page.keyboard.press("Space")
        assert 0 < page.evaluate(shown) < before
        fold = page.locator("details:not([open])").first
        fold = page.locator(f"details:has(#{fold.locator('caption').first.get_attribute('id')})")
        assert not fold.evaluate("one => one.open")
        fold.locator("summary").focus()
        page.keyboard.press("Enter")
        assert fold.evaluate("one => one.open")


def test_folds_are_open_and_nothing_is_cut_off_on_paper(started: Any, folder: Path) -> None:
    with look(started, folder, "usual", (794, 1123), "dark") as found:
        page = found.page
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        heights = page.evaluate(
            "[...document.querySelectorAll('details table')].map(one => one.getBoundingClientRect().height)"
        )
        assert len(heights) > 4
        assert min(heights) > 20
        assert not page.locator("nav").is_visible()
        assert page.pdf(format="A4").startswith(b"%PDF")


def test_names_run_in_their_own_direction(started: Any, folder: Path) -> None:
    with look(started, folder, "hostile", DESKTOP, "light") as found:
        boxes = found.page.evaluate(
            """() => [...document.querySelectorAll('.heat tbody tr')].slice(0, 6).map(row => {
                const name = row.querySelector('th').getBoundingClientRect();
                return name.right <= row.querySelector('td').getBoundingClientRect().left + 1 })"""
        )
        assert boxes == [True] * 6
        assert found.page.title() == "Discover-call results"
