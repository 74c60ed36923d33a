"""Published releases, and what a plan changes against the last one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discovercall.cadence.document import RunFacts, release_report
from discovercall.cadence.evidence import pair_names, read_results
from discovercall.cadence.names import branch_name
from discovercall.cadence.plan import CadencePlan, Inputs
from discovercall.contract.tasks import load_task_set
from discovercall.foundation.artifacts import RUNS_SUFFIX
from discovercall.foundation.errors import DiscovercallError, InputError
from discovercall.foundation.files import read_input
from discovercall.publication.run_names import Stem, parse_stem


@dataclass(frozen=True, slots=True)
class Release:
    """Both stems of a published run."""

    stem: Stem
    stems: tuple[str, str]


def published_releases(folder: Path, *, rehearsals: bool = False) -> list[Release]:
    """The published runs of a results folder that have both lanes, the oldest first.

    Args:
        folder: need not exist.
        rehearsals: rehearsals instead of real runs.
    """
    found: dict[tuple[str, str, str, bool], dict[bool, tuple[str, Stem]]] = {}
    for path in sorted(folder.glob(f"*{RUNS_SUFFIX}")):
        name = path.name.removesuffix(RUNS_SUFFIX)
        stem = parse_stem(name)
        if stem is not None and stem.rehearsal == rehearsals:
            found.setdefault(stem.release, {})[stem.configured] = (name, stem)
    return [
        Release(lanes[True][1], (lanes[False][0], lanes[True][0]))
        for _, lanes in sorted(found.items())
        if set(lanes) == {False, True}
    ]


def with_task_set(inputs: Inputs, version: str) -> Inputs:
    """The inputs with another of the repository's task sets.

    Raises:
        InputError: there is none of that version.
    """
    if version == inputs.config.task_version:
        return inputs
    file = f"tasks/{version}.jsonl"
    config = inputs.config.model_copy(update={"task_set": file, "task_version": version})
    return replace(inputs, config=config, task_set=load_task_set(inputs.root / file))


def report_of_pairs(stems: tuple[Path, Path], inputs: Inputs) -> dict[str, Any]:
    """The report model of two pairs on disk, validated again.

    Args:
        stems: paths of the two pairs without their endings, the reference first.

    Raises:
        InputError: no stem of a run, a file that is missing.
        RefusedError: a pair that doesn't validate.
    """
    names = (stems[0].name, stems[1].name)
    reference, configured = (_parsed(path) for path in stems)
    if reference.release != configured.release or reference.configured or not configured.configured:
        raise InputError(
            "are not the reference and the configured lane of one run", where=f"{stems[0]}, {stems[1]}"
        )
    inputs = with_task_set(inputs, configured.version)
    files = {name: _read(stems[0].parent / name) for name in pair_names(names)}
    results = read_results(files, names, inputs)
    toolkit = str(results.configured.metadata["toolkit_revision"])
    sha = toolkit if toolkit.startswith(configured.sha12) else configured.sha12
    return release_report(
        results,
        inputs,
        RunFacts(
            release_sha=sha,
            date=configured.date,
            version=configured.version,
            branch=branch_name(sha, rehearsal=configured.rehearsal),
        ),
    )


def _parsed(path: Path) -> Stem:
    stem = parse_stem(path.name)
    if stem is None:
        raise InputError("is no stem of a cadence run", where=str(path))
    return stem


def _read(path: Path) -> bytes:
    try:
        return read_input(path)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", where=str(path)) from None


@dataclass(frozen=True, slots=True)
class Changes:
    """What a plan changes against the last published result.

    Attributes:
        previous: the stem that was compared with; None without one.
        problem: why it can't be compared with; None where it could.
        fields: field, before, now of each difference.
    """

    previous: str | None
    problem: str | None
    fields: list[dict[str, str]]


def changes(plan: CadencePlan, folder: Path, adapter_revision: str) -> Changes:
    """What differs between a plan and the last published result, which is validated first.

    Args:
        folder: the results of the release's checkout.
        adapter_revision: of the configured lane, as the plan expects it.
    """
    releases = published_releases(folder)
    if not releases:
        return Changes(None, None, [])
    last = releases[-1]
    stem = last.stems[1]
    try:
        inputs = with_task_set(plan.inputs, last.stem.version)
        files = {name: _read(folder / name) for name in pair_names(last.stems)}
        lane = read_results(files, last.stems, inputs).configured
    except DiscovercallError as error:
        # The plan is what is approved; that something published is broken is for the approver to know.
        return Changes(stem, str(error).replace(f"{folder}/", ""), [])
    record, entry = lane.records[0], lane.summary["models"][0]
    before, config = lane.metadata, plan.inputs.config
    pairs: Iterable[tuple[str, Any, Any]] = (
        ("Model", record["model"], config.configured_model.model),
        ("Model revision", before["model_revision"], config.configured_model.model_revision),
        ("Adapter, program and effort", before["adapter_revision"], adapter_revision),
        ("Release (toolkit revision)", before["toolkit_revision"], plan.toolkit_revision),
        ("Catalog API", before["api_base_url"], plan.api_base_url),
        ("Task set SHA-256", before["task_set_sha256"], plan.inputs.task_set.sha256),
        ("Tasks", entry["tasks"], len(plan.inputs.task_set.tasks)),
        ("Trials per task", entry["trials_per_task"], config.trials),
        ("Discovery limit", before["discovery_limit"], config.discovery_limit),
        ("Publication policy", before["publication_policy"], plan.inputs.policy.policy_id),
    )
    fields = [
        {"field": field, "before": str(old), "now": str(new)} for field, old, new in pairs if old != new
    ]
    return Changes(stem, None, fields)
