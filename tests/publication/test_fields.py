"""The field types of public artifacts: what they take, what they refuse, and what their schemas say."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import TypeAdapter, ValidationError, WithJsonSchema

from discovercall.contract.record import is_reason_code
from discovercall.foundation.ecmascript import SAFE_PATTERN
from discovercall.publication.fields import (
    Count,
    Rate,
    ReasonCode,
    SafeText,
    SchemaOne,
    Timestamp,
    UpTo100,
    _text,
    _text_schema,
    checked,
    is_timestamp,
)


def refusal(kind: Any, value: Any) -> str:
    """What is said of a value that is none of a kind."""
    with pytest.raises(ValidationError) as error:
        TypeAdapter(kind).validate_python(value)
    return str(error.value.errors()[0]["msg"])


@pytest.mark.parametrize(
    ("value", "real"),
    [
        ("2026-11-30T23:59:59.999Z", True),
        ("2024-02-29T00:00:00.000Z", True),
        ("2026-02-29T00:00:00.000Z", False),
        ("2026-11-31T00:00:00.000Z", False),
        ("0000-01-01T00:00:00.000Z", False),
        ("2026-11-30T24:00:00.000Z", False),
        ("2026-11-30T23:59:60.000Z", False),
        ("2026-11-30T23:59:59Z", False),
        ("2026-11-30T23:59:59.999+00:00", False),
        ("2026-11-30T23:59:59.999Z\n", False),
        (" 2026-11-30T23:59:59.999Z", False),
        (20261130, False),
        (None, False),
    ],
)
def test_a_timestamp_is_a_real_moment_in_one_spelling(value: Any, real: bool) -> None:
    assert is_timestamp(value) is real
    if real:
        assert TypeAdapter(Timestamp).validate_python(value) == value
    else:
        assert refusal(Timestamp, value) == "must be a real time written as YYYY-MM-DDTHH:MM:SS.mmmZ"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("a0", True),
        ("http_503", True),
        ("a" * 64, True),
        ("a" * 65, False),
        ("a", False),
        ("0a", False),
        ("_a", False),
        ("Ab", False),
        ("a-b", False),
        ("ab\n", False),
        (None, False),
        (5, False),
    ],
)
def test_a_reason_code_is_a_short_plain_word(value: Any, code: bool) -> None:
    assert is_reason_code(value) is code
    if code or value is None:
        assert TypeAdapter(ReasonCode).validate_python(value) == value
    else:
        assert refusal(ReasonCode, value) == (
            "must be null or 2 to 64 characters of a-z, 0-9 and _, the first a letter"
        )


@pytest.mark.parametrize(("kind", "low", "high"), [(UpTo100, 1, 100), (Count, 0, 2**53 - 1)])
def test_whole_numbers_have_both_their_limits(kind: Any, low: int, high: int) -> None:
    for value in (low, high, float(low + 1)):
        found = TypeAdapter(kind).validate_python(value)
        assert (found, type(found)) == (value, int)
    for other in (low - 1, high + 1, low + 0.5, True, str(low), None):
        assert refusal(kind, other) == f"must be a whole number from {low} to {high}"


def test_a_rate_is_a_number_from_0_to_1() -> None:
    for value in (0, 1, 0.0, 0.5, 1.0):
        found = TypeAdapter(Rate).validate_python(value)
        assert (found, type(found)) == (value, type(value))
    for other in (-0.001, 1.001, float("nan"), float("inf"), True, "1", None):
        assert refusal(Rate, other) == "must be a number from 0 to 1"


def test_the_schema_version_is_one() -> None:
    assert TypeAdapter(SchemaOne).validate_python(1.0) == 1
    assert type(TypeAdapter(SchemaOne).validate_python(1.0)) is int
    for value in (0, 2, True, "1", None):
        assert refusal(SchemaOne, value) == "must be 1"


def test_a_text_has_its_limit_in_its_rule_and_in_its_schema() -> None:
    kind = Annotated[str, _text(3), WithJsonSchema(_text_schema(3))]
    assert TypeAdapter(kind).validate_python("abc") == "abc"
    for value in ("", " ", "abcd", "a\n", None, 5):
        assert refusal(kind, value) == (
            "must be a string of 1 to 3 characters, not blank, without control or format characters"
        )
    assert TypeAdapter(kind).json_schema() == {
        "type": "string",
        "minLength": 1,
        "maxLength": 3,
        "pattern": SAFE_PATTERN,
    }
    assert refusal(SafeText, "a" * 257).startswith("must be a string of 1 to 256 characters")


def test_a_checked_value_goes_through_as_it_is_or_is_refused_with_its_rule() -> None:
    kind = Annotated[Any, checked(lambda value: value == [1], "must be [1]")]
    value = [1]
    assert TypeAdapter(kind).validate_python(value) is value
    assert refusal(kind, [2]) == "must be [1]"
