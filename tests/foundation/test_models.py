from typing import Annotated

import pytest
from pydantic import BaseModel, ConfigDict, Field

from discovercall.foundation.errors import InputError
from discovercall.foundation.models import NotBlank, Primitive, UniqueTexts, check, field_path

PRIMITIVE = "must be a string, a finite number or a boolean"
TEXT = "must be a string that is not blank"


class Inner(BaseModel):
    value: Primitive
    names: UniqueTexts = []


class Outer(BaseModel):
    model_config = ConfigDict(strict=True)
    name: NotBlank
    count: Annotated[int, Field(ge=1)] = 1
    aliases: Annotated[UniqueTexts, Field(min_length=1)] = ["x"]
    parts: list[Inner] = []
    choices: dict[str, list[Primitive]] = {}


def complaint(value):
    with pytest.raises(InputError) as refused:
        check(Outer, value, "a.json:3")
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "a.json:3: name: field required"),
        ({"name": None}, f"a.json:3: name: {TEXT}"),
        ({"name": "\u3000"}, f"a.json:3: name: {TEXT}"),
        ({"name": "a", "count": 0}, "a.json:3: count: should be greater than or equal to 1"),
        ({"name": "a", "count": "1"}, "a.json:3: count: should be a valid integer"),
        ({"name": "a", "aliases": []}, "a.json:3: aliases: should have at least 1 item, not 0"),
        ({"name": "a", "parts": {}}, "a.json:3: parts: should be a valid list"),
        ({"name": "a", "parts": [{"value": 1}, {"value": []}]}, f"a.json:3: parts[1].value: {PRIMITIVE}"),
        ({"name": "a", "parts": [{"value": float("inf")}]}, f"a.json:3: parts[0].value: {PRIMITIVE}"),
        ({"name": "a", "parts": [{"value": " "}]}, f"a.json:3: parts[0].value: {TEXT}"),
        (
            {"name": "a", "parts": [{"value": 1, "names": ["x", "y", "x"]}]},
            "a.json:3: parts[0].names: must not name anything twice",
        ),
        ({"name": "a", "choices": {"k": [None]}}, f"a.json:3: choices.k[0]: {PRIMITIVE}"),
        ([], "a.json:3: must be a JSON object"),
    ],
)
def test_the_first_problem_is_told_with_its_place_and_what_would_be_right(value, message):
    assert complaint(value) == message


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    first: int = 1
    passed: Annotated[bool, Field(alias="pass")] = True
    within: "Closed | None" = None
    by_name: "dict[str, Closed]" = {}
    parts: "list[Closed]" = []
    either: "Closed | Other | None" = None


class Other(BaseModel):
    model_config = ConfigDict(extra="forbid")


ALL = "known are first, pass, within, by_name, parts, either"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"frist": 1}, "frist: unknown field; did you mean first?"),
        ({"zzz": 1}, f"zzz: unknown field; {ALL}"),
        ({"passed": False}, "passed: unknown field; did you mean pass?"),
        ({"within": {"zzz": 1}}, f"within.zzz: unknown field; {ALL}"),
        ({"by_name": {"x": {"part": 1}}}, "by_name.x.part: unknown field; did you mean parts?"),
        ({"parts": [{}, {"zzz": 1}]}, f"parts[1].zzz: unknown field; {ALL}"),
        ({"either": {"zzz": 1}}, "either.Closed.zzz: unknown field"),
        ({"a\nb": 1}, f"a b: unknown field; {ALL}"),
    ],
)
def test_an_unknown_field_is_told_with_the_known_ones(value, message):
    with pytest.raises(InputError) as refused:
        check(Closed, value, "a.json:3")
    assert str(refused.value) == f"a.json:3: {message}"


def test_a_message_never_repeats_the_value():
    assert "secret" not in complaint({"name": "a", "count": "secret"})


def test_what_fits_comes_back_as_the_model():
    checked = check(Outer, {"name": "a", "parts": [{"value": True, "names": ["x"]}]}, "x")
    assert checked.parts[0].value is True
    assert checked.parts[0].names == ["x"]


def test_field_paths_read_like_code():
    assert field_path(("a", 0, "b", "c", 12)) == "a[0].b.c[12]"
    assert field_path(()) == ""
