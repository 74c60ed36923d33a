"""The report for people, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from discovercall.foundation.shown import shown_line
from discovercall.invocation.report_model import (
    Cell,
    Gap,
    ModeComparison,
    PairedLatency,
    Quantiles,
    Report,
    RunReport,
    TokenTotal,
    TokenTotals,
)
from discovercall.invocation.summary import LOW_CONFIDENCE_BELOW
from discovercall.report.comparison import needed_to_differ
from discovercall.report.markdown import DASH, code, table
from discovercall.report.numbers import points, points_interval

_LOW = "°"
_LABELS = {
    "first_token_ms": "first token of the provider (ms)",
    "first_visible_ms": "first visible text (ms)",
    "turn_wall_time_ms": "whole turn (ms)",
    "chat_agent_call_ms": "call of the ChatAgent (ms)",
    "event_agent_call_ms": "call of the EventAgent (ms)",
    "follow_up_call_ms": "call for the second answer (ms)",
    "handler_latency_ms": "event handler (ms)",
    "prompt_tokens": "prompt tokens",
    "completion_tokens": "completion tokens",
    "total_tokens": "all tokens",
    "cached_tokens": "cached tokens",
}


def to_markdown(report: Report) -> str:
    """The whole report as Markdown, ending with a newline."""
    parts = [
        _head(report),
        _matrix(report),
        _failures(report),
        _metrics(report),
        _tokens(report),
        _comparison(report.comparison),
    ]
    return "\n".join("\n".join(part) for part in map(list, parts) if part).rstrip() + "\n"


def summary_lines(report: Report) -> list[str]:
    """The outcome in a few lines of plain text: how many passed, and each failed run with what broke."""
    lines = [f"{report.runs_passed} of {report.runs_planned} runs passed."]
    for run in report.runs:
        lines += [f"  {shown_line(f'{_run(run)}: {text}')}" for text in _broken(run)]
    return lines


def _head(report: Report) -> Iterator[str]:
    settings, toolkit = report.settings, report.toolkit
    yield "# Agent invocation benchmark"
    yield ""
    verdict = "All" if report.passed else f"{report.runs_passed} of"
    yield f"**{verdict} {report.runs_planned} runs passed.**"
    yield ""
    if settings.client == "mock":
        yield "- Client: mock. Times are the program's own and say nothing about a model."
    else:
        yield f"- Model: {code(settings.model or '')} at {code(settings.base_url or '')}"
    yield f"- Plan: {len(settings.cases)} cases × {len(settings.modes)} modes × {settings.runs_per_case} runs"
    yield f"- Time limit of a turn: {settings.timeout_s:g} s"
    yield f"- Cases: SHA-256 {code(settings.cases_sha256)}"
    commit = toolkit.commit or "unknown"
    yield f"- Code: {code(toolkit.version)}, commit {code(commit)}{' with changes' if toolkit.dirty else ''}"
    yield f"- Generated: {code(report.generated_at)}"
    yield ""


def _matrix(report: Report) -> Iterator[str]:
    modes = report.settings.modes
    cells = {(cell.case, cell.mode): cell for cell in report.cells}
    yield "## Passed runs"
    yield ""
    rows = [[code(case), *(_verdict(cells[case, mode]) for mode in modes)] for case in report.settings.cases]
    yield from table(["case", *map(code, modes)], rows)
    yield ""


def _verdict(cell: Cell) -> str:
    return f"{'pass' if cell.passed == cell.runs else 'FAIL'} {cell.passed}/{cell.runs}"


def _failures(report: Report) -> Iterator[str]:
    failed = [run for run in report.runs if not run.passed]
    if not failed:
        return
    yield "## Failures"
    yield ""
    for run in failed:
        yield f"- {code(_run(run))}"
        yield from (f"  - {code(text)}" for text in _broken(run))
    yield ""


def _run(run: RunReport) -> str:
    return f"{run.case}, {run.mode}, run {run.iteration}"


def _broken(run: RunReport) -> list[str]:
    if run.error is not None:
        return [f"{run.error.code}: {run.error.message}"]
    return [f"{item.check}: expected {item.expected}; saw {item.saw}" for item in run.failures]


def _metrics(report: Report) -> Iterator[str]:
    yield "## Times and tokens of passed runs"
    yield ""
    yield (
        "Linear interpolation between samples. Spans overlap, so they must not be added up."
        f" {_LOW} marks a p95 of low confidence: fewer than {LOW_CONFIDENCE_BELOW} samples."
    )
    yield ""
    for case in report.settings.cases:
        cells = [cell for cell in report.cells if cell.case == case]
        yield f"### {code(case)}"
        yield ""
        header = ["metric"]
        for cell in cells:
            header += [f"{cell.mode} p50", "p95", "n"]
        rows = [
            [label, *(text for cell in cells for text in _quantile_texts(cell.metrics[name]))]
            for name, label in _LABELS.items()
            if any(cell.metrics[name].samples for cell in cells)
        ]
        if rows:
            yield from table(header, rows, right=range(1, len(header)))
        else:
            yield "No passed run."
        yield ""


def _quantile_texts(found: Quantiles) -> list[str]:
    mark = f" {_LOW}" if found.p95 is not None and found.p95_low_confidence else ""
    return [_number(found.p50), f"{_number(found.p95)}{mark}", str(found.samples)]


def _tokens(report: Report) -> Iterator[str]:
    yield "## Tokens in all"
    yield ""
    yield "Over all runs, failed ones too. In brackets: runs for which the provider told the number."
    yield ""
    rows = []
    for mode in report.settings.modes:
        cells = [cell.tokens for cell in report.cells if cell.mode == mode]
        rows.append([code(mode), *_total_texts(_sum(cells))])
    rows.append(["both" if len(rows) == 2 else "all", *_total_texts(report.tokens)])
    yield from table(["mode", "prompt", "completion", "all", "cached"], rows, right=range(1, 5))
    yield ""


def _sum(cells: list[TokenTotals]) -> TokenTotals:
    def added(values: list[TokenTotal]) -> TokenTotal:
        known = [value.total for value in values if value.total is not None]
        return TokenTotal(
            total=sum(known) if known else None,
            runs_with_value=sum(value.runs_with_value for value in values),
        )

    return TokenTotals(
        prompt=added([cell.prompt for cell in cells]),
        completion=added([cell.completion for cell in cells]),
        total=added([cell.total for cell in cells]),
        cached=added([cell.cached for cell in cells]),
    )


def _total_texts(totals: TokenTotals) -> list[str]:
    return [
        f"{DASH if found.total is None else found.total} ({found.runs_with_value})"
        for found in (totals.prompt, totals.completion, totals.total, totals.cached)
    ]


def _comparison(found: ModeComparison | None) -> Iterator[str]:
    if found is None:
        return
    yield "## The two modes side by side"
    yield ""
    yield f"{code(found.first)} minus {code(found.second)}. No winner is declared."
    yield ""
    yield f"- {_gap_sentence(found.gap)}"
    for label, names in (("better", found.gap.better), ("worse", found.gap.worse)):
        listed = ", ".join(map(code, names)) or "none"
        yield f"- Cases on which {code(found.first)} did {label}: {listed}"
    yield f"- Equal on {len(found.gap.equal)} of {found.cases} cases, {found.runs_per_case} runs each."
    yield f"- {_power_sentence(found.gap)}"
    effects = [
        DASH if effect is None else f"{effect:.2f}"
        for effect in (found.design_effect_first, found.design_effect_second)
    ]
    yield f"- Design effect of the runs of a case: {effects[0]} and {effects[1]}."
    yield (
        "- The unit is the case; the interval is for a population of such cases. No interval covers effects"
        " that a whole run shares, such as the day."
    )
    yield ""
    rows = [[_LABELS[name], *_latency_texts(latency)] for name, latency in found.latency.items()]
    yield from table(["median paired difference", "ms", "95% interval", "pairs"], rows, right=range(1, 4))
    yield ""
    yield (
        "A pair is one case and iteration that passed in both modes. Latency is about these cases alone;"
        f" below {LOW_CONFIDENCE_BELOW} pairs there is no interval."
    )
    yield ""


def _gap_sentence(gap: Gap) -> str:
    text = (
        f"Passed: {points(gap.difference)}, 95% interval {points_interval(gap.interval_95)},"
        f" exact p = {gap.p_value:.3g}."
    )
    differing = len(gap.better) + len(gap.worse)
    if differing < gap.differing_cases_needed:
        text += f" {differing} of the cases differ; {needed_to_differ(gap.differing_cases_needed)}."
    return text


def _power_sentence(gap: Gap) -> str:
    if gap.smallest_detectable is None:
        text = "With so few cases no gap would have been found with 80% power"
    else:
        text = f"With 80% power the smallest gap found is {gap.smallest_detectable * 100:.1f} points"
    if gap.cases_needed_for_5_points is not None:
        text += f"; a gap of 5 points would take about {gap.cases_needed_for_5_points} cases"
    return f"{text}."


def _latency_texts(latency: PairedLatency) -> list[str]:
    median = latency.median_difference_ms
    limits = latency.interval_95_ms
    return [
        DASH if median is None else f"{median:+.1f}",
        DASH if limits is None else f"[{limits[0]:+.1f}, {limits[1]:+.1f}]",
        str(latency.pairs),
    ]


def _number(value: float | None) -> str:
    return DASH if value is None else f"{value:.1f}".removesuffix(".0")
