"""Field types of public artifacts, each with its JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

from discovercall.contract.record import is_reason_code
from discovercall.foundation.digests import is_sha256
from discovercall.foundation.ecmascript import (
    MAX_SAFE_INTEGER,
    SAFE_PATTERN,
    is_finite_number,
    is_integer,
    is_safe,
    strictly_equal,
)
from discovercall.foundation.models import refuse

TEXT_LIMIT = 256
RUNTIME_LIMIT = 128
TOOL_ID_LIMIT = 512
_TIME_PATTERN = (
    "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\\.[0-9]{3}Z"
)
_TIME = re.compile(rf"{_TIME_PATTERN}\Z")


class OpenModel(BaseModel):
    """A border model to which others may add fields."""

    model_config = ConfigDict(strict=True, extra="allow")


def is_timestamp(value: object) -> bool:
    """True for a real moment written exactly as `YYYY-MM-DDTHH:MM:SS.mmmZ`."""
    if not isinstance(value, str) or not _TIME.match(value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def checked(test: Callable[[Any], bool], rule: str) -> BeforeValidator:
    """A validator that lets a value through or refuses it with a rule ("must be …")."""

    def validate(value: Any) -> Any:
        if not test(value):
            raise refuse(rule)
        return value

    return BeforeValidator(validate)


def _whole(value: Any, low: int, high: int) -> int:
    if not is_integer(value) or not low <= value <= high:
        raise refuse(f"must be a whole number from {low} to {high}")
    return int(value)


def _text(limit: int) -> BeforeValidator:
    return checked(
        lambda value: is_safe(value, limit),
        f"must be a string of 1 to {limit} characters, not blank, without control or format characters",
    )


def _text_schema(limit: int) -> dict[str, Any]:
    return {
        "type": "string",
        "minLength": 1,
        "maxLength": limit,
        "pattern": SAFE_PATTERN,
    }


def _one(value: Any) -> Any:
    if not strictly_equal(value, 1):
        raise refuse("must be 1")
    return 1


def _rate(value: Any) -> Any:
    if not is_finite_number(value) or not 0 <= value <= 1:
        raise refuse("must be a number from 0 to 1")
    return value


SafeText = Annotated[str, _text(TEXT_LIMIT), WithJsonSchema(_text_schema(TEXT_LIMIT))]
RuntimeText = Annotated[str, _text(RUNTIME_LIMIT), WithJsonSchema(_text_schema(RUNTIME_LIMIT))]
ToolId = Annotated[str, _text(TOOL_ID_LIMIT), WithJsonSchema(_text_schema(TOOL_ID_LIMIT))]
Sha256 = Annotated[
    str,
    checked(is_sha256, "must be 64 lower-case hex digits"),
    WithJsonSchema({"type": "string", "pattern": "^[0-9a-f]{64}$"}),
]
Timestamp = Annotated[
    str,
    checked(is_timestamp, "must be a real time written as YYYY-MM-DDTHH:MM:SS.mmmZ"),
    WithJsonSchema({"type": "string", "pattern": f"^{_TIME_PATTERN}$"}),
]
ReasonCode = Annotated[
    str | None,
    checked(
        lambda value: value is None or is_reason_code(value),
        "must be null or 2 to 64 characters of a-z, 0-9 and _, the first a letter",
    ),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": "^[a-z][a-z0-9_]{1,63}$"}, {"type": "null"}]}),
]
SchemaOne = Annotated[int, BeforeValidator(_one), WithJsonSchema({"const": 1})]
UpTo100 = Annotated[
    int,
    BeforeValidator(partial(_whole, low=1, high=100)),
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": 100}),
]
Count = Annotated[
    int,
    BeforeValidator(partial(_whole, low=0, high=MAX_SAFE_INTEGER)),
    WithJsonSchema({"type": "integer", "minimum": 0, "maximum": MAX_SAFE_INTEGER}),
]
Rate = Annotated[Any, BeforeValidator(_rate), WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})]
