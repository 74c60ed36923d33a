"""`discovercall cadence plan`, `guard` and `dispatch`: before anything is run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discovercall.cli.actions import (
    add_summary,
    github_client,
    own_run,
    own_workflow,
    run_attempt,
    set_outputs,
)
from discovercall.cli.cadence_options import (
    AcceptedAttempts,
    ApiBaseUrl,
    FormatOption,
    Image,
    Rehearsal,
    ReleaseSha,
    Repository,
    Root,
    check_out,
    named_catalog,
    write_json,
)
from discovercall.cli.environment import secret_values
from discovercall.cli.formats import Format, print_json
from discovercall.foundation.errors import InputError


def plan(
    release_sha: ReleaseSha,
    rehearsal: Rehearsal = False,
    date: Annotated[
        str | None, typer.Option(help="Day that names the results: today (UTC) by default, or one before.")
    ] = None,
    image: Image = None,
    out: Annotated[Path | None, typer.Option(help="File for the plan.")] = None,
    accept_spent_attempts: AcceptedAttempts = 0,
    api_base_url: ApiBaseUrl = None,
    root: Root = Path(),
    repository: Repository = None,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Check the release; print what would run, its bound and digest."""
    import time

    from discovercall.cadence.approval import gather_approval
    from discovercall.cadence.code import code_of
    from discovercall.cadence.foresight import check_foreseeable
    from discovercall.cadence.names import check_day, check_release_sha
    from discovercall.cadence.plan import make_plan, read_inputs, resolve_code_revision
    from discovercall.cadence.release import check_release
    from discovercall.foundation.revision import installed_revision
    from discovercall.report.approval import approval_summary

    check_release_sha(release_sha)
    check_out(out, root)
    inputs = read_inputs(root)
    today = time.strftime("%Y-%m-%d", time.gmtime())
    planned = make_plan(
        inputs,
        release_sha=release_sha,
        date=date or today,
        rehearsal=rehearsal,
        code=code_of(image, root),
        toolkit_revision=resolve_code_revision(installed_revision(), release_sha, rehearsal=rehearsal),
        catalog_url=named_catalog(api_base_url),
    )
    check_foreseeable(planned, secret_values())
    check_day(planned.date, today)
    github = github_client(repository)
    tags = check_release(github, release_sha, inputs.config.release_tags)
    approval = gather_approval(
        planned,
        github,
        tags,
        attempt=run_attempt(),
        accepted=accept_spent_attempts,
        own_run=own_run(),
        workflow=own_workflow(),
    )
    summary = approval_summary(approval)
    content = planned.file()
    if out is not None:
        write_json(out, content)
    set_outputs(
        plan=_compact(content),
        plan_digest=planned.digest,
        branch=planned.branch,
        most_billed_calls=str(planned.most_billed_calls),
    )
    add_summary(summary)
    if format is Format.JSON:
        print_json(
            {
                "schema_version": 1,
                **content,
                "approval": {k: v for k, v in approval.items() if k not in content},
            }
        )
    else:
        typer.echo(summary)


def guard(
    release_sha: ReleaseSha,
    rehearsal: Rehearsal = False,
    repository: Repository = None,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Say whether the release has had its run, or may have it now.

    Go on and skip are exit code 0, refuse is 1.
    """
    from discovercall.cadence.guard import Verdict
    from discovercall.cadence.names import branch_name, check_release_sha
    from discovercall.cadence.release import ask_guard

    check_release_sha(release_sha)
    branch = branch_name(release_sha, rehearsal=rehearsal)
    decision = ask_guard(github_client(repository), branch)
    skip = decision.verdict is not Verdict.GO
    set_outputs(skip="true" if skip else "false")
    url = decision.pull.url if decision.pull else None
    if format is Format.JSON:
        print_json(
            {
                "schema_version": 1,
                "branch": branch,
                "verdict": decision.verdict.value,
                "reason": decision.reason,
                "pull_request": url,
            }
        )
    else:
        typer.echo(f"{decision.verdict.value}: {decision.reason}{f' ({url})' if url else ''}")


def dispatch(
    release_sha: ReleaseSha,
    rehearsal: Rehearsal = False,
    workflow: Annotated[
        str, typer.Option(help="File name of the cadence workflow.")
    ] = "discover-call-cadence.yml",
    workflow_input: Annotated[
        list[str] | None,
        typer.Option("--input", help="Further input of the workflow, NAME=VALUE; repeatable."),
    ] = None,
    root: Root = Path(),
    repository: Repository = None,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Start the cadence workflow, once all publish workflows are done.

    It is started once, and only when every publish workflow has succeeded for the commit.
    """
    import time

    from discovercall.cadence.dispatching import Dispatched, check_published, dispatch_once
    from discovercall.cadence.names import check_release_sha
    from discovercall.cadence.plan import read_inputs

    check_release_sha(release_sha)
    further = _named_values(workflow_input or ())
    config = read_inputs(root).config
    github = github_client(repository)
    waiting = check_published(github, release_sha, config.publish_workflows, own_run())
    done = (
        Dispatched(False, waiting)
        if waiting
        else dispatch_once(
            github,
            release_sha,
            workflow=workflow,
            rehearsal=rehearsal,
            inputs=further,
            sleep=time.sleep,
        )
    )
    set_outputs(dispatched="true" if done.started else "false")
    if format is Format.JSON:
        print_json({"schema_version": 1, "dispatched": done.started, "reason": done.reason, "run": done.url})
    else:
        typer.echo(f"{'Dispatched' if done.started else 'Not dispatched'}: {done.reason}")


def _named_values(given: list[str] | tuple[str, ...]) -> dict[str, str]:
    from discovercall.cadence.dispatching import OWN_INPUTS

    values: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise InputError(f"{text!r} is not NAME=VALUE", where="--input")
        if name.strip().lower() in OWN_INPUTS:
            option = f"--{name.strip().lower().replace('_', '-')}"
            raise InputError(f"{name} is said by {option}", where="--input", fix=f"use {option} alone")
        if name in values:
            raise InputError(f"names {name} twice", where="--input")
        values[name] = value
    return values


def _compact(value: Any) -> str:
    from discovercall.foundation.json_text import compact

    return compact(value)
