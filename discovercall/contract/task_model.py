"""The shape of one task line."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from discovercall.foundation.ecmascript import (
    SAFE_PATTERN,
    is_finite_number,
    is_number,
    is_safe,
)
from discovercall.foundation.models import NotBlank, Primitive, UniqueTexts, refuse, unique

_ID_LIMIT = 256


class _Model(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


def _task_id(value: str) -> str:
    if not is_safe(value, _ID_LIMIT):
        raise refuse(
            f"must have 1 to {_ID_LIMIT} characters, no control, format or surrogate ones among them"
        )
    return value


def _finite_at_any_depth(value: Any) -> Any:
    if not isinstance(value, dict):
        raise refuse("must be a JSON object")
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif is_number(item) and not is_finite_number(item):
            raise refuse("must hold only finite numbers")
    return value


class Constraint(_Model):
    """What a parameter must be for the task to count as understood."""

    id: NotBlank
    aliases: Annotated[UniqueTexts, Field(min_length=1)]
    value: Primitive
    match: Literal["equals", "contains"] = "equals"
    composite_aliases: UniqueTexts = []
    normalizers: list[Literal["url_decode"]] = []
    alias_values: dict[str, Annotated[list[Primitive], Field(min_length=1)]] = {}

    @model_validator(mode="after")
    def _alias_values_name_aliases(self) -> Self:
        if not set(self.alias_values) <= set(self.aliases):
            raise refuse("alias_values may name only the constraint's own aliases")
        return self


class Candidate(_Model):
    """A tool and the parameters that fulfil the task with it."""

    tool_id: NotBlank
    # Any: a model of recursive JSON would limit its depth.
    parameters: Annotated[
        Any, BeforeValidator(_finite_at_any_depth), Field(json_schema_extra={"type": "object"})
    ]


class Reference(_Model):
    """The curated route: candidates in order of preference, or why there is none."""

    model_config = ConfigDict(
        strict=True,
        extra="allow",
        json_schema_extra={
            "anyOf": [
                {"properties": {"candidates": {"minItems": 1}}},
                {"required": ["unavailable_reason"]},
            ]
        },
    )

    candidates: list[Candidate]
    unavailable_reason: NotBlank = ""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        unique([candidate.tool_id for candidate in self.candidates])
        if not self.candidates and not self.unavailable_reason:
            raise refuse("needs unavailable_reason where candidates is empty")
        return self


class TaskLine(_Model):
    """One line of a task set."""

    id: Annotated[
        NotBlank,
        AfterValidator(_task_id),
        Field(max_length=_ID_LIMIT, json_schema_extra={"pattern": SAFE_PATTERN}),
    ]
    prompt: NotBlank
    discover_query: NotBlank = ""
    constraints: Annotated[list[Constraint], Field(min_length=1)]
    reference: Reference | None = None
    oracle: Annotated[Reference | None, Field(description="old name of reference")] = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        ids = [constraint.id for constraint in self.constraints]
        if len(set(ids)) != len(ids):
            raise refuse("constraints must have different ids")
        if self.reference is not None and self.oracle is not None:
            raise refuse("oracle is the old name of reference: give one of them")
        return self
