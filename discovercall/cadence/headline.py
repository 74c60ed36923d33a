"""The two headline pages, rendered from the newest published result and checked against it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discovercall.cadence.history import published_releases, report_of_pairs
from discovercall.cadence.plan import Inputs
from discovercall.foundation.errors import InputError, RefusedError
from discovercall.report.headline import LANGUAGES, headline_page

RESULTS = "results"


def page_path(language: str) -> str:
    """Where a page is, from the repository's top."""
    return f"docs/headline.{language}.md"


def headline_pages(report: Mapping[str, Any] | None) -> dict[str, str]:
    """Texts of both pages by path.

    Args:
        report: the newest result's report model; None where nothing is published.
    """
    return {page_path(language): headline_page(report, language) for language in LANGUAGES}


def current_pages(inputs: Inputs) -> dict[str, str]:
    """Both pages as the committed results have them; rehearsals are left out.

    Raises:
        RefusedError: the newest pair doesn't validate.
    """
    releases = published_releases(inputs.root / RESULTS)
    if not releases:
        return headline_pages(None)
    folder = inputs.root / RESULTS
    reference, configured = releases[-1].stems
    return headline_pages(report_of_pairs((folder / reference, folder / configured), inputs))


def check_pages(inputs: Inputs) -> None:
    """Refuse pages that disagree with the results.

    Raises:
        RefusedError: names the page and the first line that differs.
    """
    for name, text in current_pages(inputs).items():
        path = inputs.root / name
        data = _content(path)
        if data != text.encode():
            found = data.decode("utf-8", "replace")
            raise RefusedError(
                f"disagrees with the results in line {_first_difference(found, text)}",
                where=str(path),
                fix="run `discovercall cadence headline` and commit what it writes",
            )


def write_pages(root: Path, pages: Mapping[str, str]) -> None:
    """Write both pages.

    Raises:
        InputError: one can't be written.
    """
    from discovercall.foundation.files import write_atomic

    for name, text in pages.items():
        try:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            write_atomic(root / name, text.encode(), mode=0o644)
        except OSError as error:
            raise InputError(
                f"cannot be written ({error.strerror or error})", where=str(root / name)
            ) from None


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() else b""
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", where=str(path)) from None


def _first_difference(found: str, wanted: str) -> int:
    left, right = found.split("\n"), wanted.split("\n")
    pairs = zip(left, right, strict=False)
    return next((n for n, (a, b) in enumerate(pairs, 1) if a != b), min(len(left), len(right)) + 1)
