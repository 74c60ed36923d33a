"""What records must have in common to be scored together, and the trials that a model must have run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from discovercall.contract.scoring import check_identity
from discovercall.foundation.ecmascript import is_blank
from discovercall.foundation.errors import InputError
from discovercall.foundation.json_text import compact

BENCHMARK_VERSIONS = ("v1", "v2")
METADATA_FIELDS = (
    "lane",
    "model_revision",
    "adapter_revision",
    "toolkit_revision",
    "task_set_sha256",
    "api_base_url",
    "api_revision",
    "catalog_revision",
    "catalog_observation_sha256",
    "runtime",
    "discovery_limit",
    "execute",
)


def benchmark_version(records: Iterable[Mapping[str, Any]]) -> str:
    """The one method version of all records.

    Raises:
        InputError: no record, one that is no object or of an unknown version, or several versions.
    """
    versions = []
    for record in records:
        if not isinstance(record, Mapping):
            raise InputError("a run record must be a JSON object")
        version = record.get("benchmark_version")
        versions.append("v1" if version is None else version)
    if not versions:
        raise InputError("there is no record to score")
    for version in versions:
        if version not in BENCHMARK_VERSIONS:
            raise InputError(f"unsupported benchmark_version {version!r}", fix="v1 and v2 are known")
    if len(set(versions)) > 1:
        raise InputError("records of different benchmark versions cannot be scored together")
    return str(versions[0])


class RecordCheck:
    """Checks records one after the other: each has a run id of its own, a known task and the right digest."""

    def __init__(self, tasks: Mapping[str, Any], version: str, task_set_sha256: str | None) -> None:
        self.version = version
        self._tasks = tasks
        self._task_set_sha256 = task_set_sha256
        self._run_ids: set[str] = set()

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Check the next record.

        Raises:
            InputError: names the record and what is wrong with it.
        """
        run_id = record.get("run_id")
        if not isinstance(run_id, str) or is_blank(run_id):
            raise InputError("run_id is required", where=f"record {len(self._run_ids) + 1}")
        if run_id in self._run_ids:
            raise InputError(f"duplicate run_id {run_id}")
        self._run_ids.add(run_id)
        task_id = record.get("task_id")
        if not isinstance(task_id, str) or task_id not in self._tasks:
            raise InputError(f"unknown task: {task_id}", where=f"record {run_id}")
        check_identity(record)
        self._check_digest(record)

    def _check_digest(self, record: Mapping[str, Any]) -> None:
        expected = self._task_set_sha256
        if expected is None:
            return
        metadata = record.get("metadata")
        recorded = metadata.get("task_set_sha256") if isinstance(metadata, Mapping) else None
        if recorded is None and self.version == "v1":
            return
        if recorded != expected:
            raise InputError(
                f"made with task set {recorded or 'of no recorded digest'}, not {expected}",
                where=f"record {record['run_id']}",
                fix="score it with the task file it was made with",
            )


class Provenances:
    """The different provenances among the records of one model: one, where they belong together."""

    def __init__(self) -> None:
        self._variants: dict[str, Mapping[str, Any]] = {}
        self._last: Mapping[str, Any] = {}
        self._last_form: object = None

    def add(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """Note a record's schema version and metadata; return the first record's that had the same ones."""
        metadata = record.get("metadata")
        if isinstance(metadata, dict) and metadata == self._last.get("metadata"):
            form = _form(record, metadata)
            if form == self._last_form:
                return self._last
        own = {name: record[name] for name in ("schema_version", "metadata") if name in record}
        self._last = self._variants.setdefault(_signature(own), own)
        self._last_form = _form(record, metadata) if isinstance(metadata, dict) else None
        return self._last

    def check_unmixed(self, model: str) -> None:
        """Refuse records of different provenance.

        Raises:
            InputError: names the model and the first field that differs.
        """
        if len(self._variants) == 1:
            return
        for field in ("schema_version", *METADATA_FIELDS):
            if len({_comparable(variant, field) for variant in self._variants.values()}) > 1:
                raise InputError(f"model {model} mixes different {field} values")


def _signature(value: Any) -> str:
    try:
        return repr(value)  # unlike ==, it tells 1 from true
    except RecursionError:
        return compact(value)


def _form(record: Mapping[str, Any], metadata: Mapping[str, Any]) -> tuple[list[str], str]:
    """What equality of metadata leaves open: the order of the fields, and 1 or 1.0 or true."""
    others = [value for value in metadata.values() if not isinstance(value, str)]
    return [*metadata], _signature(["schema_version" in record, record.get("schema_version"), *others])


def _comparable(record: Mapping[str, Any], field: str) -> str:
    source: Any = record if field == "schema_version" else record.get("metadata")
    if not isinstance(source, Mapping) or field not in source:
        return ""
    value = source[field]
    return compact(dict(sorted(value.items())) if isinstance(value, Mapping) else value)


def trials_per_task(model: str, scores: Sequence[Mapping[str, Any]], tasks: Iterable[str]) -> int:
    """How many trials a model has of each task.

    Args:
        scores: the scores of the model's records.
        tasks: ids of all tasks.

    Raises:
        InputError: a task without a record, trials that are not 1..n, or tasks with different numbers.
    """
    trials: dict[str, list[int]] = {task_id: [] for task_id in tasks}
    for score in scores:
        trials[score["task_id"]].append(score["trial"])
    counts = {len(seen) for seen in trials.values()}
    for task_id, seen in trials.items():
        if not seen:
            raise InputError(f"model {model} has no record of task {task_id}")
        if sorted(seen) != list(range(1, len(seen) + 1)):
            raise InputError(f"model {model} must have the trials 1..n of task {task_id}, each once")
    if len(counts) > 1:
        raise InputError(f"model {model} has unequal numbers of trials per task")
    return counts.pop()
