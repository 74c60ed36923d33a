"""`discovercall validate`: check what is, or is to be, public."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discovercall.cli.formats import Format, print_json
from discovercall.foundation.errors import EXIT_NO, EXIT_USAGE

if TYPE_CHECKING:
    from discovercall.publication.repository import Findings

_SHOWN = 40


def validate(
    tasks: Annotated[Path | None, typer.Option(help="A task set: alone, or that of a pair.")] = None,
    runs: Annotated[Path | None, typer.Option(help="Public records of a pair: <stem>.runs.jsonl.")] = None,
    summary: Annotated[Path | None, typer.Option(help="Summary of a pair: <stem>.summary.json.")] = None,
    policy: Annotated[
        Path | None, typer.Option(help="A publication policy: alone, or that of a pair.")
    ] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="First finish publications that were cut off, then validate.")
    ] = False,
    format: Annotated[Format, typer.Option(help="What is printed.")] = Format.HUMAN,
) -> None:
    """Check committed files, or a task set, a policy, or a pair.

    Without options: every task set and its digest, the policy, the synthetic fixture, and every published
    pair, re-scored. A pair needs --tasks, --runs, --summary and --policy.
    """
    from discovercall.foundation.resources import resource_path
    from discovercall.publication.repository import Findings, check_repository

    given = {"--tasks": tasks, "--runs": runs, "--summary": summary, "--policy": policy}
    repaired: list[str] = []
    if repair:
        folder = runs.parent if runs is not None else resource_path("results")
        repaired = _repair(folder)
    if any(given.values()):
        findings = Findings()
        _check_given(given, findings)
    else:
        findings = check_repository(resource_path())
    _print(findings, repaired, format)
    if findings.errors:
        refused = any(error.exit_code == EXIT_NO for error in findings.errors)
        raise typer.Exit(EXIT_NO if refused else EXIT_USAGE)


def _check_given(given: dict[str, Path | None], findings: Findings) -> None:
    from discovercall.contract.tasks import load_task_set
    from discovercall.foundation.errors import InputError
    from discovercall.publication.pair import pair_of
    from discovercall.publication.policy import load_policy
    from discovercall.publication.repository import check_pair, check_policy

    tasks, runs, summary, policy = given.values()
    if runs is None and summary is None:
        if tasks is not None:
            findings.add(_check_tasks, tasks)
        if policy is not None:
            findings.add(check_policy, policy, [])
        return
    if tasks is None or runs is None or summary is None or policy is None:
        missing = [option for option, value in given.items() if value is None]
        raise InputError("is missing", where=missing[0], fix=f"a pair needs {', '.join(given)}")
    pair = pair_of(runs, summary)
    findings.add(lambda: check_pair(pair, load_policy(policy), load_task_set(tasks)))


def _check_tasks(path: Path) -> list[dict[str, Any]]:
    from discovercall.contract.tasks import load_task_set

    task_set = load_task_set(path)
    count = len(task_set.tasks)
    return [{"kind": "task set", "file": str(path), "tasks": count, "sha256": task_set.sha256}]


def _repair(folder: Path) -> list[str]:
    from discovercall.publication.transaction import interrupted, repair

    if not folder.is_dir():
        return []
    return [str(pair.runs) for pair in interrupted(folder) if repair(pair)]


def _print(findings: Findings, repaired: list[str], format: Format) -> None:
    if format is Format.JSON:
        print_json(
            {
                "schema_version": 1,
                "ok": not findings.errors,
                "repaired": repaired,
                "checked": findings.checked,
                "refused": findings.refused,
            }
        )
        return
    from discovercall.foundation.shown import shown_line

    for file in repaired:
        typer.echo(f"repaired  {shown_line(file)}: its publication, which was cut off, is finished or undone")
    for entry in findings.checked:
        details = ", ".join(
            f"{name.replace('_', ' ')} {value}"
            for name, value in entry.items()
            if name not in ("kind", "file")
        )
        typer.echo(f"valid  {shown_line(str(entry['file']))}: {entry['kind']}, {shown_line(details)}")
    for line in findings.refused[:_SHOWN]:
        typer.echo(f"refused  {shown_line(line)}", err=True)
    if len(findings.refused) > _SHOWN:
        typer.echo(f"refused  … and {len(findings.refused) - _SHOWN} more", err=True)
