"""From a command line's words to a checked plan; nothing is sent or written here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from discovercall.adapter.isolation import AdapterUser, check_reachable, find_user
from discovercall.contract.journal import LANES_JOURNAL, journal_path
from discovercall.contract.lane_options import LaneOptions, PreparedLane, prepare_lane
from discovercall.contract.outputs import check_output
from discovercall.contract.plan import GATEWAY_BASE_URL, SANDBOX_BASE_URL, USUAL_ADAPTER_MEMORY_MIB, RunPlan
from discovercall.contract.provenance import resolve_toolkit_revision
from discovercall.contract.tasks import TaskSet, load_task_set
from discovercall.foundation.base_url import is_loopback, normalize_base_url
from discovercall.foundation.ecmascript import MAX_SAFE_INTEGER
from discovercall.foundation.errors import InputError
from discovercall.foundation.resources import resource_path
from discovercall.foundation.revision import ToolkitRevision

BASE_URL_VARIABLE = "QVERIS_BASE_URL"
DEFAULT_BASE_URL = "https://qveris.ai/api/v1"
DEFAULT_TASKS = ("tasks", "v4.jsonl")
_MOST_MIB = 2**40


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What `discovercall run` was told; None where nothing was said.

    Args:
        lanes: one or more; several go through each trial on one discovery.
        gateway: configuration of MCP servers that the embedded gateway stands in front of.
        api_definition_sha256: digest of that configuration and of its index, for the plan.
    """

    lanes: tuple[LaneOptions, ...]
    tasks: Path | None = None
    toolkit_revision: str | None = None
    trials: int = 3
    limit: int = 10
    execute: bool = False
    adapter_timeout_ms: int = 120_000
    adapter_memory_mib: int = USUAL_ADAPTER_MEMORY_MIB
    adapter_user: str | None = None
    concurrency: int = 4
    requests_per_minute: float | None = None
    max_billed_calls: int | None = None
    max_credits: float | None = None
    api_base_url: str | None = None
    api_key_file: str | None = None
    allow_tracked_output: bool = False
    sandbox: bool = False
    gateway: Path | None = None
    api_definition_sha256: str | None = None
    resume: bool = False


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A plan that passed every check that needs no network.

    Args:
        environments: what each lane's adapter gets to see, in the order of the plan's lanes.
        adapter_user: the account of the adapters; None for this process's own.
        warnings: what to say before the first request.
    """

    plan: RunPlan
    base_url: str
    environments: tuple[Mapping[str, str], ...]
    adapter_user: AdapterUser | None
    warnings: tuple[str, ...]


def prepare_run(
    options: RunOptions, environment: Mapping[str, str], installed: ToolkitRevision
) -> PreparedRun:
    """Check everything that can be checked before the first request.

    Args:
        options: the command line.
        environment: the harness's environment.
        installed: revision of the running code.

    Raises:
        InputError: the first thing that is wrong.
    """
    _check_numbers(options)
    base_url = _base_url(options, environment)
    tasks_path = options.tasks or (resource_path(*DEFAULT_TASKS) if options.sandbox else None)
    if tasks_path is None:
        raise InputError("is required", where="--tasks", fix="name a task set, as tasks/v4.jsonl")
    task_set = load_task_set(tasks_path)
    provenance = resolve_toolkit_revision(
        installed,
        given=options.toolkit_revision,
        github_sha=environment.get("GITHUB_SHA"),
        rehearsal=base_url == SANDBOX_BASE_URL or is_loopback(base_url),
    )
    lanes = [
        prepare_lane(
            lane,
            tasks_path=tasks_path,
            environment=environment,
            toolkit_revision=provenance.toolkit_revision,
            sandbox=options.sandbox or options.gateway is not None,
        )
        for lane in options.lanes
    ]
    if not all(lane.output.name for lane in options.lanes):
        raise InputError("must name a file", where="--output")
    journal = _journal(options.lanes)
    _check_outputs(options, lanes, journal, tasks_path)
    warnings = [provenance.warning] if provenance.warning else []
    return PreparedRun(
        plan=_plan(options, task_set, lanes, base_url, provenance.toolkit_revision),
        base_url=base_url,
        environments=tuple(lane.environment for lane in lanes),
        adapter_user=_adapter_user(options.adapter_user, lanes),
        warnings=(*warnings, *(warning for lane in lanes for warning in lane.warnings)),
    )


def _plan(
    options: RunOptions,
    task_set: TaskSet,
    lanes: Sequence[PreparedLane],
    base_url: str,
    toolkit_revision: str,
) -> RunPlan:
    planned_calls = len(task_set.tasks) * options.trials * len(lanes) if options.execute else 0
    return RunPlan(
        task_set=task_set,
        lanes=tuple(lane.lane for lane in lanes),
        trials=options.trials,
        discovery_limit=options.limit,
        execute=options.execute,
        api_base_url=base_url,
        toolkit_revision=toolkit_revision,
        adapter_timeout_ms=options.adapter_timeout_ms,
        max_billed_calls=planned_calls if options.max_billed_calls is None else options.max_billed_calls,
        max_credits=options.max_credits,
        journal=_journal(options.lanes),
        api_definition_sha256=options.api_definition_sha256,
        adapter_memory_mib=options.adapter_memory_mib,
        adapter_user=options.adapter_user or None,
    )


def _adapter_user(name: str | None, lanes: Sequence[PreparedLane]) -> AdapterUser | None:
    if not name:
        return None
    user = find_user(name)
    for lane in lanes:
        check_reachable(user, [part for part in lane.lane.command if part.startswith("/")])
    return user


def _journal(lanes: Sequence[LaneOptions]) -> Path:
    output = lanes[0].output
    return journal_path(output) if len(lanes) == 1 else output.with_name(LANES_JOURNAL)


def _check_outputs(
    options: RunOptions, lanes: Sequence[PreparedLane], journal: Path, tasks_path: Path
) -> None:
    inputs = [tasks_path, *(Path(lane.lane.command[0]) for lane in lanes)]
    if options.api_key_file not in (None, "-"):
        inputs.append(Path(str(options.api_key_file)))
    for lane in lanes:
        check_output(
            lane.lane.output,
            journal,
            inputs,
            allow_tracked=options.allow_tracked_output,
            resume=options.resume,
        )


def _check_numbers(options: RunOptions) -> None:
    for flag, value, highest in (
        ("--trials", options.trials, 100),
        ("--limit", options.limit, 100),
        ("--concurrency", options.concurrency, 256),
    ):
        if not 1 <= value <= highest:
            raise InputError(f"must be 1 to {highest}, not {value}", where=flag)
    for flag, amount, most in (
        ("--adapter-timeout-ms", options.adapter_timeout_ms, MAX_SAFE_INTEGER),
        ("--adapter-memory-mib", options.adapter_memory_mib, _MOST_MIB),
    ):
        if not 1 <= amount <= most:
            raise InputError(f"must be 1 to {most}", where=flag)
    if options.max_billed_calls is not None and options.max_billed_calls < 0:
        raise InputError("must not be negative", where="--max-billed-calls")
    for flag, rate in (
        ("--requests-per-minute", options.requests_per_minute),
        ("--max-credits", options.max_credits),
    ):
        if rate is not None and not (math.isfinite(rate) and rate > 0):
            raise InputError("must be a number above 0", where=flag)


def _base_url(options: RunOptions, environment: Mapping[str, str]) -> str:
    if options.sandbox or options.gateway is not None:
        own = "--sandbox" if options.sandbox else "--gateway"
        if options.api_base_url is not None or options.api_key_file is not None:
            raise InputError(f"{own} brings its own API", where="--api-base-url", fix="give one of them")
        if options.sandbox and options.gateway is not None:
            raise InputError("goes without --sandbox", where="--gateway", fix="give one of them")
        return SANDBOX_BASE_URL if options.sandbox else GATEWAY_BASE_URL
    if options.api_base_url is not None:  # an empty one is refused: it must not lead to the default
        return normalize_base_url(options.api_base_url)
    return normalize_base_url(environment.get(BASE_URL_VARIABLE) or DEFAULT_BASE_URL)
