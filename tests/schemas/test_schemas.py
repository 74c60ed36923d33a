"""The committed schemas are those of the models, accept every committed artifact and refuse broken ones."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from discovercall.contract.tasks import validate_task_set
from discovercall.foundation.errors import DiscovercallError
from discovercall.publication.policy import validate_policy
from discovercall.publication.private_record import PrivateRecord
from discovercall.publication.public_record import PublicRecord
from discovercall.publication.summary_model import Summary
from tests.publication.runs import POLICY_V1, POLICY_V2, ROOT, private_run, small_pair
from tests.publication.tampering import field_paths, get
from tools.schemas import main, schemas

FOLDER = ROOT / "schemas"


@functools.cache
def validator(name: str) -> Draft202012Validator:
    schema = json.loads((FOLDER / f"{name}.schema.json").read_bytes())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line and line[0] != "#"]


def artifacts() -> Iterator[tuple[str, str, Any]]:
    """Every committed artifact as the schema's name, the file, and the value."""
    for path in sorted((ROOT / "tasks").glob("v*.jsonl")):
        for number, value in enumerate(lines(path), 1):
            yield "task", f"{path.name}:{number}", value
    for number, value in enumerate(lines(ROOT / "tasks/fixtures/sample.runs.jsonl"), 1):
        yield "private-record", f"sample:{number}", value
    for path in sorted((ROOT / "results").glob("*.runs.jsonl")):
        for number, value in enumerate(lines(path), 1):
            yield "public-record", f"{path.name}:{number}", value
    for path in sorted((ROOT / "results").glob("*.summary.json")):
        yield "summary", path.name, json.loads(path.read_bytes())
    for path in sorted((ROOT / "results" / "gateway" / "snapshots").glob("*.json")):
        yield "eval-result", path.name, json.loads(path.read_bytes())
    thresholds = ROOT / "tasks" / "gateway" / "thresholds.json"
    yield "eval-thresholds", thresholds.name, json.loads(thresholds.read_bytes())
    yield "publication-policy", "version 2", json.loads((ROOT / "publication-policy.json").read_bytes())
    yield "publication-policy", "version 1", POLICY_V1


def test_the_committed_schemas_are_current(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert {path.name for path in FOLDER.glob("*.json")} == set(schemas())
    assert main(["--check"]) == 0, "make schemas: " + capsys.readouterr().out
    assert main(["--check", str(tmp_path)]) == 1
    assert main([str(tmp_path / "new")]) == 0
    assert main(["--check", str(tmp_path / "new")]) == 0


def test_every_committed_artifact_is_accepted() -> None:
    validators = {name: validator(name) for name in {name for name, _, _ in artifacts()}}
    for name, where, value in artifacts():
        problems = [error.message for error in validators[name].iter_errors(value)]
        assert not problems, (where, problems[:3])


def test_made_artifacts_are_accepted(tmp_path: Path) -> None:
    for record in private_run(trials=1):
        validator("private-record").validate(record)
    for version in (1, 2):
        for first in range(0, 15, 3):
            files = small_pair(tmp_path, version, first)
            for line in files.runs.splitlines():
                validator("public-record").validate(json.loads(line))
            validator("summary").validate(json.loads(files.summary))


def samples(tmp_path: Path) -> dict[str, list[Any]]:
    """A few right values of each kind."""
    pairs = [small_pair(tmp_path, 2, first) for first in (0, 3, 12)]
    public = [json.loads(line) for pair in pairs for line in pair.runs.splitlines()]
    private = private_run(trials=1)
    return {
        "task": [lines(ROOT / "tasks/v4.jsonl")[index] for index in (0, 3, 8)],
        "private-record": [private[index] for index in (0, 5, 13)],
        "public-record": [public[index] for index in (0, 1, 5, 7)],
        "summary": [json.loads(pairs[0].summary)],
        "publication-policy": [POLICY_V2, POLICY_V1],
    }


def _removed(parent: Any, key: Any) -> None:
    del parent[key]


def _put(value: Any) -> Callable[[Any, Any], None]:
    def put(parent: Any, key: Any) -> None:
        parent[key] = value

    return put


CHANGES: dict[str, Callable[[Any, Any], None]] = {
    "removed": _removed,
    "null": _put(None),
    "a number": _put(-7.5),
    "a blank": _put(" "),
    "a list": _put([[]]),
    "control characters": _put("a\u0000\u200bb"),
}


def mutations(tmp_path: Path) -> Iterator[tuple[str, str, Any]]:
    """Broken artifacts: one field removed, or of another type or form, wherever the rules then refuse it."""
    for name, values in samples(tmp_path).items():
        for number, value in enumerate(values):
            for path in field_paths(value):
                if any(isinstance(part, int) and part > 0 for part in path):
                    continue
                for change, apply in CHANGES.items():
                    other = copy.deepcopy(value)
                    apply(get(other, path[:-1]), path[-1])
                    where = ".".join(str(part) for part in path)
                    if other != value and is_refused_by_rules(name, other):
                        yield name, f"{number}: {where}: {change}", other


def is_refused_by_rules(name: str, value: Any) -> bool:
    """Whether the product's own validation refuses the value, where it has one that needs nothing else."""
    rules: dict[str, Callable[[Any], Any]] = {
        "task": lambda task: validate_task_set([task]),
        "publication-policy": validate_policy,
        "public-record": PublicRecord.model_validate,
        "private-record": PrivateRecord.model_validate,
        "summary": Summary.model_validate,
    }
    try:
        rules[name](value)
    except (DiscovercallError, ValueError):
        return True
    return False


def test_broken_artifacts_are_refused(tmp_path: Path) -> None:
    validators = {name: validator(name) for name in samples(tmp_path)}
    counts: dict[str, int] = {}
    missed = []
    for name, where, value in mutations(tmp_path):
        counts[name] = counts.get(name, 0) + 1
        if validators[name].is_valid(value):
            missed.append((name, where))
    assert not missed
    assert min(counts.values()) >= 40, counts
    assert sum(counts.values()) >= 200, counts


CROSS_FIELD: list[tuple[int, str, Any]] = [
    (0, "error", {"stage": "call", "reason_code": "x_y"}),
    (0, "status", "failed"),
    (5, "status", "completed"),
    (0, "call.attempted", False),
    (0, "call.success", None),
    (0, "metadata.execute", False),
    (0, "metadata.runtime.node", "v24"),
    (0, "selection.tool_id_sha256", "a" * 64),
    (0, "discovery.selection_grounded", False),
    (0, "inspection.selection_grounded", False),
    (2, "call.result_nonempty", True),
    (13, "call.success", True),
    (13, "call.result_nonempty", False),
]


@pytest.mark.parametrize(("index", "path", "value"), CROSS_FIELD)
def test_contradictions_that_a_schema_can_say_are_refused(
    tmp_path: Path, index: int, path: str, value: Any
) -> None:
    record = json.loads(small_pair(tmp_path, 2, index // 3 * 3).runs.splitlines()[index % 3])
    *parents, last = path.split(".")
    get(record, parents)[last] = value
    assert not validator("public-record").is_valid(record)
