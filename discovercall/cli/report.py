"""`discovercall report`: results that people can read, from files that validate."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discovercall.cli.formats import print_json
from discovercall.foundation.errors import EXIT_NO
from discovercall.foundation.shown import shown_line

if TYPE_CHECKING:
    from discovercall.report.gateway import GatewaySnapshot
    from discovercall.report.results import Refused, ResultsReport
    from discovercall.report.scenarios import ScenarioReport

_BASELINE = Path("gateway", "snapshots", "baseline.json")
_SCOREBOARD = Path("gateway", "BENCHMARKS.md")
_SCENARIOS = "invocation"


class PageFormat(StrEnum):
    """How the report is written: as other commands print, where `human` is Markdown, or as a page."""

    HUMAN = "human"
    JSON = "json"
    CONCISE = "concise"
    MARKDOWN = "markdown"
    HTML = "html"


_BY_ENDING = {".html": PageFormat.HTML, ".md": PageFormat.MARKDOWN, ".json": PageFormat.JSON}


def report(
    results: Annotated[
        Path | None, typer.Argument(help="A results folder; that of this checkout if not given.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="File to write; its ending says the format where none is given.")
    ] = None,
    trend: Annotated[
        bool, typer.Option("--trend", help="Only whether the newest releases have lost successes.")
    ] = False,
    tasks: Annotated[
        Path | None, typer.Option(help="Folder of task sets vN.jsonl; ours if not given.")
    ] = None,
    policy: Annotated[Path | None, typer.Option(help="Publication policy; ours if not given.")] = None,
    format: Annotated[
        PageFormat | None,
        typer.Option(help="human is Markdown, concise one line, html a file on its own."),
    ] = None,
) -> None:
    """Show published results: headline, tasks, failures, trend.

    Every pair is validated first. One that doesn't validate is named, nothing in it is shown, and the exit
    status is 1. Rehearsals are marked and in no headline or trend.
    """
    from discovercall.foundation.errors import InputError
    from discovercall.foundation.resources import resource_path

    folder = resource_path("results") if results is None else results
    if results is None and not folder.is_dir():
        raise InputError("is required outside of a checkout", where="results", fix="name a folder of results")
    if not folder.is_dir():
        raise InputError("is no folder", where=str(folder), fix="name a folder of published results")
    for kind in (format, _ending(output)):
        if trend and kind in (PageFormat.HTML, PageFormat.CONCISE):
            raise InputError(f"is not written as {kind.value}", where="--trend", fix="use markdown or json")
    task_folder = tasks or resource_path("tasks")
    policy_file = policy or resource_path("publication-policy.json")
    if output is not None:
        _check_output(output, folder, (policy_file, *task_folder.glob("*")))
    kind = format or _ending(output) or (PageFormat.HUMAN if output is None else PageFormat.HTML)
    found = _gather(folder, task_folder, policy_file)
    _write(found, kind, output, trend=trend, base=_base(folder, output))
    for refused in found.refused:
        typer.echo(f"refused  {shown_line(f'{refused.file}: {refused.why}')}", err=True)
    if found.refused:
        raise typer.Exit(EXIT_NO)


def _ending(output: Path | None) -> PageFormat | None:
    return None if output is None else _BY_ENDING.get(output.suffix.lower())


def _check_output(output: Path, folder: Path, inputs: Iterable[Path]) -> None:
    from discovercall.foundation.errors import InputError
    from discovercall.foundation.files import check_replaceable, same_file

    for path in (*inputs, *folder.glob("*.jsonl"), *folder.rglob("*.json"), folder / _SCOREBOARD):
        if same_file(output, path):
            raise InputError(f"{output} is also an input", where="--output", fix="name another file")
    check_replaceable(output, "--output")


def _gather(folder: Path, tasks: Path, policy: Path) -> ResultsReport:
    from dataclasses import replace

    from discovercall.publication.policy import load_policy
    from discovercall.publication.results import load_task_sets, results_report

    found = results_report(folder, load_policy(policy), load_task_sets(tasks))
    refused = list(found.refused)
    return replace(
        found,
        gateway=_gateway(folder, refused),
        scenarios=_scenarios(folder, refused),
        refused=tuple(refused),
    )


def _gateway(folder: Path, refused: list[Refused]) -> GatewaySnapshot | None:
    path = folder / _BASELINE
    if not os.path.lexists(path):
        return None
    from discovercall.evals.soundness import read_sound_result
    from discovercall.foundation.errors import DiscovercallError, InputError
    from discovercall.report.gateway import gateway_of

    scoreboard = _SCOREBOARD.as_posix() if (folder / _SCOREBOARD).is_file() else None
    try:
        return gateway_of(read_sound_result(path), _BASELINE.as_posix(), scoreboard)
    except DiscovercallError as error:
        refused.append(_refusal(path, folder, error))
    except (
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:  # families' members have no fixed shape
        refused.append(_refusal(path, folder, InputError(f"a family is of an unknown shape ({error})")))
    return None


def _scenarios(folder: Path, refused: list[Refused]) -> tuple[ScenarioReport, ...]:
    # A bundle is a link to a hidden folder.
    found_paths = (folder / _SCENARIOS).glob("*/report.json")
    paths = sorted(path for path in found_paths if not path.parent.name.startswith("."))
    if not paths:
        return ()
    from discovercall.foundation.errors import DiscovercallError
    from discovercall.invocation.benchmark import read_report
    from discovercall.report.scenarios import scenarios_of

    found = []
    for path in paths:
        try:
            value = read_report(path).model_dump(mode="json")
        except DiscovercallError as error:
            refused.append(_refusal(path, folder, error))
        else:
            found.append(scenarios_of(value, path.relative_to(folder).as_posix()))
    return tuple(sorted(found, key=lambda one: one.generated_at, reverse=True))


def _refusal(path: Path, folder: Path, error: Exception) -> Refused:
    from discovercall.report.results import refusal

    why = re.sub(rf"{re.escape(str(path))}(?::\d+)?: ", "", str(error), count=1)
    return refusal(path.relative_to(folder).as_posix(), why)


def _base(folder: Path, output: Path | None) -> str:
    """The way from where the report is read to the folder, as the beginning of a link."""
    from urllib.parse import quote

    start = Path.cwd() if output is None else output.parent
    way = Path(os.path.relpath(folder.resolve(), start.resolve())).as_posix()
    return "" if way == "." else f"{quote(way)}/"


def _write(found: ResultsReport, kind: PageFormat, output: Path | None, *, trend: bool, base: str) -> None:
    from dataclasses import asdict

    if kind is PageFormat.JSON:
        value: Any = asdict(found)
        if trend:
            value = {name: value[name] for name in ("schema_version", "refused", "trends")}
        if output is None:
            print_json(value)
            return
        from discovercall.foundation.json_text import pretty

        text = pretty(value) + "\n"
    elif kind is PageFormat.HTML:
        from discovercall.report.html import results_html

        text = results_html(found, base)
    elif kind is PageFormat.CONCISE:
        from discovercall.report.concise import results_line

        text = results_line(found) + "\n"
    else:
        from discovercall.report.results_markdown import results_markdown, trends_markdown

        text = trends_markdown(found) if trend else results_markdown(found, base)
    if output is None:
        typer.echo(text, nl=False)
        return
    from discovercall.foundation.errors import InputError
    from discovercall.foundation.files import write_atomic

    try:
        write_atomic(output, text.encode(errors="replace"), mode=0o644)
    except OSError as error:
        raise InputError(f"{output} cannot be written ({error.strerror})", where="--output") from None
    as_what = "" if _ending(output) is kind else f", as {kind.value}"
    typer.echo(f"Wrote {shown_line(str(output))}{as_what}")
