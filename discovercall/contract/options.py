"""From a command line's words to a checked plan; nothing is sent or written here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from discovercall.adapter.bundled import BundledAdapter, bundled_adapter
from discovercall.adapter.environment import adapter_environment, check_requested_names
from discovercall.adapter.startable import check_startable
from discovercall.capability.base_url import is_loopback, normalize_base_url
from discovercall.contract.journal import journal_path
from discovercall.contract.outputs import check_output
from discovercall.contract.plan import LANES, SANDBOX_BASE_URL, Lane, RunPlan
from discovercall.contract.provenance import Provenance, resolve_toolkit_revision
from discovercall.contract.tasks import load_task_set
from discovercall.foundation.ecmascript import is_safe
from discovercall.foundation.errors import InputError
from discovercall.foundation.resources import resource_path
from discovercall.foundation.revision import ToolkitRevision

BASE_URL_VARIABLE = "QVERIS_BASE_URL"
DEFAULT_BASE_URL = "https://qveris.ai/api/v1"
DEFAULT_TASKS = ("tasks", "v4.jsonl")
UNREPORTED = "unreported"
_REVISION_REQUIRED = ("reference", "pinned-model")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What `discovercall run` was told; None where nothing was said."""

    output: Path
    model: str | None = None
    model_revision: str | None = None
    lane: str | None = None
    tasks: Path | None = None
    adapter: str | None = None
    adapter_args: tuple[str, ...] = ()
    adapter_env: tuple[str, ...] = ()
    adapter_revision: str | None = None
    toolkit_revision: str | None = None
    trials: int = 3
    limit: int = 10
    execute: bool = False
    adapter_timeout_ms: int = 120_000
    concurrency: int = 4
    requests_per_minute: float | None = None
    max_billed_calls: int | None = None
    api_base_url: str | None = None
    api_key_file: str | None = None
    allow_tracked_output: bool = False
    sandbox: bool = False
    max_credits: float | None = None
    resume: bool = False


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A plan that passed every check that needs no network, and what to say about it first."""

    plan: RunPlan
    base_url: str
    adapter_environment: dict[str, str]
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
    bundled = bundled_adapter(options.adapter or "")
    model, lane = _model_and_lane(options, bundled)
    tasks_path = options.tasks or (resource_path(*DEFAULT_TASKS) if options.sandbox else None)
    if tasks_path is None:
        raise InputError("is required", where="--tasks")
    task_set = load_task_set(tasks_path)
    declared = bundled.environment if bundled else ()
    requested = check_requested_names(options.adapter_env)
    child_environment = adapter_environment(environment, declared, requested)
    if bundled is not None:
        command = bundled.command(tasks_path, options.adapter_args)
    else:
        command = check_startable(
            [options.adapter or "", *options.adapter_args], child_environment.get("PATH")
        )
    rehearsal = base_url == SANDBOX_BASE_URL or is_loopback(base_url)
    provenance = resolve_toolkit_revision(
        installed,
        given=options.toolkit_revision,
        github_sha=environment.get("GITHUB_SHA"),
        rehearsal=rehearsal,
    )
    inputs = [tasks_path, Path(command[0])]
    if options.api_key_file not in (None, "-"):
        inputs.append(Path(str(options.api_key_file)))
    journal = journal_path(options.output)
    check_output(
        options.output,
        journal,
        inputs,
        allow_tracked=options.allow_tracked_output,
        resume=options.resume,
    )
    adapter_revision = _adapter_revision(options, bundled, provenance)
    planned_calls = len(task_set.tasks) * options.trials if options.execute else 0
    plan = RunPlan(
        task_set=task_set,
        lanes=(
            Lane(
                lane=lane,
                model=model,
                model_revision=_model_revision(options, lane, adapter_revision if bundled else None),
                adapter_revision=adapter_revision,
                command=tuple(command),
                output=options.output,
            ),
        ),
        trials=options.trials,
        discovery_limit=options.limit,
        execute=options.execute,
        api_base_url=base_url,
        toolkit_revision=provenance.toolkit_revision,
        max_billed_calls=planned_calls if options.max_billed_calls is None else options.max_billed_calls,
        max_credits=options.max_credits,
        adapter_timeout_ms=options.adapter_timeout_ms,
        journal=journal,
    )
    warnings = [provenance.warning] if provenance.warning else []
    if bundled is None:
        warnings += _relative_paths(options.adapter_args)
    return PreparedRun(plan, base_url, child_environment, tuple(warnings))


def _check_numbers(options: RunOptions) -> None:
    for flag, value, highest in (
        ("--trials", options.trials, 100),
        ("--limit", options.limit, 100),
        ("--concurrency", options.concurrency, 256),
    ):
        if not 1 <= value <= highest:
            raise InputError(f"must be 1 to {highest}, not {value}", where=flag)
    if options.adapter_timeout_ms < 1:
        raise InputError("must be at least 1", where="--adapter-timeout-ms")
    if options.max_billed_calls is not None and options.max_billed_calls < 0:
        raise InputError("must not be negative", where="--max-billed-calls")
    for flag, amount in (
        ("--requests-per-minute", options.requests_per_minute),
        ("--max-credits", options.max_credits),
    ):
        if amount is not None and not (math.isfinite(amount) and amount > 0):
            raise InputError("must be a number above 0", where=flag)


def _base_url(options: RunOptions, environment: Mapping[str, str]) -> str:
    if options.sandbox:
        if options.api_base_url is not None or options.api_key_file is not None:
            raise InputError("--sandbox brings its own API", where="--api-base-url", fix="give one of them")
        return SANDBOX_BASE_URL
    given = options.api_base_url or environment.get(BASE_URL_VARIABLE) or DEFAULT_BASE_URL
    return normalize_base_url(given)


def _model_and_lane(options: RunOptions, bundled: BundledAdapter | None) -> tuple[str, str]:
    model, lane = options.model, options.lane
    if options.sandbox and bundled is not None:
        model = bundled.name if model is None else model
        lane = bundled.lane if lane is None else lane
    for flag, value in (("--model", model), ("--lane", lane), ("--adapter", options.adapter)):
        if value is None:
            raise InputError("is required", where=flag)
    _check_name("--model", model)
    if lane not in LANES:
        raise InputError(f"{lane!r} is no lane", where="--lane", fix=f"the lanes are {', '.join(LANES)}")
    return str(model), str(lane)


def _check_name(flag: str, value: str | None) -> None:
    if not is_safe(value):
        raise InputError(
            "must have 1 to 256 characters, not blank, no control or format characters", where=flag
        )


def _model_revision(options: RunOptions, lane: str, bundled_revision: str | None) -> str:
    if options.model_revision is not None:
        _check_name("--model-revision", options.model_revision)
        return options.model_revision
    if lane not in _REVISION_REQUIRED:
        return UNREPORTED
    if lane == "reference" and options.sandbox and bundled_revision is not None:
        return bundled_revision  # the adapter is the whole model
    raise InputError(f"is required for the lane {lane}", where="--model-revision")


def _adapter_revision(options: RunOptions, bundled: BundledAdapter | None, provenance: Provenance) -> str:
    if options.adapter_revision is not None:
        _check_name("--adapter-revision", options.adapter_revision)
        return options.adapter_revision
    if bundled is None:
        raise InputError(
            "is required for an adapter of your own",
            where="--adapter-revision",
            fix="name its commit or version, so that the record says what was measured",
        )
    return f"{provenance.toolkit_revision}/{bundled.name}"


def _relative_paths(arguments: tuple[str, ...]) -> list[str]:
    return [
        f"--adapter-arg {argument}: adapters run in an empty folder of their own; give the file's full path"
        for argument in arguments
        if not argument.startswith("/") and Path(argument).is_file()
    ]
