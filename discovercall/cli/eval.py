"""`discovercall eval …`: measures the gateway over a labelled corpus."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discovercall.cli.formats import ReportFormat, print_json
from discovercall.foundation.errors import EXIT_NO, InputError

if TYPE_CHECKING:
    from discovercall.evals.files import ResultFolder

app = typer.Typer(
    help="Measure the gateway over a labelled corpus, against thresholds.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
DataOption = Annotated[
    Path | None,
    typer.Option(help="Folder of the corpus; default: the one that comes with the toolkit.", metavar="DIR"),
]
OutOption = Annotated[
    str | None,
    typer.Option(
        help="Folder of results; default: results/gateway of the checkout that this runs in. Empty: none.",
        metavar="DIR",
    ),
]
FormatOption = Annotated[ReportFormat, typer.Option("--format", help="How the result is printed.")]
RegressionOption = Annotated[
    bool, typer.Option("--fail-on-regression", help="Exit 1 when a rate got worse than in the baseline.")
]
ToleranceOption = Annotated[
    float, typer.Option(min=0, max=1, help="By how much it may, as a share: 0.02 for two points.")
]


@app.command("run")
def run(
    family: Annotated[
        str | None,
        typer.Argument(help="discovery, invocation, ergonomics, tokens, performance or cache; default: all."),
    ] = None,
    data: DataOption = None,
    out: OutOption = None,
    semantic: Annotated[bool, typer.Option("--semantic", help="Measure with the model too.")] = False,
    require_semantic: Annotated[
        bool, typer.Option("--require-semantic", help="The same, and fail where the model is not there.")
    ] = False,
    holdout: Annotated[bool, typer.Option("--holdout", help="Measure the set-aside intents too.")] = False,
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Make this run the baseline whatever comes out.")
    ] = False,
    fail_on_regression: RegressionOption = False,
    tolerance: ToleranceOption = 0.0,
    format: FormatOption = ReportFormat.HUMAN,
) -> None:
    """Measure, hold to thresholds, compare with the baseline.

    The thresholds are the corpus's own; the result is written where --out says.
    """
    from discovercall.cli.eval_run import RunOptions, measure

    options = RunOptions(
        family=family,
        data=data,
        out=_folder(out, data),
        semantic=semantic or require_semantic or _semantic_by_environment(),
        require_semantic=require_semantic,
        holdout=holdout,
        update_baseline=update_baseline,
        fail_on_regression=fail_on_regression,
        tolerance=tolerance,
    )
    outcome = measure(options)
    _print_result(outcome.result, format)
    for line in outcome.notes:
        typer.echo(line, err=True)
    if not outcome.passed:
        raise typer.Exit(EXIT_NO)


@app.command("report")
def report(out: OutOption = None, format: FormatOption = ReportFormat.HUMAN) -> None:
    """Print the stored baseline again, whatever its verdict."""
    folder = _folder(out, None)
    if folder is None:
        raise InputError("is required outside of a checkout", where="--out", fix="name a folder of results")
    baseline = folder.read_baseline()
    if baseline is None:
        raise InputError(
            "no baseline is there",
            where=str(folder.baseline),
            fix="make one with discovercall eval run --semantic --out DIR",
        )
    try:
        _print_result(baseline, format)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # Families' members have no fixed shape, and a result may be of another version.
        raise InputError(f"a family is of an unknown shape ({error})", where=str(folder.baseline)) from None


@app.command("validate")
def validate(data: DataOption = None, format: FormatOption = ReportFormat.HUMAN) -> None:
    """Check a corpus and say everything that is wrong with it."""
    from discovercall.evals.corpus import corpus_problems, default_corpus_folder, load_corpus
    from discovercall.evals.hygiene import check_hygiene
    from discovercall.foundation.shown import plain

    folder = data or default_corpus_folder()
    if not folder.is_dir():
        raise InputError("is no folder", where=f"--data {folder}")
    problems = corpus_problems(folder)
    warnings: list[dict[str, Any]] = []
    if not problems:
        corpus = load_corpus(folder)
        found = check_hygiene(corpus, corpus.discovery, encoder=None, skip_reason="not requested")
        warnings = [finding.document() for finding in found.findings]
    if format is ReportFormat.JSON:
        print_json({"folder": str(folder), "problems": problems, "warnings": warnings})
    elif format is ReportFormat.CONCISE:
        typer.echo(f"{len(problems)} problems, {len(warnings)} warnings")
    else:
        mark = "- " if format is ReportFormat.MARKDOWN else ""
        for line in [*problems, *(f"warning: {w['where']}: {w['intent']}: {w['issue']}" for w in warnings)]:
            typer.echo(mark + plain(line))
        if not problems:
            typer.echo(f"{folder}: sound")
    if problems:
        raise typer.Exit(EXIT_NO)


@app.command("diff")
def diff(
    before: Annotated[Path, typer.Argument(metavar="A", help="A result file.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="The one to compare it with.")],
    fail_on_regression: RegressionOption = False,
    tolerance: ToleranceOption = 0.0,
    format: FormatOption = ReportFormat.HUMAN,
) -> None:
    """Compare two results: what moved, and for which intents.

    Metrics that moved are listed, and intents whose rank or decision is another.
    """
    from discovercall.evals.diff import diff_results, regressions
    from discovercall.evals.scoreboard import diff_section
    from discovercall.evals.soundness import read_sound_result
    from discovercall.evals.summary import diff_text, left_out
    from discovercall.foundation.shown import plain

    found = diff_results(read_sound_result(before), read_sound_result(after))
    if format is ReportFormat.JSON:
        print_json(found)
    elif format is ReportFormat.MARKDOWN:
        typer.echo("\n".join(map(plain, diff_section(found))).strip())
    elif format is ReportFormat.CONCISE:
        worse = sum(change["direction"] == "worse" for change in found["metrics"])
        state = f"{worse} worse" if found["comparable"] else f"not compared: {found['reason']}"
        parts = [state, f"{len(found['metrics'])} metrics and {len(found['flips'])} intents differ"]
        typer.echo(", ".join([*parts, *left_out(found)]))
    else:
        typer.echo(diff_text(found))
    if fail_on_regression and (not found["comparable"] or regressions(found, tolerance)):
        raise typer.Exit(EXIT_NO)


@app.command("ratchet")
def ratchet(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="A result file of this corpus.")],
    data: DataOption = None,
) -> None:
    """Raise thresholds to what a result reached, less one case.

    No bound in thresholds.json ever gets looser.
    """
    from discovercall.evals.corpus import default_corpus_folder
    from discovercall.evals.ratchet import ratchet_file
    from discovercall.evals.soundness import read_sound_result

    folder = data or default_corpus_folder()
    changes = ratchet_file(folder, read_sound_result(result))
    for change in changes:
        typer.echo(f"{change.name}: {change.before:g} -> {change.after:g}")
    if not changes:
        typer.echo("No bound can be tighter.")


def _print_result(result: dict[str, Any], format: ReportFormat) -> None:
    from discovercall.evals.scoreboard import scoreboard
    from discovercall.evals.summary import concise, human

    if format is ReportFormat.JSON:
        print_json(result)
    elif format is ReportFormat.MARKDOWN:
        typer.echo(scoreboard(result), nl=False)
    else:
        typer.echo(human(result) if format is ReportFormat.HUMAN else concise(result))


def _folder(out: str | None, data: Path | None) -> ResultFolder | None:
    """Where results go. Those of another corpus go nowhere unasked: they are no baseline of this one."""
    from discovercall.evals.files import ResultFolder, default_folder

    if out is not None:
        return ResultFolder(Path(out)) if out else None
    return default_folder(Path.cwd()) if data is None else None


def _semantic_by_environment() -> bool:
    value = os.environ.get("DISCOVERCALL_EVAL_SEMANTIC", "")
    if value not in ("", "0", "1"):
        raise InputError("must be 0 or 1", where="DISCOVERCALL_EVAL_SEMANTIC")
    return value == "1"
