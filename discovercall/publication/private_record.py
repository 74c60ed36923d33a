"""The shape of a private record as `discovercall run` writes it; others may add fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema

from discovercall.contract.record import MAX_MESSAGE
from discovercall.publication.fields import (
    OpenModel,
    ReasonCode,
    RuntimeText,
    SafeText,
    SchemaOne,
    Sha256,
    Timestamp,
    UpTo100,
    checked,
)
from discovercall.publication.public_record import Durations, ErrorStage, Usage

_ABSENT: Any = None
Digest = Annotated[
    Sha256 | Literal["pending"],
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": "^[0-9a-f]{64}$"}, {"const": "pending"}]}),
]
# Any: a model of recursive JSON would limit its depth.
Parameters = Annotated[
    Any,
    checked(lambda value: value is None or isinstance(value, dict), "must be a JSON object or null"),
    WithJsonSchema({"type": ["object", "null"]}),
]


class PrivateRuntime(OpenModel):
    """Where the harness ran."""

    model_config = ConfigDict(
        strict=True,
        extra="allow",
        json_schema_extra={"anyOf": [{"required": ["python"]}, {"required": ["node"]}]},
    )

    python: RuntimeText = _ABSENT
    node: RuntimeText = _ABSENT
    platform: RuntimeText
    arch: RuntimeText


class PrivateMetadata(OpenModel):
    """Where a record comes from; three fields are pending until the run ends."""

    lane: Literal["reference", "configured-model", "pinned-model", "current-model"]
    model_revision: SafeText
    adapter_revision: SafeText
    toolkit_revision: SafeText
    task_set_sha256: Sha256
    api_base_url: SafeText
    api_revision: str
    catalog_revision: str
    catalog_observation_sha256: Digest
    runtime: PrivateRuntime
    discovery_limit: UpTo100
    execute: bool


class PrivateDiscovery(OpenModel):
    """What discovery listed."""

    result_tool_ids: list[str]


class PrivateSelection(OpenModel):
    """What the adapter selected."""

    tool_id: str | None


class PrivateInspection(OpenModel):
    """What inspection returned, and which parameters the tool requires; a nested list is a one-of group."""

    returned_tool_ids: list[str]
    required_parameters: list[str | list[str]]


class PrivateCall(OpenModel):
    """The billed call."""

    attempted: bool
    success: bool | None
    result_nonempty: bool = _ABSENT


class PrivateError(OpenModel):
    """The gate at which the trial failed."""

    stage: ErrorStage
    reason_code: ReasonCode
    message: Annotated[str, Field(max_length=MAX_MESSAGE)]


_FAILED: dict[str, Any] = {"properties": {"status": {"const": "failed"}}, "required": ["status"]}


class PrivateRecord(OpenModel):
    """One trial with its raw evidence; never to be published."""

    model_config = ConfigDict(
        strict=True,
        extra="allow",
        json_schema_extra={
            "if": _FAILED,
            "then": {"required": ["error"]},
            "else": {"not": {"required": ["error"]}},
        },
    )

    schema_version: SchemaOne
    benchmark_version: Literal["v2"]
    run_id: SafeText
    model: SafeText
    metadata: PrivateMetadata
    task_id: SafeText
    trial: UpTo100
    started_at: Timestamp
    status: Literal["completed", "failed"]
    discovery: PrivateDiscovery
    selection: PrivateSelection
    inspection: PrivateInspection
    parameters: Parameters
    call: PrivateCall
    error: PrivateError = _ABSENT
    finished_at: Timestamp
    durations_ms: Durations = _ABSENT
    usage: Usage = _ABSENT


class OldCall(OpenModel):
    """The billed call in records of method v1; `result_valid` is the old name of `result_nonempty`."""

    attempted: bool
    success: bool | None = _ABSENT
    result_nonempty: bool | None = _ABSENT
    result_valid: bool | None = _ABSENT


class PrivateRecordV1(OpenModel):
    """One trial as method v1 recorded it: little provenance, and a failed one may lack its error."""

    schema_version: SchemaOne
    benchmark_version: Literal["v1"]
    run_id: SafeText
    model: SafeText
    metadata: dict[str, Any] = _ABSENT
    task_id: SafeText
    trial: UpTo100
    status: Literal["completed", "failed"]
    discovery: PrivateDiscovery
    selection: PrivateSelection
    inspection: PrivateInspection
    parameters: Parameters
    call: OldCall
    error: Annotated[dict[str, Any], WithJsonSchema({"type": ["object", "null"]})] = _ABSENT
