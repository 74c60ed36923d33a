import hashlib
import json
from pathlib import Path

import pytest

TASKS = Path(__file__).parents[2] / "tasks"
VERSIONS = ("v1", "v2", "v3", "v4")
ADDED_IN_V3 = ("composite_aliases", "normalizers")
ADDED_IN_V4 = ("alias_values",)


def lines(version):
    return (TASKS / f"{version}.jsonl").read_bytes().decode("utf-8").split("\n")


def load(version):
    return [json.loads(line) for line in lines(version)[:-1]]


def without(tasks, task_field, constraint_fields):
    """The tasks with the fields taken out that a later version added."""
    return [
        {
            **{key: value for key, value in task.items() if key != task_field},
            "constraints": [
                {key: value for key, value in constraint.items() if key not in constraint_fields}
                for constraint in task["constraints"]
            ],
        }
        for task in tasks
    ]


def test_the_digests_are_those_of_the_files():
    listed = {}
    for line in (TASKS / "SHA256SUMS").read_text("utf-8").splitlines():
        digest, name = line.split("  ")
        listed[name] = digest
    assert listed == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in TASKS.glob("v*.jsonl")
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_every_line_is_compact_json(version):
    *written, last = lines(version)
    assert last == ""
    for line in written:
        assert line == json.dumps(json.loads(line), ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize(("version", "count"), [("v1", 6), ("v2", 18), ("v3", 18), ("v4", 18)])
def test_the_number_of_tasks_and_their_ids(version, count):
    ids = [task["id"] for task in load(version)]
    assert len(ids) == len(set(ids)) == count


def test_v2_begins_with_the_tasks_of_v1():
    assert load("v2")[:6] == load("v1")


def test_v3_adds_only_references_pairs_and_normalizers_to_v2():
    assert without(load("v3"), "reference", ADDED_IN_V3) == load("v2")


def test_v4_adds_only_the_provider_id_of_bitcoin_to_v3():
    assert without(load("v4"), None, ADDED_IN_V4) == load("v3")
    added = [
        (task["id"], constraint["alias_values"])
        for task in load("v4")
        for constraint in task["constraints"]
        if "alias_values" in constraint
    ]
    assert added == [("bitcoin-price", {"id": ["1"]})]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_prompt_names_every_value_that_its_constraints_need(version):
    for task in load(version):
        for constraint in task["constraints"]:
            assert str(constraint["value"]).lower() in task["prompt"].lower(), task["id"]


@pytest.mark.parametrize("version", ["v3", "v4"])
def test_a_task_without_reference_candidates_says_why(version):
    for task in load(version):
        reference = task["reference"]
        assert bool(reference["candidates"]) != bool(reference.get("unavailable_reason")), task["id"]


def test_the_readme_lists_every_task():
    text = (TASKS / "README.md").read_text("utf-8")
    for task in load("v4"):
        assert f"| `{task['id']}` |" in text
