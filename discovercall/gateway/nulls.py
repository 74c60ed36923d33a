"""Takes the nulls that say "left out" from arguments that were made under a strict schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain, islice, product
from typing import Any

from discovercall.gateway.references import UnresolvedReferenceError, resolved

_MOST_READINGS = 256
_MOST_LEVELS = 8


@dataclass(frozen=True, slots=True)
class _Reading:
    """What an object may and must have, by one choice among a schema's alternatives."""

    properties: Mapping[str, Any]
    required: frozenset[str]

    def joined(self, other: _Reading) -> _Reading:
        return _Reading({**self.properties, **other.properties}, self.required | other.required)


_NOTHING = _Reading({}, frozenset())


def without_nulls(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the tool's own schema accepts them.

    Args:
        arguments: an object that the tool's strict schema accepts.
        schema: the tool's own schema; its required members keep their nulls.
    """
    return _Cleaner(schema).object(arguments, schema)


class _Cleaner:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = dict(root)

    def value(self, value: Any, schema: Any) -> Any:
        if isinstance(value, list):
            items = _followed(schema, self._root).get("items")
            return [self.value(item, items) for item in value]
        return self.object(value, schema) if isinstance(value, Mapping) else value

    def object(self, value: Mapping[str, Any], schema: Any) -> dict[str, Any]:
        """By the first reading whose outcome the schema accepts.

        Where it accepts none: by the first that knows all names and has what it requires, else by what holds
        whichever alternative is chosen.
        """
        schema = _followed(schema, self._root)
        readings = _first(_readings(schema, self._root, _MOST_LEVELS))
        if len(readings) == 1:
            return self._kept(value, readings[0])
        for reading in readings:
            outcome = self._kept(value, reading)
            if self._accepts(schema, outcome):
                return outcome
        fitting = (
            reading
            for reading in readings
            if set(value) <= set(reading.properties)
            and all(value.get(name) is not None for name in reading.required)
        )
        return self._kept(value, next(fitting, _certain(schema, self._root, _MOST_LEVELS)))

    def _kept(self, value: Mapping[str, Any], reading: _Reading) -> dict[str, Any]:
        return {
            name: self.value(item, reading.properties.get(name))
            for name, item in value.items()
            if item is not None or name in reading.required
        }

    def _accepts(self, schema: Any, value: Mapping[str, Any]) -> bool:
        from referencing.exceptions import Unresolvable

        judge = self._judge
        try:
            return judge is not None and bool(judge.evolve(schema=schema).is_valid(value))
        except (Unresolvable, RecursionError):
            return False

    @cached_property
    def _judge(self) -> Any:
        """A validator that follows the root's references; None where the root is no schema."""
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import validator_for

        kind = validator_for(self._root)
        try:
            kind.check_schema(self._root)
        except SchemaError:
            return None
        return kind(self._root)


def _readings(schema: Any, root: Mapping[str, Any], levels: int) -> Iterator[_Reading]:
    schema = _followed(schema, root)
    choices: list[list[_Reading]] = []
    if levels:
        choices += [_first(_readings(part, root, levels - 1)) for part in _list(schema, "allOf")]
        for keyword in ("anyOf", "oneOf"):
            found = (_readings(branch, root, levels - 1) for branch in _list(schema, keyword))
            choices.append(_first(chain.from_iterable(found)) or [_NOTHING])
    for chosen in product(*choices):
        yield reduce(_Reading.joined, chosen, _own(schema))


def _first(readings: Iterable[_Reading]) -> list[_Reading]:
    return list(islice(readings, _MOST_READINGS))


def _certain(schema: Any, root: Mapping[str, Any], levels: int) -> _Reading:
    schema = _followed(schema, root)
    parts = _list(schema, "allOf") if levels else []
    return reduce(_Reading.joined, (_certain(part, root, levels - 1) for part in parts), _own(schema))


def _own(schema: Mapping[str, Any]) -> _Reading:
    properties, required = schema.get("properties"), _list(schema, "required")
    return _Reading(
        properties if isinstance(properties, Mapping) else {},
        frozenset(name for name in required if isinstance(name, str)),
    )


def _list(schema: Mapping[str, Any], keyword: str) -> list[Any]:
    found = schema.get(keyword)
    return found if isinstance(found, list) else []


def _followed(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        schema, _ = resolved(schema, root)
    except UnresolvedReferenceError:
        return {}
    return schema if isinstance(schema, Mapping) else {}
