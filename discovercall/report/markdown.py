"""Markdown that GitHub renders, safe whatever names occur in it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from discovercall.foundation.shown import plain

DASH = "–"
BODY_LIMIT = 60_000
TITLE_LIMIT = 250
_CUT = "\n\n*Cut here: the rest is in the results section of this branch.*\n"


def code(text: str) -> str:
    """Foreign text as inline code: nothing in it is a link, a mention, HTML or the end of a table cell.

    Text that runs from right to left is isolated, so that it turns nothing around it; characters that steer
    the direction of text become U+FFFD.
    """
    flat = isolated(" ".join(text.split())).replace("|", "\\|")
    longest = max((len(run) for run in _backtick_runs(flat)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{flat}{space}{fence}" if flat else DASH


def isolated(text: str) -> str:
    """The text without control or format characters, between FSI and PDI where some of it runs leftward."""
    clean = plain(text)
    leftward = any(unicodedata.bidirectional(sign) in ("R", "AL", "AN") for sign in clean)
    return f"\u2068{clean}\u2069" if leftward else clean


def _backtick_runs(text: str) -> Iterable[str]:
    run = ""
    for sign in text + " ":
        if sign == "`":
            run += sign
        elif run:
            yield run
            run = ""


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()) -> list[str]:
    """A table as lines.

    Args:
        right: columns that are aligned to the right.
    """
    aligned = set(right)
    rule = ["---:" if index in aligned else "---" for index in range(len(header))]
    return [f"| {' | '.join(cells)} |" for cells in (header, rule, *rows)]


def cut(text: str) -> str:
    """The text, or what fits of it up to a line end with a note; an opened block is closed."""
    if len(text) <= BODY_LIMIT:
        return text
    kept = text[: BODY_LIMIT - len(_CUT) - len("\n```")].rsplit("\n", 1)[0]
    fences = sum(line.startswith("```") for line in kept.splitlines())
    return kept + ("\n```" if fences % 2 else "") + _CUT


def one_line(text: str) -> str:
    """A title: one line, not too long."""
    flat = " ".join(text.split())
    return flat if len(flat) <= TITLE_LIMIT else flat[: TITLE_LIMIT - 1] + "…"
