"""A result on a terminal: what came out, what failed, on one line or on one screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discovercall.evals.scoreboard import RANKERS, SCOPES, verdict_line
from discovercall.evals.scoreboard_families import (
    ONCE_HEADER,
    PATH_HEADER,
    TOKEN_HEADER,
    once_rows,
    path_rows,
    token_rows,
)
from discovercall.evals.shown import DASH, interval, share, signed, three
from discovercall.foundation.ecmascript import is_finite_number
from discovercall.foundation.shown import plain


def concise(result: Mapping[str, Any]) -> str:
    """One line: verdict, overall top-1, gates."""
    gates = [gate for gate in result["gates"] if not gate["skipped"]]
    passed = sum(gate["pass"] for gate in gates)
    parts = [verdict_line(result)]
    if result.get("discovery"):
        parts.append(f"top-1 {share(result['discovery']['overall'], 'top1')}")
    return plain(" · ".join([*parts, f"gates {passed}/{len(gates)}"]))


def human(result: Mapping[str, Any]) -> str:
    """One screen: discovery, the other families' rates, gates that failed, and the verdict."""
    lines: list[str] = []
    if result.get("discovery"):
        lines += _discovery(result["rankers"], "Discovery")
    if result.get("heldOut"):
        lines += _discovery(result["heldOut"]["rankers"], f"Set aside ({result['heldOut']['n']} intents)")
    for family in ("invocation", "ergonomics", "tokens", "performance", "cache"):
        found = result.get(family) or {}
        shown = [*_rates(found), *_tables(family, found)]
        if shown:
            lines += [family.title(), *shown, ""]
    lines += [
        f"warning: {f['intent']}: {f['issue']}" for f in (result.get("hygiene") or {}).get("findings", ())
    ]
    lines += _changes(result.get("diff"))
    for gate in result["gates"]:
        if not gate["pass"] and not gate["skipped"]:
            bound = f"at {'least' if gate['comparator'] == 'min' else 'most'} {three(gate['threshold'])}"
            lines.append(f"failed: {gate['name']} is {three(gate['actual'])}, {bound} is needed")
    return "\n".join([*map(plain, lines), concise(result)])


def diff_text(diff: Mapping[str, Any]) -> str:
    """A comparison, a line per change."""
    return "\n".join(map(plain, _changes(diff)))


def left_out(diff: Mapping[str, Any]) -> list[str]:
    """What a comparison does not tell, as one line; none where it tells all."""
    names = diff.get("leftOut")
    return [f"not compared, for only one of both ran it: {', '.join(names)}"] if names else []


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of equal width, the first to the left and the others to the right."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def _discovery(rankers: Mapping[str, Any], title: str) -> list[str]:
    lines: list[str] = []
    for name, label in RANKERS.items():
        if rankers.get(name):
            rows = [_scope_row(scope, rankers[name][scope]) for scope in SCOPES]
            header = ("", "n", "top-1", "95%", "top-3", "MRR", "no match", "false refusals", "without cap.")
            lines += [f"{title}: {label}", *aligned(header, rows), ""]
    return lines


def _scope_row(scope: str, found: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        scope,
        str(found["n"]),
        share(found, "top1"),
        interval(found["intervals"].get("top1")) or DASH,
        share(found, "top3"),
        three(found["mrr"]),
        share(found, "noMatchCorrectness"),
        share(found, "falseRefusalRate"),
        share(found, "capabilityAblation"),
    )


def _rates(found: Mapping[str, Any]) -> list[str]:
    named = [name for name, value in found.items() if _is_share(name, value)]
    return aligned(("", ""), [(f"  {name}", share(found, name)) for name in named])[1:] if named else []


def _tables(family: str, found: Mapping[str, Any]) -> list[str]:
    """Figures that are no rates, indented as those are."""
    lines: list[str] = []
    if found and family == "tokens":
        lines = aligned(TOKEN_HEADER, token_rows(found))
    if found and family == "performance":
        lines = [
            *aligned(PATH_HEADER, path_rows(found)),
            *aligned(ONCE_HEADER, once_rows(found)),
        ]
    return [f"  {line}" for line in lines]


def _is_share(name: str, value: Any) -> bool:
    # Rates of nought and one are integers in JSON, and what costs more than it saves is a negative reduction.
    return (value is None or is_finite_number(value)) and name.endswith(
        ("Rate", "Success", "Reduction", "Clarity")
    )


def _changes(diff: Mapping[str, Any] | None) -> list[str]:
    if not diff:
        return []
    since = f"the baseline of {diff['baselineGeneratedAt']}"
    if not diff["comparable"]:
        return [f"not compared with {since}: {diff['reason']}"]
    lines = [
        f"{change['direction']}: {change['metric']} {three(change['baseline'])} -> {three(change['current'])}"
        f" ({signed(change['delta'])})"
        for change in diff["metrics"]
    ]
    lines += [
        f"flip: {flip['intent']}: rank {flip['oldRank']} -> {flip['newRank']},"
        f" {flip['oldDecision']} -> {flip['newDecision']}"
        for flip in diff["flips"]
    ]
    lines = lines or [f"no metric differs from {since}"]
    return [*lines, *left_out(diff)]
