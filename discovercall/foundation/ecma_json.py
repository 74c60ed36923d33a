"""JSON as ECMAScript reads and writes it, without a limit of depth.

Standard `json` recurses, so a deeply nested answer would break after it was paid for. Reading falls back
to an iterative parser; writing is iterative. Written text is what `JSON.stringify` gives: integer-like
keys first, numbers by ECMA-262, lone surrogates escaped. Integers beyond 2^53 keep their digits.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]  # documented nowhere, stable since 2.7
from typing import Any, NoReturn

from discovercall.foundation.ecmascript import MAX_SAFE_INTEGER, array_index, number_text

BYTE_ORDER_MARK = "\ufeff"
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_SPACE = re.compile(r"[ \t\n\r]*")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None}
_INTEGER_DIGITS = 400  # beyond the range of a double; also keeps clear of quadratic int parsing


class JsonError(ValueError):
    """Text that is no JSON; `position` is the offset in characters."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


def _parse_int(text: str) -> int | float:
    return int(text) if len(text) <= _INTEGER_DIGITS else float(text)


def _refuse_constant(name: str) -> NoReturn:
    raise JsonError(f"{name} is not JSON", 0)


def loads(text: str) -> Any:
    """Parse one JSON value of any depth.

    Args:
        text: JSON text; duplicate keys: the last one wins; NaN and Infinity are refused; a number too
            large for a double becomes an infinity.

    Raises:
        JsonError: the text is no JSON.
    """
    try:
        return json.loads(text, parse_int=_parse_int, parse_constant=_refuse_constant)
    except RecursionError:
        return _Reader(text).document()
    except json.JSONDecodeError as error:
        raise JsonError(error.msg, error.pos) from None


def decode(data: bytes) -> Any:
    """Parse the bytes of one JSON document: UTF-8, with or without a byte-order mark.

    Raises:
        JsonError: invalid UTF-8 or no JSON.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonError("invalid UTF-8", error.start) from None
    return loads(text.removeprefix(BYTE_ORDER_MARK))


class _Reader:
    """An iterative parser: open containers are a list, not call frames."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def document(self) -> Any:
        value = self._value()
        self._skip()
        if self.at != len(self.text):
            self._fail("Extra data")
        return value

    def _value(self) -> Any:
        root: list[Any] = []
        open_containers: list[tuple[Any, str | None]] = []
        container: Any = root
        key: str | None = None
        while True:
            self._skip()
            opener = self.text[self.at : self.at + 1]
            if opener in ("{", "[") and opener:
                self.at += 1
                child: Any = {} if opener == "{" else []
                self._put(container, key, child)
                open_containers.append((container, key))
                container, key = child, None
                closed = self._peek() == ("}" if opener == "{" else "]")
                if not closed:
                    if opener == "{":
                        key = self._key()
                    continue
            else:
                self._put(container, key, self._scalar(opener))
                closed = False
            while True:
                if closed:
                    self.at += 1
                    container, key = open_containers.pop()
                if not open_containers:
                    return root[0]
                following = self._peek()
                if following == ",":
                    self.at += 1
                    if isinstance(container, dict):
                        key = self._key()
                    break
                closed = following == ("}" if isinstance(container, dict) else "]")
                if not closed:
                    self._fail("Expecting ',' delimiter")

    @staticmethod
    def _put(container: Any, key: str | None, value: Any) -> None:
        if key is None:
            container.append(value)
        else:
            container[key] = value

    def _scalar(self, opener: str) -> Any:
        if opener == '"':
            return self._string()
        for name, value in _CONSTANTS.items():
            if self.text.startswith(name, self.at):
                self.at += len(name)
                return value
        found = _NUMBER.match(self.text, self.at)
        if not found:
            self._fail("Expecting value")
        self.at = found.end()
        literal = found.group()
        return float(literal) if found.group(1) or found.group(2) else _parse_int(literal)

    def _string(self) -> str:
        try:
            value, self.at = scanstring(self.text, self.at + 1, True)
        except json.JSONDecodeError as error:
            raise JsonError(error.msg, error.pos) from None
        return str(value)

    def _key(self) -> str:
        if self._peek() != '"':
            self._fail("Expecting property name enclosed in double quotes")
        key = self._string()
        if self._peek() != ":":
            self._fail("Expecting ':' delimiter")
        self.at += 1
        return key

    def _peek(self) -> str:
        self._skip()
        return self.text[self.at : self.at + 1]

    def _skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _fail(self, message: str) -> NoReturn:
        raise JsonError(message, self.at)


def ordered_items(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """The entries of an object in ECMAScript's order: array-index keys ascending, then insertion order."""
    indexed = sorted((index, key) for key in value if (index := array_index(key)) is not None)
    if not indexed:
        return list(value.items())
    first = {key for _, key in indexed}
    return [(key, value[key]) for _, key in indexed] + [(k, v) for k, v in value.items() if k not in first]


def compact(value: Any) -> str:
    """`JSON.stringify(value)`: no spaces, non-ASCII kept. Infinities and NaN become null."""
    return "".join(_tokens(value, ""))


def pretty(value: Any) -> str:
    """`JSON.stringify(value, null, 2)`, without a final newline."""
    return "".join(_tokens(value, "  "))


def compact_bytes(value: Any) -> bytes:
    """UTF-8 bytes of the compact text."""
    return compact(value).encode("utf-8")


def string_text(value: str) -> str:
    """A string as a JSON literal, lone surrogates escaped."""
    text = json.dumps(value, ensure_ascii=False)
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


def _tokens(root: Any, indent: str) -> Iterator[str]:
    colon = ": " if indent else ":"
    stack: list[Iterator[tuple[str | None, Any]]] = []
    closers: list[str] = []
    pending: tuple[str | None, Any] | None = (None, root)
    first = True
    while True:
        if pending is None:
            yield (f"\n{indent * (len(stack) - 1)}" if indent and not first else "") + closers.pop()
            stack.pop()
            first = False
        else:
            key, value = pending
            if stack:
                yield ("" if first else ",") + (f"\n{indent * len(stack)}" if indent else "")
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
