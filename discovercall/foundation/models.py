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
from pydantic_core import PydanticCustomError

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


def check(model: type[ModelT], value: Any, where: str) -> ModelT:
    """Validate a value at the border.

    Args:
        model: the pydantic model.
        value: parsed JSON.
        where: file and line, or another name of the value.

    Raises:
        InputError: names `where`, the field and what would be right, for the first problem.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        location = first["loc"]
        if first["type"] == "extra_forbidden":
            raise unknown_field(location, _fields(model, location[:-1]), where) from None
        at = field_path(location)
        said = "must be a JSON object" if first["type"] in _NO_OBJECT else first["msg"]
        message = _SUBJECT.sub("", said, count=1).replace(" after validation", "")
        raise InputError(message[:1].lower() + message[1:], where=f"{where}: {at}" if at else where) from None


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
