"""`discovercall invoke …`: the agent invocation benchmark."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from discovercall.cli.formats import Format, print_json
from discovercall.foundation.errors import EXIT_INTERRUPTED, EXIT_NO

if TYPE_CHECKING:
    from discovercall.invocation.report_model import RunReport

Outcome = TypeVar("Outcome")

app = typer.Typer(
    help="Run the same scenarios in two agent designs on one model.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("run")
def run(
    config: Annotated[Path | None, typer.Option(help="JSON file; options given here come before it.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Of an OpenAI-compatible server.")] = None,
    model: Annotated[str | None, typer.Option(help="The model's name for that server.")] = None,
    mode: Annotated[
        list[str] | None, typer.Option(help="dual_agent or chat_agent_tools; repeatable; both if not given.")
    ] = None,
    case: Annotated[list[str] | None, typer.Option(help="A case; repeatable; all if not given.")] = None,
    runs_per_case: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Runs of each case in each mode; 1 if not given.")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that a turn may take.")] = 120.0,
    mock: Annotated[bool, typer.Option("--mock", help="Replay fixed answers: no key, no network.")] = False,
    out: Annotated[Path, typer.Option(help="Folder of the reports.")] = Path("outputs/benchmarks"),
) -> None:
    """Run the benchmark and write its report. The key comes from AGENT_LAB_OPENAI_API_KEY or .env alone."""
    import asyncio
    import os
    import time
    import uuid

    from discovercall import __version__
    from discovercall.foundation.revision import installed_revision
    from discovercall.invocation.benchmark import Surroundings, run_benchmark
    from discovercall.invocation.config import InvokeOptions, make_plan
    from discovercall.invocation.markdown import summary_lines
    from discovercall.invocation.report_model import Toolkit

    options = InvokeOptions(
        config=config,
        base_url=base_url,
        model=model,
        modes=tuple(mode or ()),
        cases=tuple(case or ()),
        runs_per_case=runs_per_case,
        timeout_s=_seconds(timeout),
        mock=mock,
    )
    plan = make_plan(options, os.environ, Path.cwd())
    revision = installed_revision()
    with _progress(plan.runs) as observer:
        around = Surroundings(
            clock=time.time,
            monotonic=time.monotonic,
            new_id=lambda: str(uuid.uuid4()),
            toolkit=Toolkit(version=__version__, commit=revision.commit, dirty=revision.dirty),
            observer=observer,
        )
        try:
            report, path = asyncio.run(_until_terminated(run_benchmark(plan, out, around)))
        except (KeyboardInterrupt, asyncio.CancelledError):
            typer.echo("Interrupted: no report was written.", err=True)
            raise typer.Exit(EXIT_INTERRUPTED) from None
    typer.echo("\n".join(summary_lines(report)))
    typer.echo(f"Wrote {path}/report.json and report.md")
    if not report.passed:
        raise typer.Exit(EXIT_NO)


@app.command("report")
def report(
    path: Annotated[Path, typer.Argument(help="A report.json, or the folder that holds it.")],
    format: Annotated[Format, typer.Option(help="human prints Markdown.")] = Format.HUMAN,
) -> None:
    """Print a report again, as Markdown or JSON."""
    from discovercall.invocation.benchmark import read_report
    from discovercall.invocation.markdown import to_markdown

    found = read_report(path)
    if format is Format.JSON:
        print_json(found.model_dump(mode="json"))
    else:
        typer.echo(to_markdown(found), nl=False)


async def _until_terminated(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Await the work; SIGTERM cancels it, as SIGINT does, so that databases are removed."""
    import asyncio
    import signal

    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


def _seconds(timeout: float) -> float:
    from discovercall.foundation.errors import InputError

    if not 0 < timeout <= 86_400:
        raise InputError("must be above 0 and at most 86400 seconds", where="--timeout")
    return timeout


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Callable[[RunReport], None]]:
    """A bar on stderr where that is a terminal, else silence."""
    import sys

    if not sys.stderr.isatty():
        yield lambda run: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=total)
        failed = 0

        def observe(run: RunReport) -> None:
            nonlocal failed
            failed += not run.passed
            state = f" · {failed} failed" if failed else ""
            progress.update(task, advance=1, description=f"{run.case} · {run.mode}{state}")

        yield observe
