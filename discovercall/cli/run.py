"""`discovercall run`: take a task set and an adapter through the capability API."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discovercall.cli.formats import Format, print_json
from discovercall.foundation.errors import EXIT_INTERRUPTED, InputError, RefusedError

if TYPE_CHECKING:
    from discovercall.contract.execution import RunResult
    from discovercall.contract.lane_options import LaneOptions
    from discovercall.contract.options import PreparedRun, RunOptions
    from discovercall.contract.plan import RunPlan


_LAST_SWEEP_S = 2.0


def run(
    output: Annotated[Path | None, typer.Option(help="File for the private records; must not exist.")] = None,
    lanes: Annotated[
        Path | None, typer.Option(help="Lane file (TOML): several lanes on one discovery per trial.")
    ] = None,
    out: Annotated[str | None, typer.Option(help="With --lanes: folder for one output per lane.")] = None,
    model: Annotated[str | None, typer.Option(help="Name of the model, as the records show it.")] = None,
    model_revision: Annotated[
        str | None,
        typer.Option(help="Immutable revision of the model; the lanes reference and pinned-model need one."),
    ] = None,
    lane: Annotated[
        str | None, typer.Option(help="reference, configured-model, pinned-model or current-model.")
    ] = None,
    tasks: Annotated[Path | None, typer.Option(help="Task set (JSON Lines).")] = None,
    adapter: Annotated[
        str | None, typer.Option(help="A bundled adapter's name (see `discovercall adapters`) or a program.")
    ] = None,
    adapter_arg: Annotated[
        list[str] | None, typer.Option(help="Argument for the adapter; repeatable, may begin with dashes.")
    ] = None,
    adapter_env: Annotated[
        list[str] | None, typer.Option(help="Name of a variable that the adapter may see; repeatable.")
    ] = None,
    adapter_revision: Annotated[
        str | None, typer.Option(help="Revision of the adapter; bundled ones know theirs.")
    ] = None,
    toolkit_revision: Annotated[
        str | None, typer.Option(help="Commit of discovercall; must agree with the installed one.")
    ] = None,
    trials: Annotated[int, typer.Option(help="Trials per task, 1 to 100.")] = 3,
    limit: Annotated[int, typer.Option(help="Discovery results per query, 1 to 100.")] = 10,
    execute: Annotated[bool, typer.Option("--execute", help="Call the tools. Calls are billed.")] = False,
    adapter_timeout_ms: Annotated[int, typer.Option(help="Time limit of one decision.")] = 120_000,
    adapter_memory_mib: Annotated[
        int, typer.Option(help="Resident memory of one decision's processes, in MiB.")
    ] = 2048,
    adapter_user: Annotated[
        str | None, typer.Option(help="Account that adapters run as (needs root); this one's when not given.")
    ] = None,
    concurrency: Annotated[int, typer.Option(help="Trials under way at once.")] = 4,
    requests_per_minute: Annotated[
        float | None, typer.Option(help="Most API requests per minute, retries included.")
    ] = None,
    max_billed_calls: Annotated[
        int | None, typer.Option(help="Most billed calls; all planned trials when not given.")
    ] = None,
    api_base_url: Annotated[
        str | None, typer.Option(help="Base URL of the capability API (or QVERIS_BASE_URL).")
    ] = None,
    api_key_file: Annotated[
        str | None,
        typer.Option(help="File with the catalog key, or - for standard input (or QVERIS_API_KEY)."),
    ] = None,
    max_credits: Annotated[
        float | None, typer.Option(help="Most credits that calls may cost, where the API reports prices.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that ended early; without one, start it.")
    ] = False,
    plan_only: Annotated[
        bool, typer.Option("--plan-only", help="Print the plan, its bound and its digest; run nothing.")
    ] = False,
    plan_digest: Annotated[
        str | None, typer.Option(help="Run only the plan with this digest (from --plan-only).")
    ] = None,
    sandbox: Annotated[
        bool, typer.Option("--sandbox", help="Rehearse on the embedded gateway: no key, no network.")
    ] = False,
    gateway: Annotated[
        Path | None,
        typer.Option(help="gateway.toml: run over these MCP servers instead of an API.", metavar="FILE"),
    ] = None,
    format: Annotated[Format, typer.Option(help="How --plan-only prints.")] = Format.HUMAN,
    allow_tracked_output: Annotated[
        bool, typer.Option("--allow-tracked-output", help="Allow an output that git would track.")
    ] = False,
) -> None:
    """Run lanes over a task set; keep private records and a ledger.

    A trial discovers, selects, inspects, parameterizes and, with --execute, calls.
    """
    from discovercall.contract.options import RunOptions, prepare_run
    from discovercall.foundation.revision import installed_revision

    flags = {
        "model": model,
        "model_revision": model_revision,
        "lane": lane,
        "adapter": adapter,
        "adapter_args": tuple(adapter_arg or ()),
        "adapter_env": tuple(adapter_env or ()),
        "adapter_revision": adapter_revision,
    }
    options = RunOptions(
        lanes=_lanes(output, lanes, out, flags),
        tasks=tasks,
        toolkit_revision=toolkit_revision,
        trials=trials,
        limit=limit,
        execute=execute,
        adapter_timeout_ms=adapter_timeout_ms,
        adapter_memory_mib=adapter_memory_mib,
        adapter_user=adapter_user,
        concurrency=concurrency,
        requests_per_minute=requests_per_minute,
        max_billed_calls=max_billed_calls,
        max_credits=max_credits,
        api_base_url=api_base_url,
        api_key_file=api_key_file,
        allow_tracked_output=allow_tracked_output,
        sandbox=sandbox,
        gateway=gateway,
        api_definition_sha256=None if gateway is None else _definition_sha256(gateway),
        resume=resume,
    )
    prepared = prepare_run(options, os.environ, installed_revision())
    if plan_digest is not None and plan_digest != prepared.plan.digest:
        raise RefusedError(
            f"the plan has the digest {prepared.plan.digest}, approved was {plan_digest}",
            where="--plan-digest",
            fix="see with --plan-only what changed",
        )
    if plan_only:
        _print_plan(prepared.plan, format)
        return
    result = carry_out(prepared, options)
    if result.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)


def _lanes(
    output: Path | None, lanes: Path | None, out: str | None, flags: dict[str, Any]
) -> tuple[LaneOptions, ...]:
    from discovercall.contract.lane_options import LaneOptions, read_lanes

    if lanes is None:
        if out is not None:
            raise InputError("goes with --lanes", where="--out", fix="name the file with --output")
        if output is None:
            raise InputError("is required", where="--output", fix="name a new file for the private records")
        return (LaneOptions(output=output, **flags),)
    for flag, value in flags.items():
        if value:
            raise InputError("is said in the lane file", where=f"--{flag.replace('_', '-').rstrip('s')}")
    if output is not None or not out:
        raise InputError("names the folder of the outputs with --lanes", where="--out")
    return tuple(read_lanes(lanes, Path(out)))


def _definition_sha256(gateway: Path) -> str:
    from discovercall.gateway.config import load_config
    from discovercall.gateway.definition import definition_sha256

    return definition_sha256(load_config(gateway, os.environ))


def _print_plan(plan: RunPlan, format: Format) -> None:
    from discovercall.report.plan import plan_lines, plan_report

    if format is Format.JSON:
        print_json(plan_report(plan))
    else:
        typer.echo("\n".join(plan_lines(plan_report(plan))))


def carry_out(prepared: PreparedRun, options: RunOptions, key: str | None = None) -> RunResult:
    """Run a prepared plan with announcement, progress and outcome on the terminal.

    Args:
        key: the catalog key, where it has been read; None to read it as the options say.

    Raises:
        SpendLimitError: a spend limit ended the run early.
        JournalLost: somebody removed or changed the journal meanwhile.
    """
    from discovercall.adapter.family import become_subreaper
    from discovercall.adapter.isolation import hide_memory
    from discovercall.cli.progress import announce, conclude, observer_for
    from discovercall.cli.sandbox import connected
    from discovercall.contract.execution import execute_run

    hide_memory()
    with connected(prepared, options, os.environ, key) as connection:
        nursery = become_subreaper()
        announce(prepared, connection.exposure)
        try:
            with observer_for(prepared.plan, resume=options.resume) as watch:
                result = execute_run(prepared, connection, watch, resume=options.resume)
        finally:
            nursery.sweep(_LAST_SWEEP_S)
    conclude(prepared, result, watch)
    if result.lost is not None:
        raise result.lost
    if result.limit is not None:
        raise result.limit
    return result
