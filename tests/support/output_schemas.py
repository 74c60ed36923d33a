"""Holds what a command printed against its committed schema."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

SCHEMAS = Path(__file__).parents[2] / "schemas"


@functools.cache
def validator(name: str) -> Draft202012Validator:
    """The validator of `schemas/<name>.schema.json`, itself checked."""
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_bytes())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def checked(name: str, printed: str) -> Any:
    """What was printed, parsed; it fits its schema, and has no member that the schema does not name."""
    document = json.loads(printed)
    validator(name).validate(document)
    schema: Any = validator(name).schema
    known = schema["properties"]
    assert set(document) <= set(known), set(document) - set(known)
    return document
