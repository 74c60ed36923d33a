"""The scoreboard's sections on calls, texts, tokens, speed and the cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from discovercall.evals.shown import DASH, interval, percent
from discovercall.report.markdown import code, table

Section = Callable[[Mapping[str, Any]], list[str]]


def family_sections(result: Mapping[str, Any]) -> list[str]:
    """One section per family that ran, in the order of the page."""
    sections: tuple[tuple[str, Section], ...] = (
        ("invocation", lambda found: _rates("Invocation and repair", found)),
        ("ergonomics", lambda found: _rates("Ergonomics and parity", found)),
    )
    return [line for name, section in sections if result.get(name) for line in section(result[name])]


def _rates(title: str, found: Mapping[str, Any]) -> list[str]:
    intervals: Mapping[str, Any] = found["intervals"]
    rows = [
        (name, str(spread["of"]) if spread else "0", percent(found[name]), interval(spread) or DASH)
        for name, spread in intervals.items()
        if name in found
    ]
    lines = ["", f"## {title}", "", *table(("metric", "cases", "rate", "95%"), rows, right=(1, 2, 3))]
    if found["offenders"]:
        lines += ["", "Cases that fell short:", ""]
        lines += [
            f"- {metric}: {', '.join(code(name) for name in names)}"
            for metric, names in found["offenders"].items()
        ]
    return lines
