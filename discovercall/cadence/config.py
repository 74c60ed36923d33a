"""`cadence.json`: the reviewed, immutable input of every paid run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from discovercall.foundation.digests import sha256_hex
from discovercall.foundation.json_file import read_json
from discovercall.foundation.models import StrictModel, check, refuse, unique
from discovercall.publication.fields import SchemaOne

CADENCE_FILE = "cadence.json"
LANE_COUNT = 2
FILE_LIMIT = 1 << 20
"""Bytes that a reviewed file or a plan may have."""
_SHAPES = {
    "value": (r"[0-9A-Za-z@._/+:-]{1,256}", "must be 1 to 256 characters of 0-9 A-Z a-z @ . _ / + : -"),
    "tag": (
        r"[0-9A-Za-z@._/+:*?!\[\]-]{1,256}",
        "must be 1 to 256 characters of 0-9 A-Z a-z @ . _ / + : - and of * ? [ ] !",
    ),
    "workflow": (r"[0-9A-Za-z_-][0-9A-Za-z._-]{0,120}\.ya?ml", "must be the file name of a workflow (.yml)"),
    "task_set": (r"tasks/v[1-9][0-9]{0,5}\.jsonl", "must be tasks/vN.jsonl"),
    "version": (r"v[1-9][0-9]{0,5}", "must be vN, as in the name of task_set"),
    "adapter": (
        r"[0-9A-Za-z_][0-9A-Za-z_-]{0,120}\.py",
        "must be the name of a .py file in adapters/, without a path",
    ),
    "exact": (
        r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){2}"
        r"(?:-(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?"
        r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
        "must be one exact version, as in 1.2.3",
    ),
}


def _shape(name: str) -> BeforeValidator:
    pattern, rule = _SHAPES[name]
    expression = re.compile(pattern)

    def validate(value: Any) -> Any:
        if not isinstance(value, str) or not expression.fullmatch(value):
            raise refuse(rule)
        return value

    return BeforeValidator(validate)


Value = Annotated[str, _shape("value")]
AdapterFile = Annotated[str, _shape("adapter")]


class Reference(StrictModel, frozen=True):
    """The reference lane: always the deterministic route."""

    model: Literal["reference-v1"]
    model_revision: Literal["deterministic-reference-v1"]
    adapter: AdapterFile


class ConfiguredModel(StrictModel, frozen=True):
    """The configured-model lane: a named model behind one exact command line program."""

    model: Value
    model_revision: Value
    adapter: AdapterFile
    cli_package: Value
    cli_version: Annotated[str, _shape("value"), _shape("exact")]
    reasoning_effort: Value


class CadenceConfig(StrictModel, frozen=True):
    """Exactly the fields of `cadence.json`.

    Attributes:
        trials: per task and lane.
        discovery_limit: results asked for per discovery.
        release_tags: `fnmatch` patterns, one per coordinated package.
        publish_workflows: file names of workflows that must have succeeded for the release commit.
        max_credits: what the billed calls may cost together, where the API reports prices.
    """

    schema_version: SchemaOne
    task_set: Annotated[str, _shape("task_set")]
    task_version: Annotated[str, _shape("version")]
    trials: Annotated[int, Field(ge=3, le=100)]
    discovery_limit: Annotated[int, Field(ge=1, le=100)]
    release_tags: Annotated[
        list[Annotated[str, _shape("tag")]], Field(min_length=1, max_length=100), AfterValidator(unique)
    ]
    publish_workflows: Annotated[
        list[Annotated[str, _shape("workflow")]], Field(min_length=1, max_length=20), AfterValidator(unique)
    ]
    max_credits: Annotated[int, Field(ge=1)] | None
    reference: Reference
    configured_model: ConfiguredModel

    @model_validator(mode="after")
    def _one_task_version(self) -> Self:
        if self.task_set != f"tasks/{self.task_version}.jsonl":
            raise refuse("task_version must be the version in the name of task_set")
        return self

    def records_per_lane(self, tasks: int) -> int:
        """Records of one lane, which is also its most billed calls."""
        return tasks * self.trials

    def most_billed_calls(self, tasks: int) -> int:
        """The most calls that can be billed in one run."""
        return self.records_per_lane(tasks) * LANE_COUNT


def parse_config(value: Any, where: str = CADENCE_FILE) -> CadenceConfig:
    """Check a parsed `cadence.json`.

    Raises:
        InputError: names the field and what would be right.
    """
    return check(CadenceConfig, value, where)


def load_config(path: Path) -> tuple[CadenceConfig, str]:
    """Read `cadence.json`.

    Returns:
        The checked content, and the SHA-256 of the file.

    Raises:
        InputError: unreadable, no JSON, or a wrong field.
    """
    value, data = read_json(path, FILE_LIMIT)
    return parse_config(value, str(path)), sha256_hex(data)
