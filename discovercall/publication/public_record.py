"""The shape of one public record: what may be said about a trial, and nothing else at any depth."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from discovercall.foundation.models import StrictModel, refuse
from discovercall.publication.fields import (
    Count,
    Rate,
    ReasonCode,
    RuntimeText,
    SafeText,
    SchemaOne,
    Sha256,
    Timestamp,
    UpTo100,
)

ErrorStage = Literal["discover", "select", "inspect", "parameterize", "api", "adapter", "call", "unknown"]
# An optional field that must not be null has a default which is not of its type and is never validated.
_ABSENT: Any = None


def _nothing_but_a_string(value: Any) -> Any:
    if value is not None and not isinstance(value, str):
        raise refuse("must be a string or null")
    return value


SelectedTool = Annotated[
    str | None,
    BeforeValidator(_nothing_but_a_string),
    WithJsonSchema({"anyOf": [{"type": "string", "minLength": 1, "maxLength": 512}, {"type": "null"}]}),
]


class Runtime(StrictModel):
    """Where the harness ran: one interpreter, platform, architecture."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["python"]}, {"required": ["node"]}]},
    )

    python: RuntimeText = _ABSENT
    node: RuntimeText = _ABSENT
    platform: RuntimeText
    arch: RuntimeText

    @model_validator(mode="after")
    def _one_interpreter(self) -> Self:
        if ("python" in self.model_fields_set) == ("node" in self.model_fields_set):
            raise refuse("must name one of python and node")
        return self


class Metadata(StrictModel):
    """Where a record comes from."""

    lane: Literal["reference", "configured-model", "pinned-model", "current-model", "model"]
    model_revision: SafeText
    adapter_revision: SafeText
    toolkit_revision: SafeText
    task_set_sha256: Sha256
    api_base_url: SafeText
    api_revision: SafeText
    catalog_revision: SafeText
    catalog_observation_sha256: Sha256
    runtime: Runtime
    discovery_limit: UpTo100
    execute: bool
    publication_policy: SafeText


class Discovery(StrictModel):
    """What discovery gave: how many results, the digest of their ids, whether the selection is among them."""

    result_count: Count
    snapshot_sha256: Sha256
    selection_grounded: bool


class Selection(StrictModel):
    """The selected tool: its id where it is approved, else a digest."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"required": ["tool_id_sha256"]},
            "then": {"properties": {"tool_id": {"type": "null"}}},
        },
    )

    tool_id: SelectedTool
    tool_id_sha256: Sha256 = _ABSENT

    @model_validator(mode="after")
    def _id_or_digest(self) -> Self:
        if self.tool_id is not None and "tool_id_sha256" in self.model_fields_set:
            raise refuse("must not have a digest beside an id")
        return self

    @property
    def made(self) -> bool:
        """Whether a tool was selected at all."""
        return self.tool_id is not None or "tool_id_sha256" in self.model_fields_set


class Inspection(StrictModel):
    """Whether inspection returned the selected tool."""

    selection_grounded: bool


class Parameterization(StrictModel):
    """How much of what was asked for the parameters carried, each 0 to 1."""

    required_parameter_accuracy: Rate
    constraint_accuracy: Rate


class Call(StrictModel):
    """The billed call: whether it was sent, whether it succeeded, whether its result held anything."""

    attempted: bool
    success: bool | None
    result_nonempty: bool = _ABSENT


class Error(StrictModel):
    """The gate at which the trial failed."""

    stage: ErrorStage
    reason_code: ReasonCode


class Durations(StrictModel):
    """Milliseconds per stage, for the stages that ran."""

    discover: Count = _ABSENT
    select: Count = _ABSENT
    inspect: Count = _ABSENT
    parameterize: Count = _ABSENT
    call: Count = _ABSENT


class Tokens(StrictModel):
    """Token counts of one decision."""

    prompt_tokens: Count = _ABSENT
    completion_tokens: Count = _ABSENT
    cached_tokens: Count = _ABSENT


class Usage(StrictModel):
    """Token counts per decision, where the adapter reported them."""

    select: Tokens = _ABSENT
    parameterize: Tokens = _ABSENT


_COMPLETED: Any = {"properties": {"status": {"const": "completed"}}, "required": ["status"]}
_ATTEMPTED: Any = {
    "properties": {"call": {"properties": {"attempted": {"const": True}}, "required": ["attempted"]}}
}
_GROUNDED: Any = {"properties": {"selection_grounded": {"const": True}}}
_CONDITIONS: list[Any] = [
    {
        "if": _COMPLETED,
        "then": {
            "not": {"required": ["error"]},
            "properties": {"discovery": _GROUNDED, "inspection": _GROUNDED},
        },
        "else": {"required": ["error"]},
    },
    {
        "if": {"allOf": [_COMPLETED, _ATTEMPTED]},
        "then": {"properties": {"call": {"properties": {"success": {"type": "boolean"}}}}},
        "else": {
            "properties": {
                "call": {
                    "properties": {"success": {"type": "null"}},
                    "not": {"required": ["result_nonempty"]},
                }
            }
        },
    },
    {
        "if": {"properties": {"metadata": {"properties": {"execute": {"const": False}}}}},
        "then": {"properties": {"call": {"properties": {"attempted": {"const": False}}}}},
        "else": {"if": _COMPLETED, "then": _ATTEMPTED},
    },
    {
        "if": {"properties": {"inspection": _GROUNDED}},
        "then": {"properties": {"discovery": _GROUNDED}},
    },
    {
        "if": {"properties": {"call": {"properties": {"success": {"const": False}}}}},
        "then": {"properties": {"call": {"properties": {"result_nonempty": {"const": False}}}}},
    },
]


class PublicRecord(StrictModel):
    """One trial as it may be published; `durations_ms` and `usage` under a version 2 policy only."""

    model_config = ConfigDict(json_schema_extra={"allOf": _CONDITIONS})

    schema_version: SchemaOne
    benchmark_version: Literal["v1", "v2"]
    run_id: SafeText
    model: SafeText
    metadata: Metadata
    task_id: SafeText
    trial: UpTo100
    started_at: Timestamp
    status: Literal["completed", "failed"]
    discovery: Discovery
    selection: Selection
    inspection: Inspection
    parameterization: Parameterization
    call: Call
    error: Error = _ABSENT
    finished_at: Timestamp
    source_record_sha256: Sha256
    durations_ms: Annotated[Durations, Field(description="version 2 policies only")] = _ABSENT
    usage: Annotated[Usage, Field(description="version 2 policies only")] = _ABSENT
