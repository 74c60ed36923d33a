"""What pydantic models at the borders share: field types with ECMAScript's rules, and clear errors."""

from __future__ import annotations

import difflib
import re
from collections.abc import Hashable, Sequence
from typing import Annotated, Any, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from discovercall.foundation.ecmascript import is_blank, is_finite_number
from discovercall.foundation.errors import InputError
from discovercall.foundation.shown import NAME_LIMIT, shown_line, shown_name

ModelT = TypeVar("ModelT", bound=BaseModel)
ItemT = TypeVar("ItemT", bound=Hashable)
_SUBJECT = re.compile(r"(?:Value error, |(?:Input|Value|List|Dictionary|String) (?=should ))")
_NO_OBJECT = frozenset({"dict_type", "model_type"})  # pydantic's words for these name Python's types


class StrictModel(BaseModel):
    """A border model that takes no field it does not know, and no value of another type."""

    model_config = ConfigDict(strict=True, extra="forbid")


def refuse(rule: str) -> PydanticCustomError:
    """The error of a validator; `rule` says what would be right ("must be …")."""
    return PydanticCustomError("rule", "{rule}", {"rule": rule})


def _not_blank(value: Any) -> Any:
    if not isinstance(value, str) or is_blank(value):
        raise refuse("must be a string that is not blank")
    return value


def _primitive(value: Any) -> Any:
    if isinstance(value, str):
        return _not_blank(value)
    if not isinstance(value, bool) and not is_finite_number(value):
        raise refuse("must be a string, a finite number or a boolean")
    return value


def unique(values: list[ItemT]) -> list[ItemT]:
    """Validator: no two items are equal."""
    if len(set(values)) != len(values):
        raise refuse("must not name anything twice")
    return values


NotBlank = Annotated[
    str, BeforeValidator(_not_blank), Field(pattern=None, json_schema_extra={"pattern": r"\S"})
]
Primitive = Annotated[
    Any,
    BeforeValidator(_primitive),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": r"\S"}, {"type": ["number", "boolean"]}]}),
]
UniqueTexts = Annotated[
    list[NotBlank], AfterValidator(unique), Field(json_schema_extra={"uniqueItems": True})
]


def field_path(location: Sequence[str | int]) -> str:
    """`constraints[0].aliases` from a pydantic error location."""
    path = ""
    for part in location:
        name = part if isinstance(part, int) else shown_line(part, NAME_LIMIT)
        path += f"[{name}]" if isinstance(part, int) else (f".{name}" if path else str(name))
    return path


class FaultsError(InputError):
    """A value with something wrong. It speaks of the first fault and has all of them.

    Args:
        faults: at least one.
    """

    def __init__(self, faults: Sequence[InputError]) -> None:
        super().__init__(faults[0].what, where=faults[0].where, fix=faults[0].fix)
        self.faults = tuple(faults)


def faults_of(error: InputError) -> tuple[InputError, ...]:
    """All that was wrong: the error itself unless it has several."""
    return error.faults if isinstance(error, FaultsError) else (error,)


def check(model: type[ModelT], value: Any, where: str) -> ModelT:
    """Validate a value at the border.

    Args:
        model: the pydantic model.
        value: parsed JSON.
        where: file and line, or another name of the value.

    Raises:
        FaultsError: names `where`, the field and what would be right, for each problem.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        raise FaultsError([_fault(model, one, where) for one in found]) from None


def sound_fields(model: type[BaseModel], value: Any) -> dict[str, Any]:
    """The fields of a value that are as a model wants them, those that are absent with their defaults.

    Args:
        model: a pydantic model that is strict and whose fields have no other names in JSON.
        value: parsed JSON.
    """
    if not isinstance(value, dict):
        return {}
    wrong: set[Any] = set()
    try:
        model.model_validate(value)
    except ValidationError as error:
        wrong = {one["loc"][0] for one in error.errors(include_url=False, include_input=False) if one["loc"]}
    return {
        name: value.get(name, field.default)
        for name, field in model.model_fields.items()
        if name not in wrong
    }


def _fault(model: type[BaseModel], found: ErrorDetails, where: str) -> InputError:
    location = found["loc"]
    if found["type"] == "extra_forbidden":
        return unknown_field(location, _fields(model, location[:-1]), where)
    at = field_path(location)
    said = "must be a JSON object" if found["type"] in _NO_OBJECT else found["msg"]
    message = _SUBJECT.sub("", said, count=1).replace(" after validation", "")
    return InputError(message[:1].lower() + message[1:], where=f"{where}: {at}" if at else where)


def unknown_field(location: Sequence[str | int], known: Sequence[str], where: str) -> InputError:
    """The error of a field that nobody knows, with the one that it may be meant for, or all.

    Args:
        location: of the field, as in a pydantic error.
        known: names of the fields that can stand there.
        where: file and line, or another name of the value.
    """
    name = str(location[-1])
    fix = f"known are {', '.join(known)}" if known else None
    if meant := difflib.get_close_matches(name, known, cutoff=0.75):
        fix = f"did you mean {' or '.join(meant)}?"
    at = field_path((*location[:-1], shown_name(name)))  # the name is anybody's text
    return InputError("unknown field", where=f"{where}: {at}", fix=fix)


def _fields(model: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """The names of the fields at a location; none where several models can stand there."""
    models = [model]
    for part in location:
        for one in models:
            if part in (fields := _named(one)):
                models = _models_in(fields[str(part)])
                break  # else it is a place in a list, a key of a mapping or the choice of a union
    return list(_named(models[0])) if len(models) == 1 else []


def _named(model: type[BaseModel]) -> dict[str, Any]:
    """The annotation of each field, by the name that it has in JSON."""
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for inner in get_args(annotation) for model in _models_in(inner)]
