"""A results folder in Markdown, for a terminal, a step summary or a page on GitHub."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from discovercall.foundation.artifacts import RUNS_SUFFIX, SUMMARY_SUFFIX
from discovercall.report.gateway import GatewaySnapshot
from discovercall.report.lane_tables import failure_table, headline_line, provenance_rows, result_table
from discovercall.report.markdown import code, table
from discovercall.report.model import Lane
from discovercall.report.numbers import (
    DASH,
    decimal,
    percent,
    percent_interval,
    points,
    points_interval,
    share,
)
from discovercall.report.results import (
    ResultsReport,
    RunResults,
    TaskTrials,
    Trend,
)
from discovercall.report.scenarios import ScenarioReport
from discovercall.report.wording import (
    ALWAYS_SAID,
    REHEARSAL,
    TITLE,
    Statement,
    basis,
    gap_statements,
    lane_name,
    stage_name,
    start_up_sentence,
    trend_statements,
)


def results_markdown(report: ResultsReport, base: str) -> str:
    """The whole report.

    Args:
        base: prefix of links to the folder's files, as `results/`.
    """
    lines = [f"# {TITLE}", ""]
    lines += _refused(report)
    current = report.current
    if current is None:
        lines += ["No official result is published yet.", ""]
    else:
        lines += [f"## Newest result: {_run_name(current)}", "", *_run(current, base)]
    lines += _trends(report.trends)
    if report.gateway is not None:
        lines += _gateway(report.gateway, base)
    for scenarios in report.scenarios:
        lines += _scenarios(scenarios, base)
    for run in report.runs[1:]:
        lines += [f"## Earlier result: {_run_name(run)}", "", *_run(run, base)]
    if report.rehearsals:
        lines += ["## Rehearsals: no results", "", REHEARSAL, ""]
        for run in report.rehearsals:
            lines += [f"### Rehearsal: {_run_name(run)}", "", *_run(run, base)]
    lines += ["## What every number here means", "", *(f"- {text}" for text in ALWAYS_SAID)]
    return "\n".join(lines) + "\n"


def trends_markdown(report: ResultsReport) -> str:
    """The trends alone."""
    lines = [*_refused(report), *_trends(report.trends)]
    if not report.trends:
        lines += ["No official result is published yet: there is no trend.", ""]
    return "\n".join([*lines, *(f"- {text}" for text in ALWAYS_SAID)]) + "\n"


def _refused(report: ResultsReport) -> list[str]:
    if not report.refused:
        return []
    rows = [[code(found.file), code(found.why)] for found in report.refused]
    return [
        f"> **Refused: {len(rows)} of the files here did not validate. Nothing in them is shown.**",
        "",
        *table(["File", "Why"], rows),
        "",
    ]


def _run_name(run: RunResults) -> str:
    return f"release {code(run.release[:12])}, {run.date}, task set {run.task_set}"


def _run(run: RunResults, base: str) -> Iterator[str]:
    lanes = [result.lane for result in run.results]
    for result in run.results:
        yield f"{headline_line(result.lane)}: {basis(result)}."
    yield from ("", *result_table(lanes), "")
    for gap in run.gaps:
        yield from (f"Gap to {code(gap.second)}:", "", *_statements(gap_statements(gap)), "")
    yield from ("**Task by trial**", "", *_trials(run), "")
    yield from ("**Failures**", "", *failure_table(lanes, _lane), "")
    yield from ("**Provenance**", "", *table(["", *map(_lane, lanes)], _provenance(run, base)), "")


def _lane(lane: Lane) -> str:
    return f"{lane_name(lane.lane)} {code(lane.model)}"


def _trials(run: RunResults) -> list[str]:
    names = [lane_name(result.lane.lane) for result in run.results]
    label = _lane if len(set(names)) < len(names) else (lambda lane: lane_name(lane.lane))
    header = ["Task"] + [
        f"{label(result.lane)} {number}" for result in run.results for number in range(1, result.trials + 1)
    ]
    rows = []
    for name, lanes in run.rows():
        cells = [
            cell
            for task, result in zip(lanes, run.results, strict=True)
            for cell in _outcomes(task, result.trials)
        ]
        rows.append([code(name), *cells])
    return table(header, rows)


def _outcomes(task: TaskTrials | None, trials: int) -> list[str]:
    if task is None:
        return [DASH] * trials
    return [
        "unknown" if one.success is None else "pass" if one.success else f"**{stage_name(one.stage)}**"
        for one in task.trials
    ]


def _provenance(run: RunResults, base: str) -> Iterator[list[str]]:
    yield from provenance_rows([result.lane for result in run.results])
    yield ["Measured", *(result.measured_at for result in run.results)]
    for label, suffix in (("Records", RUNS_SUFFIX), ("Summary", SUMMARY_SUFFIX)):
        yield [label, *(link(f"{result.lane.stem}{suffix}", base) for result in run.results)]


def link(name: str, base: str) -> str:
    """A link to a file of the folder."""
    return f"[{code(name)}]({base}{quote(name)})"


def _trends(trends: Sequence[Trend]) -> Iterator[str]:
    if not trends:
        return
    yield from ("## Trend over releases", "")
    for trend in trends:
        yield from (f"### {lane_name(trend.lane)} {code(trend.model)}, task set {trend.task_set}", "")
        yield from (*_statements(trend_statements(trend)), "")
        rows = [
            [
                code(one.release[:12]),
                one.date,
                share(one.success),
                percent_interval(one.headline_95),
                decimal(one.design_effect),
            ]
            for one in trend.measurements
        ]
        yield from table(
            ["Release", "Measured", "Strict success", "95% over tasks", "Design effect"],
            rows,
            right=(2, 3, 4),
        )
        shared = ", ".join(f"{name} {code(str(value))}" for name, value in trend.configuration.items())
        yield from ("", f"{trend.tasks} tasks × {trend.trials} trials each; comparable by {shared}.", "")


def _statements(statements: Iterable[Statement]) -> Iterator[str]:
    for statement in statements:
        text = f"**{statement.text}**" if statement.strong else statement.text
        yield f"- {text} {', '.join(code(task) for task in statement.tasks)}".rstrip()


def _gateway(found: GatewaySnapshot, base: str) -> Iterator[str]:
    yield from ("## Gateway", "")
    qualified = f" ({code('; '.join(found.caveats))})" if found.caveats else ""
    yield (
        f"Verdict {code(found.verdict)}{qualified}, measured {code(found.generated_at)},"
        f" commit {code((found.commit or '')[:12])}{' with uncommitted changes' if found.dirty else ''},"
        f" corpus {code(found.corpus)}, model {code(found.model or '')}, {code(found.semantic)}:"
        f" {link(found.file, base)}."
    )
    rows = [
        [
            code(scope.name),
            str(scope.intents),
            percent(scope.top1),
            percent_interval(scope.top1_95),
            percent(scope.top3),
            decimal(scope.mrr, 3),
            percent(scope.wrong_server_rate),
            percent(scope.no_match_correctness),
            percent(scope.false_refusal_rate),
        ]
        for scope in found.scopes
    ]
    header = [
        "Scope", "Intents", "Top 1", "95% (Wilson)", "Top 3", "MRR", "Wrong server", "No match",
        "False refusal",
    ]  # fmt: skip
    if rows:
        yield from ("", *table(header, rows, right=range(1, 9)))
    yield from _families(found, base)
    bounds = [
        [
            code(bound.name),
            f"{'at least' if bound.comparator == 'min' else 'at most'} {bound.threshold:.3f}",
            decimal(bound.actual, 3),
            f"skipped: {code(bound.skipped)}" if bound.skipped else "pass" if bound.passed else "**fail**",
        ]
        for bound in found.bounds
    ]
    if bounds:
        yield from ("", *table(["Figure", "Bound", "Actual", "Verdict"], bounds, right=(2,)))
    yield ""


def _families(found: GatewaySnapshot, base: str) -> Iterator[str]:
    rows = [
        [
            code(f"{rate.family}.{rate.name}"),
            str(rate.cases),
            percent(rate.rate),
            percent_interval(rate.rate_95),
            ", ".join(code(case) for case in rate.missed),
        ]
        for rate in found.rates
    ]
    if rows:
        header = ["Rate", "Cases", "Share", "95% (Wilson)", "Fell short"]
        yield from ("", *table(header, rows, right=(1, 2, 3)))
    if found.start_up is not None:
        yield from ("", f"{start_up_sentence(found.start_up)} Estimator: {code(found.start_up.estimator)}.")
    if found.scoreboard is not None:
        yield from ("", f"All of it: {link(found.scoreboard, base)}.")


def _scenarios(found: ScenarioReport, base: str) -> Iterator[str]:
    yield from ("## Agent invocation", "")
    if found.mock:
        yield from ("**Fixed answers were replayed: this measures no model.**", "")
    rows = [[code(case.case), *(share(count) for count in case.passed)] for case in found.cases]
    rows.append(["**All cases**", *(f"**{share(count)}**" for count in found.passed)])
    columns = range(1, len(found.modes) + 1)
    yield from (*table(["Case", *(code(mode) for mode in found.modes)], rows, right=columns), "")
    gap = found.gap
    if gap is not None:
        yield (
            f"{code(gap.first)} minus {code(gap.second)}: {points(gap.difference)}, 95%"
            f" {points_interval(gap.interval_95)}, exact sign-flip test over cases p = {gap.p_value:.3g};"
            f" {gap.differing_cases} of the at least {gap.differing_cases_needed} differing cases that"
            " p ≤ .05 needs. No winner is declared."
        )
    yield (
        f"Model {code(found.model or '')}, {found.runs_per_case} runs per case and mode, measured"
        f" {code(found.generated_at)}: {link(found.file, base)}."
    )
    yield ""
