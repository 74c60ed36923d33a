"""The measuring job: both lanes on one discovery, then the sanitized bundle, and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from discovercall.adapter.bundled import BundledAdapter, bundled_adapter
from discovercall.cadence.bundle import Spent, read_bundle, write_manifest
from discovercall.cadence.evidence import (
    check_provenance,
    configured_revisions,
    pair_names,
    read_results,
    reference_revisions,
)
from discovercall.cadence.foresight import check_foreseeable
from discovercall.cadence.names import check_day
from discovercall.cadence.plan import STAND_IN, CadencePlan
from discovercall.contract.execution import RunResult
from discovercall.contract.lane_options import LaneOptions
from discovercall.contract.options import PreparedRun, RunOptions, prepare_run
from discovercall.contract.plan import SANDBOX_BASE_URL
from discovercall.foundation.errors import InputError, RefusedError
from discovercall.foundation.jsonl import read_objects
from discovercall.foundation.revision import ToolkitRevision
from discovercall.publication.pair import Pair
from discovercall.publication.publishing import prepare_pair, publish

if TYPE_CHECKING:
    from discovercall.cadence.evidence import Results

CONCURRENCY = 4
_LANE_OUTPUTS = ("reference.jsonl", "configured-model.jsonl")


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where a run happens.

    Attributes:
        private: folder for the raw records; they never leave it.
        bundle: folder for the bundle, new or empty.
        environment: the harness's environment.
        installed: revision of the running code.
        resume: go on with a run that ended early.
    """

    private: Path
    bundle: Path
    environment: Mapping[str, str]
    installed: ToolkitRevision
    api_key_file: str | None = None
    resume: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """A finished bundle."""

    results: Results
    spent: Spent
    sha256: str


def model_keys(adapter: BundledAdapter) -> list[str]:
    """Names of the variables that hold an adapter's key, by its own declaration."""
    return [name for name in adapter.environment if name.endswith("_API_KEY")]


def uses_stand_in(plan: CadencePlan, environment: Mapping[str, str]) -> bool:
    """Whether `first_result` stands in for the configured model: in a rehearsal without a model key."""
    if not plan.rehearsal:
        return False
    adapter = _adapter(plan.inputs.config.configured_model.adapter)
    return not any(environment.get(name, "").strip() for name in model_keys(adapter))


def run_options(plan: CadencePlan, place: Workplace) -> RunOptions:
    """The plan as the runner takes it.

    Raises:
        InputError: an adapter that doesn't come along.
    """
    config = plan.inputs.config
    model = config.configured_model
    stand_in = uses_stand_in(plan, place.environment)
    adapter = STAND_IN if stand_in else model.adapter
    reference = LaneOptions(
        output=place.private / _LANE_OUTPUTS[0],
        lane="reference",
        model=config.reference.model,
        model_revision=config.reference.model_revision,
        adapter=_adapter(config.reference.adapter).name,
    )
    configured = LaneOptions(
        output=place.private / _LANE_OUTPUTS[1],
        lane="configured-model",
        model=model.model,
        model_revision=model.model_revision,
        adapter=_adapter(adapter).name,
        adapter_args=()
        if stand_in
        else ("--cli-version", model.cli_version, "--effort", model.reasoning_effort),
    )
    return RunOptions(
        lanes=(reference, configured),
        tasks=plan.inputs.tasks_path,
        toolkit_revision=plan.toolkit_revision,
        trials=config.trials,
        limit=config.discovery_limit,
        execute=True,
        concurrency=CONCURRENCY,
        max_billed_calls=plan.most_billed_calls,
        max_credits=config.max_credits,
        api_base_url=None if plan.rehearsal else plan.api_base_url,
        api_key_file=None if plan.rehearsal else place.api_key_file,
        allow_tracked_output=True,  # checked here: the folder must lie outside the checkout
        sandbox=plan.rehearsal,
        resume=place.resume,
    )


def _adapter(file_name: str) -> BundledAdapter:
    adapter = bundled_adapter(file_name.removesuffix(".py"))
    if adapter is None:
        raise InputError(f"adapters/{file_name} does not come with this installation", where="cadence.json")
    return adapter


def prepare(
    plan: CadencePlan, place: Workplace, secrets: Iterable[str] = ()
) -> tuple[PreparedRun, RunOptions]:
    """Check everything that can be checked before the first request.

    Args:
        secrets: values that nothing published may hold, as far as they are known.

    Raises:
        InputError: the first thing that is wrong.
        RefusedError: an API whose results could not be published.
    """
    check_foreseeable(plan, secrets)
    _check_apart(place)
    if place.private.resolve().is_relative_to(plan.inputs.root.resolve()):
        raise InputError(
            "lies inside the checkout",
            where="--private",
            fix="name a folder outside, as $RUNNER_TEMP/private",
        )
    for folder in (place.private, place.bundle):
        _check_writable(folder)
    if any(place.bundle.iterdir()):
        raise InputError("isn't empty", where="--bundle", fix="name a new folder")
    options = run_options(plan, place)
    # GITHUB_SHA is the commit of the workflow, not of the release.
    environment = {name: value for name, value in place.environment.items() if name != "GITHUB_SHA"}
    prepared = prepare_run(options, environment, place.installed)
    _check_adapters(plan, prepared)
    if plan.rehearsal and SANDBOX_BASE_URL not in plan.inputs.policy.approved_urls:
        raise RefusedError(
            "does not approve the sandbox, so no rehearsal could be published",
            where=str(plan.inputs.policy_path),
            fix=f'add "{SANDBOX_BASE_URL}" to approved_api_base_urls (a version 2 policy)',
        )
    return prepared, options


def _check_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"cannot be written to ({error.strerror or error})", where=str(folder)) from None


def _check_apart(place: Workplace) -> None:
    """Refuse folders of which one holds the other: the bundle leaves the machine, raw records never do."""
    private, bundle = place.private.resolve(), place.bundle.resolve()
    if private.is_relative_to(bundle) or bundle.is_relative_to(private):
        raise InputError(
            f"must lie apart from the raw records' folder {place.private}",
            where="--bundle",
            fix="name two folders of which neither is inside the other",
        )


def _check_adapters(plan: CadencePlan, prepared: PreparedRun) -> None:
    """Refuse an adapter or a program that isn't the plan's before anything is paid for."""
    expected = (reference_revisions(plan), configured_revisions(plan))
    for lane, allowed in zip(prepared.plan.lanes, expected, strict=True):
        if lane.adapter_revision not in allowed:
            raise RefusedError(
                f"would be run by {lane.adapter_revision}, the plan says {' or '.join(allowed)}",
                where=f"lane {lane.lane}",
            )


def measure(
    plan: CadencePlan,
    place: Workplace,
    attempts: tuple[int, int],
    carry_out: Callable[[PreparedRun, RunOptions], RunResult],
    *,
    publication_key: bytes,
    secrets: Iterable[str],
    generated_at: Callable[[], str],
) -> Measured:
    """Run both lanes, publish them into the bundle and validate that.

    Args:
        attempts: this attempt, and earlier ones that may have billed.
        carry_out: runs a prepared plan to its end.
        publication_key: 32 bytes for keyed digests, of both lanes, not kept.
        secrets: values that nothing published may hold.
        generated_at: tells the time in UTC, as in `2026-05-04T12:00:00.000Z`.

    Raises:
        InputError: something is wrong before the first request, see `prepare`.
        RefusedError: the run did not finish, or its records can't be published.
    """
    hidden = list(secrets)
    prepared, options = prepare(plan, place, hidden)
    if not place.resume:
        check_day(plan.date, generated_at()[:10])
    outcome = carry_out(prepared, options)
    if outcome.interrupted or outcome.finished < outcome.planned:
        raise RefusedError(
            f"the run ended early: {outcome.finished} of {outcome.planned} trials",
            fix="run the same command with --resume: finished trials and billed calls are kept",
        )
    inputs = plan.inputs
    files = [
        prepare_pair(
            Pair(place.bundle, stem),
            read_objects(place.private / output),
            inputs.policy,
            inputs.task_set,
            key=publication_key,
            secrets=hidden,
            generated_at=generated_at(),
        )
        for stem, output in zip(plan.stems, _LANE_OUTPUTS, strict=True)
    ]
    for prepared_files in files:
        publish(prepared_files, inputs.policy, inputs.task_set)
    names = pair_names(plan.stems)
    results = read_results({name: (place.bundle / name).read_bytes() for name in names}, plan.stems, inputs)
    check_provenance(results, plan)
    attempt, accepted = attempts
    # The sum of what an API reports has no bound; what was paid for is handed over all the same.
    credits = min(float(outcome.credits), sys.float_info.max)
    spent = Spent(attempt, accepted, outcome.billed, credits)
    sha256 = write_manifest(place.bundle, plan.document(), plan.digest, spent, names)
    read_bundle(place.bundle, expected_sha256=sha256)
    return Measured(results, spent, sha256)
