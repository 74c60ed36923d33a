"""`cadence.json`: exactly its fields, and every wrong one refused by name."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall.cadence.config import load_config, parse_config
from discovercall.foundation.errors import InputError
from tests.cadence.checkout import ROOT

GOOD: dict[str, Any] = json.loads((ROOT / "cadence.json").read_text())


def changed(path: str, value: Any) -> dict[str, Any]:
    config = deepcopy(GOOD)
    *parents, last = path.split(".")
    target: Any = config
    for name in parents:
        target = target[name]
    target[last] = value
    return config


def test_the_committed_file_is_valid_and_bounds_the_calls() -> None:
    config, digest = load_config(ROOT / "cadence.json")
    assert len(digest) == 64
    assert config.records_per_lane(18) == 18 * config.trials == 54
    assert config.most_billed_calls(18) == 108
    assert (ROOT / "adapters" / config.reference.adapter).is_file()
    assert (ROOT / "adapters" / config.configured_model.adapter).is_file()
    assert (ROOT / config.task_set).is_file()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("schema_version", 2),
        ("schema_version", True),
        ("schema_version", "1"),
        ("task_set", "tasks/../v4.jsonl"),
        ("task_set", ["tasks/v4.jsonl"]),
        ("task_set", "tasks/v04.jsonl"),
        ("task_version", ["v4"]),
        ("trials", 2),
        ("trials", 101),
        ("trials", 3.5),
        ("trials", True),
        ("trials", "3"),
        ("discovery_limit", 0),
        ("discovery_limit", 101),
        ("release_tags", []),
        ("release_tags", "v*"),
        ("release_tags", ["v*", "v*"]),
        ("release_tags", ["v *"]),
        ("release_tags", [7]),
        ("publish_workflows", []),
        ("publish_workflows", [f"w{n}.yml" for n in range(21)]),
        ("publish_workflows", ["../release.yml"]),
        ("publish_workflows", [".github/workflows/release.yml"]),
        ("publish_workflows", ["release.txt"]),
        ("max_credits", 0),
        ("max_credits", 1.5),
        ("max_credits", "10"),
        ("reference.model", "reference-v2"),
        ("reference.model_revision", "unreported"),
        ("reference.adapter", "../reference.py"),
        ("configured_model.model", ""),
        ("configured_model.model", "a b"),
        ("configured_model.model", "m" * 257),
        ("configured_model.model", ["gpt"]),
        ("configured_model.model_revision", None),
        ("configured_model.adapter", "adapters/codex_cli.py"),
        ("configured_model.adapter", ".hidden.py"),
        ("configured_model.adapter", "README.md"),
        ("configured_model.adapter", "model-clis.json"),
        ("configured_model.cli_version", "01.2.3"),
        ("configured_model.cli_version", "1.2.3-a..b"),
        ("configured_model.cli_version", "^1.2.3"),
        ("configured_model.cli_version", "1.2"),
        ("configured_model.cli_version", "1.2.3\n"),
        ("configured_model.cli_version", ["0.144.1"]),
        ("configured_model.reasoning_effort", "medium\n"),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_field(path: str, value: Any) -> None:
    with pytest.raises(InputError) as refusal:
        parse_config(changed(path, value))
    assert path.split(".")[-1] in str(refusal.value)


@pytest.mark.parametrize("version", ["0.144.1", "1.2.3-rc.1", "1.2.3+build.5", "10.20.30-a.b-c"])
def test_exact_versions_are_taken(version: str) -> None:
    assert parse_config(changed("configured_model.cli_version", version))


@pytest.mark.parametrize("place", ["", "reference", "configured_model"])
def test_no_other_field_and_none_missing(place: str) -> None:
    config = changed(f"{place}.surplus".lstrip("."), 1)
    with pytest.raises(InputError, match="surplus"):
        parse_config(config)
    target = GOOD[place] if place else GOOD
    for name in target:
        config = deepcopy(GOOD)
        del (config[place] if place else config)[name]
        with pytest.raises(InputError, match=name):
            parse_config(config)


def test_the_version_is_that_of_the_task_set() -> None:
    with pytest.raises(InputError, match="task_version"):
        parse_config(changed("task_version", "v3"))


@settings(max_examples=50, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda s: st.lists(s) | st.dictionaries(st.text(), s),
        max_leaves=8,
    )
)
def test_anything_else_is_one_clear_refusal(value: Any) -> None:
    with pytest.raises(InputError):
        parse_config(value)
