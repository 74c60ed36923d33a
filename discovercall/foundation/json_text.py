"""JSON as ECMAScript's `JSON.stringify` writes it: integer-like keys first, numbers by ECMA-262, lone
surrogates escaped. Integers beyond 2^53 keep their digits, and there is no limit of depth.

Most values are shallow and most of a run's records alike, so a recursive writer, which remembers the texts
of keys and of an object that several neighbours share, does the work; deep values fall back to iteration.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from json.encoder import encode_basestring  # what json.dumps with ensure_ascii=False uses
from typing import Any

from discovercall.foundation.ecmascript import MAX_SAFE_INTEGER, array_index, number_text

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_DEPTH = 100
_INDENT = "  "
_KEY_LIMIT, _KEYS_LIMIT = 64, 4096
# Texts of keys that are no array indexes, by what follows a key; every record has the same few.
_KEYS: dict[str, dict[str, str]] = {":": {}, ": ": {}}


class _TooDeep(Exception):
    pass


def ordered_items(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """The entries of an object in ECMAScript's order: array-index keys ascending, then insertion order."""
    indexed = sorted((index, key) for key in value if (index := array_index(key)) is not None)
    if not indexed:
        return list(value.items())
    first = {key for _, key in indexed}
    return [(key, value[key]) for _, key in indexed] + [(k, v) for k, v in value.items() if k not in first]


def compact(value: Any) -> str:
    """`JSON.stringify(value)`: no spaces, non-ASCII kept. Infinities and NaN become null."""
    return _Writer("").text(value, 0)


def pretty(value: Any) -> str:
    """`JSON.stringify(value, null, 2)`, without a final newline."""
    return _Writer(_INDENT).text(value, 0)


def pretty_pieces(value: dict[str, Any]) -> Iterator[str]:
    """The pieces of `pretty(value)`, so that a long text need never be in memory whole.

    Args:
        value: an object; each item of a list in it is a piece.
    """
    writer = _Writer(_INDENT)
    lead = "{\n" + _INDENT
    for key, member in ordered_items(value):
        yield f"{lead}{string_text(key)}: "
        lead = ",\n" + _INDENT
        if isinstance(member, (list, tuple)) and member:
            opener = "[\n"
            for item in member:
                yield f"{opener}{_INDENT * 2}{writer.text(item, 2)}"
                opener = ",\n"
            yield f"\n{_INDENT}]"
        else:
            yield writer.text(member, 1)
    yield "\n}" if value else "{}"


def compact_bytes(value: Any) -> bytes:
    """UTF-8 bytes of the compact text."""
    return compact(value).encode("utf-8")


def compact_lines(values: Iterable[Any]) -> Iterator[bytes]:
    """UTF-8 bytes of the compact text of each value, with a newline."""
    writer = _Writer("")
    for value in values:
        yield (writer.text(value, 0) + "\n").encode("utf-8")


def string_text(value: str) -> str:
    """A string as a JSON literal, lone surrogates escaped."""
    text: str = encode_basestring(value)
    if value.isascii():
        return text
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _scalar_text(value: Any) -> str:
    if isinstance(value, str):
        return string_text(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) > MAX_SAFE_INTEGER else number_text(value)
    if isinstance(value, float):
        return number_text(value) if math.isfinite(value) else "null"
    raise TypeError(f"{type(value).__name__} is no JSON value")


class _Writer:
    def __init__(self, indent: str) -> None:
        self._indent = indent
        self._colon = ": " if indent else ":"
        self._keys = _KEYS[self._colon]
        self._shared: dict[int, tuple[dict[str, Any], str]] = {}

    def text(self, value: Any, depth: int) -> str:
        """The text of a value that stands at a depth of the whole."""
        try:
            return self._value(value, depth)
        except _TooDeep:
            return "".join(_tokens(value, self._indent, depth))

    def _value(self, value: Any, depth: int) -> str:
        if isinstance(value, dict):
            return self._object(value, depth)
        if isinstance(value, (list, tuple)):
            if depth > _DEPTH:
                raise _TooDeep
            return self._joined("[", [self._value(item, depth + 1) for item in value], "]", depth)
        return _scalar_text(value)

    def _object(self, value: dict[str, Any], depth: int) -> str:
        if depth > _DEPTH:
            raise _TooDeep
        known, text = self._shared.get(depth, (None, ""))
        if known is value:
            return text
        try:
            parts = self._members(value.items(), self._keys, depth)
        except KeyError:  # a new key, or an array index, which has its own place
            self._remember(value)
            leads = {key: string_text(key) + self._colon for key in value}
            parts = self._members(ordered_items(value), leads, depth)
        text = self._joined("{", parts, "}", depth)
        self._shared[depth] = value, text
        return text

    def _members(self, items: Iterable[tuple[str, Any]], leads: Mapping[str, str], depth: int) -> list[str]:
        parts = []
        for key, member in items:
            lead = leads[key]
            kind = type(member)
            if kind is str:
                parts.append(lead + (encode_basestring(member) if member.isascii() else string_text(member)))
            elif member is None:
                parts.append(f"{lead}null")
            elif kind is bool:
                parts.append(f"{lead}true" if member else f"{lead}false")
            elif kind is int and -MAX_SAFE_INTEGER <= member <= MAX_SAFE_INTEGER:
                parts.append(f"{lead}{member}")
            elif kind is float:
                parts.append(lead + (number_text(member) if math.isfinite(member) else "null"))
            else:
                parts.append(lead + self._value(member, depth + 1))
        return parts

    def _remember(self, keys: Iterable[str]) -> None:
        if len(self._keys) > _KEYS_LIMIT:
            self._keys.clear()
        for key in keys:
            if len(key) <= _KEY_LIMIT and key not in self._keys and array_index(key) is None:
                self._keys[key] = string_text(key) + self._colon

    def _joined(self, opener: str, parts: list[str], closer: str, depth: int) -> str:
        if not self._indent or not parts:
            return f"{opener}{','.join(parts)}{closer}"
        outer = "\n" + self._indent * depth
        inner = outer + self._indent
        return f"{opener}{inner}{f',{inner}'.join(parts)}{outer}{closer}"


def _tokens(root: Any, indent: str, depth: int) -> Iterator[str]:
    colon = ": " if indent else ":"
    stack: list[Iterator[tuple[str | None, Any]]] = []
    closers: list[str] = []
    pending: tuple[str | None, Any] | None = (None, root)
    first = True
    while True:
        if pending is None:
            line = f"\n{indent * (depth + len(stack) - 1)}"
            yield (line if indent and not first else "") + closers.pop()
            stack.pop()
            first = False
        else:
            key, value = pending
            if stack:
                yield ("" if first else ",") + (f"\n{indent * (depth + len(stack))}" if indent else "")
            if key is not None:
                yield string_text(key) + colon
            if isinstance(value, dict):
                yield "{"
                stack.append(iter(ordered_items(value)))
                closers.append("}")
                first = True
            elif isinstance(value, (list, tuple)):
                yield "["
                stack.append((None, item) for item in value)
                closers.append("]")
                first = True
            else:
                yield _scalar_text(value)
                first = False
        if not stack:
            return
        pending = next(stack[-1], None)
