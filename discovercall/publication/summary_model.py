"""The shape of a summary, of private or of public records."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from discovercall.foundation.models import StrictModel
from discovercall.publication.fields import (
    Count,
    OpenModel,
    Rate,
    SchemaOne,
    Sha256,
    Timestamp,
)

_ABSENT: Any = None
RateOrNull = Annotated[
    Rate | None, WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "null"}]})
]
Interval = Annotated[list[Rate], Field(min_length=2, max_length=2)]
Positive = Annotated[Count, Field(json_schema_extra={"minimum": 1})]


class ModelEntry(StrictModel):
    """Rates and failures of one model."""

    model: str
    lane: str
    tasks: Positive
    trials_per_task: Positive
    runs: Positive
    completed: Count
    executed: Count
    selection_grounded_rate: Rate
    inspection_grounded_rate: Rate
    required_parameter_accuracy: Rate
    constraint_accuracy: Rate
    call_success_rate: RateOrNull
    result_nonempty_rate: RateOrNull
    pre_result_gate_workflow_success_rate: Rate
    workflow_success_rate: RateOrNull
    workflow_success_task_cluster_bootstrap_95: Interval | None
    failures_by_stage: dict[str, Count]
    failures_by_reason: dict[str, Count]


class Score(StrictModel):
    """The score of one record."""

    run_id: str
    task_id: str
    model: str
    trial: Positive
    completed: bool
    executed: bool
    selection_grounded: bool
    inspection_grounded: bool
    required_parameter_accuracy: Rate
    constraint_accuracy: Rate
    call_success: bool | None
    result_nonempty: bool | None
    pre_result_gate_workflow_success: bool
    workflow_success: bool | None
    # Private records may carry anything there; a public record's error is closed by its own model.
    error_stage: Any
    error_reason: Any
    metadata: Annotated[Any, Field(description="as the record has it; absent where it has none")] = _ABSENT


class Quantiles(StrictModel):
    """Nearest-rank quantiles."""

    p50: Annotated[float, Field(ge=0)]
    p95: Annotated[float, Field(ge=0)]


class ModelExtras(OpenModel):
    """What we say of a model beyond method v2."""

    model: str
    workflow_success_headline_95: Interval | None
    pass_hat_k: dict[str, Rate] | None
    intra_task_correlation: float | None
    design_effect: float | None
    required_parameter_accuracy_inspected: RateOrNull
    durations_ms: dict[str, Quantiles | None]
    usage: dict[str, dict[str, Quantiles | None]]


class Extras(StrictModel):
    """What we say beyond method v2; the digests and `rehearsal` are in published summaries."""

    models: Annotated[list[ModelExtras], Field(min_length=1)]
    rehearsal: bool = _ABSENT
    runs_sha256: Annotated[Sha256, Field(description="SHA-256 of the records file")] = _ABSENT
    summary_sha256: Annotated[
        Sha256, Field(description="SHA-256 of this summary's compact JSON without this field")
    ] = _ABSENT


class Summary(StrictModel):
    """Scores of one or several models over one task set."""

    schema_version: SchemaOne
    methodology: Literal["discover-call-v1", "discover-call-v2"]
    generated_at: Timestamp | None
    models: Annotated[list[ModelEntry], Field(min_length=1)]
    records: Annotated[list[Score], Field(min_length=1)]
    discovercall: Extras = _ABSENT
