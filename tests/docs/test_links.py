"""Links between the pages lead somewhere, and the index leads to every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("docs", "adapters", "results", "tasks")
PAGES = sorted({page for name in FOLDERS for page in (ROOT / name).rglob("*.md")} | set(ROOT.glob("*.md")))
INDEX = ROOT / "docs" / "README.md"
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
GENERATED = {"headline.en.md", "headline.zh.md"}


def links_of(text: str) -> list[str]:
    """Targets of all links but those to other hosts and those in examples of code."""
    return [link for link in _LINK.findall(_CODE.sub("", text)) if not re.match(r"[a-z]+:", link)]


def anchors_of(text: str) -> set[str]:
    """What GitHub makes of a page's headings."""
    heads = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def broken(page: Path) -> list[str]:
    """Links of a page that lead nowhere, as written."""
    found = []
    for link in links_of(page.read_text("utf-8")):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors_of(target.read_text("utf-8"))):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_its_links_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One head, `two`\n[a](none.md) [b](#one-head-two) [c](#three) `[d](x)` [e](https://x.org)\n"
    )
    assert broken(page) == ["none.md", "#three"]


def test_the_index_leads_to_every_page_of_its_folder() -> None:
    named = {link.partition("#")[0] for link in links_of(INDEX.read_text("utf-8"))}
    pages = {page.name for page in INDEX.parent.glob("*.md")} - {INDEX.name} - GENERATED
    assert sorted(pages - named) == []
