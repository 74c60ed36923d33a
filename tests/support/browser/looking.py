"""A page of ours in a real browser: what it asks for, what it complains of, what axe-core finds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = (
    "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    # Root has no sandbox; the only page is a file of ours.
    "--no-sandbox",
)  # fmt: skip
AXE_TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
DESKTOP, PHONE = (1280, 900), (375, 780)
Scheme = Literal["light", "dark"]


@dataclass
class Look:
    """One page in one window."""

    page: Page
    asked: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def violations(self, axe: Path) -> list[str]:
        """What axe-core finds: rule and the elements."""
        self.page.add_script_tag(path=axe)
        found: dict[str, Any] = self.page.evaluate(
            "tags => axe.run(document, {runOnly: tags})", list(AXE_TAGS)
        )
        assert len(found["passes"]) > 10, "axe-core has looked at next to nothing"
        return [
            f"{rule['id']} ({rule['impact']}): {[node['target'] for node in rule['nodes']][:5]}"
            for rule in found["violations"]
        ]

    def open_all(self) -> None:
        """Open everything that is folded."""
        self.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")

    def overflow(self) -> int:
        """Pixels by which the page is wider than its window."""
        return int(
            self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        )


@contextmanager
def browser(program: Path) -> Iterator[Browser]:
    """A headless browser."""
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            yield started
        finally:
            started.close()


@contextmanager
def look(
    started: Browser, file: Path, size: tuple[int, int], scheme: Scheme, *, bypass_csp: bool = True
) -> Iterator[Look]:
    """The file in a window of its own; `bypass_csp` lets axe-core in, which the page's policy keeps out."""
    page = started.new_page(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=scheme,
        locale="en-GB",
        bypass_csp=bypass_csp,
    )
    found = Look(page)
    page.on("request", lambda request: found.asked.append(request.url))
    page.on("console", lambda message: found.said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: found.said.append(f"error: {error}"))
    page.goto(file.resolve().as_uri())
    try:
        yield found
    finally:
        page.close()
