"""The results of one run, validated again: both pairs, and that they are of the plan."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discovercall.adapter.identity import model_cli_name
from discovercall.cadence.config import ConfiguredModel, Reference
from discovercall.cadence.plan import STAND_IN, CadencePlan, Inputs
from discovercall.foundation.artifacts import RUNS_SUFFIX, SUMMARY_SUFFIX
from discovercall.foundation.ecma_json import decode
from discovercall.foundation.errors import RefusedError
from discovercall.publication.pair import Pair
from discovercall.publication.run_names import LANES
from discovercall.publication.verification import PairFiles, verify_pair

if TYPE_CHECKING:
    from discovercall.cadence.bundle import Spent

METHODOLOGY = "discover-call-v2"


@dataclass(frozen=True, slots=True)
class LaneResult:
    """One lane's validated pair.

    Attributes:
        files: the bytes of records and summary by file name.
    """

    lane: str
    stem: str
    records: list[dict[str, Any]]
    summary: Mapping[str, Any]
    files: Mapping[str, bytes]

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Where the records come from; the same for all."""
        found: Mapping[str, Any] = self.records[0]["metadata"]
        return found


@dataclass(frozen=True, slots=True)
class Results:
    """Both lanes of a run."""

    reference: LaneResult
    configured: LaneResult
    rehearsal: bool

    @property
    def lanes(self) -> tuple[LaneResult, LaneResult]:
        """Reference first."""
        return self.reference, self.configured

    @property
    def files(self) -> dict[str, bytes]:
        """All four files by name."""
        return {**self.reference.files, **self.configured.files}


def pair_names(stems: tuple[str, str]) -> list[str]:
    """Names of the four files of a run."""
    return [f"{stem}{suffix}" for stem in stems for suffix in (RUNS_SUFFIX, SUMMARY_SUFFIX)]


def read_results(files: Mapping[str, bytes], stems: tuple[str, str], inputs: Inputs) -> Results:
    """Validate both pairs of a run as anybody would.

    Args:
        files: contents by name; exactly the four files of the two stems.
        stems: of the reference and of the configured lane.
        inputs: policy and task set to validate against.

    Raises:
        InputError: a file is no JSON.
        RefusedError: another set of files, or a pair that does not validate or is not what its name says.
    """
    expected = pair_names(stems)
    if set(files) != set(expected):
        odd = sorted(set(files) ^ set(expected))
        raise RefusedError(f"holds not just the two pairs of the plan: {', '.join(odd)}", where="results")
    reference, configured = (
        _lane(lane, stem, files, inputs) for lane, stem in zip(LANES, stems, strict=True)
    )
    rehearsals = {lane.summary["discovercall"]["rehearsal"] for lane in (reference, configured)}
    if len(rehearsals) > 1:
        raise RefusedError("one lane is a rehearsal and one is not", where="results")
    apis = [str(lane.metadata["api_base_url"]) for lane in (reference, configured)]
    if apis[0] != apis[1]:
        raise RefusedError(
            f"the lanes were measured on two APIs, {apis[0]} and {apis[1]}, so they cannot be compared",
            where="results",
        )
    return Results(reference, configured, rehearsals.pop())


def _lane(lane: str, stem: str, files: Mapping[str, bytes], inputs: Inputs) -> LaneResult:
    runs, summary = f"{stem}{RUNS_SUFFIX}", f"{stem}{SUMMARY_SUFFIX}"
    read = PairFiles(Pair(Path("results"), stem), files[runs], files[summary])
    verified = verify_pair(read, inputs.policy, inputs.task_set)
    if verified.differences:
        raise RefusedError(verified.differences[0], where=summary)
    return LaneResult(
        lane,
        stem,
        verified.records,
        decode(files[summary]),
        {runs: files[runs], summary: files[summary]},
    )


def check_provenance(results: Results, plan: CadencePlan) -> None:
    """Check that results are those of a plan, and nothing else's.

    Raises:
        RefusedError: names the lane, the field, what it is and what it should be.
    """
    if results.rehearsal != plan.rehearsal:
        kinds = {True: "a rehearsal", False: "a real run"}
        raise RefusedError(
            f"the results are of {kinds[results.rehearsal]}, the plan is of {kinds[plan.rehearsal]}",
            where="results",
            fix="a rehearsal never goes to a real branch",
        )
    for lane in results.lanes:
        for field, found, allowed in _expectations(lane, plan):
            if found not in allowed:
                wanted = " or ".join(str(value) for value in allowed)
                raise RefusedError(f"is {found}, the plan says {wanted}", where=f"{lane.stem}: {field}")


def check_spent(results: Results, plan: CadencePlan, spent: Spent, where: str) -> None:
    """Refuse a cost that the records or the plan contradict.

    Args:
        where: what says it.

    Raises:
        RefusedError: fewer calls than the records show, more than were approved, or numbers that can't be.
    """
    attempted = sum(record["call"]["attempted"] for lane in results.lanes for record in lane.records)
    if not attempted <= spent.billed_calls <= plan.most_billed_calls:
        raise RefusedError(
            f"says {spent.billed_calls} billed calls; the records show {attempted}, the plan allows"
            f" {plan.most_billed_calls}",
            where=where,
        )
    attempts = 1 <= spent.attempt <= spent.accepted_attempts + 1
    if not attempts or not 0 <= spent.credits < math.inf:
        raise RefusedError("says a cost that cannot be", where=where)


def _expectations(lane: LaneResult, plan: CadencePlan) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    config, summary = plan.inputs.config, lane.summary
    metadata, entry = lane.metadata, summary["models"][0]
    tasks = len(plan.inputs.task_set.tasks)
    yield "methodology", summary["methodology"], (METHODOLOGY,)
    yield "models", len(summary["models"]), (1,)
    yield "lane", metadata["lane"], (lane.lane,)
    model: Reference | ConfiguredModel
    if lane.lane == LANES[0]:
        model, adapters = config.reference, reference_revisions(plan)
    else:
        model, adapters = config.configured_model, configured_revisions(plan)
    yield "model", entry["model"], (model.model,)
    yield "model_revision", metadata["model_revision"], (model.model_revision,)
    yield "toolkit_revision", metadata["toolkit_revision"], (plan.toolkit_revision,)
    yield "adapter_revision", metadata["adapter_revision"], adapters
    yield "task_set_sha256", metadata["task_set_sha256"], (plan.inputs.task_set.sha256,)
    yield "api_base_url", metadata["api_base_url"], (plan.api_base_url,)
    yield "discovery_limit", metadata["discovery_limit"], (config.discovery_limit,)
    yield "execute", metadata["execute"], (True,)
    yield "publication_policy", metadata["publication_policy"], (plan.inputs.policy.policy_id,)
    yield "tasks", entry["tasks"], (tasks,)
    yield "trials_per_task", entry["trials_per_task"], (config.trials,)
    yield "runs", entry["runs"], (config.records_per_lane(tasks),)


def _name(adapter: str) -> str:
    return adapter.removesuffix(".py").replace("_", "-")


def reference_revisions(plan: CadencePlan) -> tuple[str, ...]:
    """Adapter revisions that the reference lane may have."""
    return (f"{plan.toolkit_revision}/{_name(plan.inputs.config.reference.adapter)}",)


def configured_revision(model: ConfiguredModel, toolkit_revision: str) -> str:
    """Adapter revision of the configured lane: code, program, version and effort."""
    program = model.adapter.removesuffix(".py").removesuffix("_cli")
    return f"{toolkit_revision}/{model_cli_name(program, model.cli_version, model.reasoning_effort)}"


def stand_in_revision(toolkit_revision: str) -> str:
    """Adapter revision of what stands in for the configured model in a rehearsal without a model key."""
    return f"{toolkit_revision}/{_name(STAND_IN)}"


def configured_revisions(plan: CadencePlan) -> tuple[str, ...]:
    """Adapter revisions that the configured lane may have."""
    own = configured_revision(plan.inputs.config.configured_model, plan.toolkit_revision)
    return (own, stand_in_revision(plan.toolkit_revision)) if plan.rehearsal else (own,)
