"""Scoring of one trial's parameters: required parameters and constraints.

The rules are those of method v2 to the letter, because published numbers depend on them; a change
needs a new method name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from discovercall.foundation.ecmascript import is_number, lower, number_text, trim
from discovercall.foundation.json_text import compact

_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_MALFORMED = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SEPARATORS = ("", "/", "-", "_", ":", " ")
_DECODE_ROUNDS = 2
_SHORT = 256


def supplied(parameters: Any, name: str) -> bool:
    """True when the parameter is present, not null and not the empty string."""
    return isinstance(parameters, (dict, Mapping)) and parameters.get(name) not in (None, "")


def required_parameter_accuracy(required: Any, parameters: Any) -> float:
    """Share of required parameters that were supplied, 0 to 1.

    Args:
        required: names; a nested list is a one-of group, which counts once. No list: nothing is required.
        parameters: what the adapter supplied; no object supplies nothing.
    """
    if not isinstance(required, list) or not required:
        return 1.0
    return sum([_requirement_met(item, parameters) for item in required]) / len(required)


def _requirement_met(item: Any, parameters: Any) -> bool:
    if isinstance(item, str):
        return supplied(parameters, item)
    if isinstance(item, list):
        return any(isinstance(name, str) and supplied(parameters, name) for name in item)
    return False


def constraint_accuracy(constraints: Sequence[Mapping[str, Any]], parameters: Any) -> float:
    """Share of constraints that the parameters satisfy, 0 to 1; 1 without constraints.

    Args:
        constraints: the task's constraints in file order.
        parameters: what the adapter supplied; no object satisfies none.
    """
    if not constraints:
        return 1.0
    if not isinstance(parameters, (dict, Mapping)):
        return 0.0
    return sum([_satisfied(c, constraints, parameters) for c in constraints]) / len(constraints)


def _satisfied(
    constraint: Mapping[str, Any],
    constraints: Sequence[Mapping[str, Any]],
    parameters: Mapping[str, Any],
) -> bool:
    decode = "url_decode" in (constraint.get("normalizers") or ())
    expected = normalize(constraint["value"], decode)
    contains = constraint.get("match") == "contains"
    alias_values = constraint.get("alias_values") or {}
    for alias in constraint["aliases"]:
        value = parameters.get(alias)
        if value in (None, ""):
            continue
        actual = normalize(value, decode)
        if (expected in actual) if contains else (expected == actual):
            return True
        if any(normalize(other, decode) == actual for other in alias_values.get(alias, ())):
            return True
    return any(
        supplied(parameters, alias)
        and normalize(parameters[alias], decode) in _composites(alias, constraints, decode)
        for alias in constraint.get("composite_aliases") or ()
    )


def _composites(alias: str, constraints: Sequence[Mapping[str, Any]], decode: bool) -> set[str]:
    parts = [
        normalize(c["value"], decode) for c in constraints if alias in (c.get("composite_aliases") or ())
    ]
    return {separator.join(parts) for separator in _SEPARATORS}


def normalize(value: Any, url_decode: bool) -> str:
    """The text by which two values are compared.

    Args:
        value: a JSON value; only strings are trimmed, lower-cased and decoded.
        url_decode: whether the constraint asks for URL decoding.
    """
    if isinstance(value, str):
        return (_known_text if len(value) <= _SHORT else _text)(value, url_decode)
    return number_text(value) if is_number(value) else compact(value)


def _text(value: str, url_decode: bool) -> str:
    text = lower(trim(value))
    return _url_decode(text) if url_decode else text


_known_text = lru_cache(maxsize=4096)(_text)  # a run repeats the values of its tasks


def _url_decode(text: str) -> str:
    text = text.replace("+", " ")
    for _ in range(_DECODE_ROUNDS):
        if _MALFORMED.search(text):
            break
        try:
            text = _ESCAPES.sub(lambda run: bytes.fromhex(run.group().replace("%", "")).decode(), text)
        except UnicodeDecodeError:
            break
    return text
