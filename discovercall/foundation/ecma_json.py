"""JSON as ECMAScript reads it, without a limit of depth; what writes it is in `json_text`.

Standard `json` recurses, so a deeply nested answer would break after it was paid for. Reading falls back
to an iterative parser. Integers beyond 2^53 keep their digits.
"""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # documented nowhere, stable since 2.7
from typing import Any, NoReturn

from discovercall.foundation.shown import shown_name

BYTE_ORDER_MARK = "\ufeff"
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_SPACE = re.compile(r"[ \t\n\r]*")
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None}
INTEGER_DIGITS = 400  # beyond the range of a double; also keeps clear of quadratic int parsing


class JsonError(ValueError):
    """Text that is no JSON; `position` is the offset in characters."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


def _parse_int(text: str) -> int | float:
    return int(text) if len(text) <= INTEGER_DIGITS else float(text)


class _ConstantError(JsonError):
    pass


def _refuse_constant(name: str) -> NoReturn:
    raise _ConstantError(f"{name} is not JSON", 0)


def _place_of_error(text: str) -> int:
    try:
        _Reader(text).document()
    except JsonError as error:
        return error.position
    raise AssertionError("read after all")


_decode = json.JSONDecoder(parse_int=_parse_int, parse_constant=_refuse_constant).decode


def loads(text: str) -> Any:
    """Parse one JSON value of any depth.

    Args:
        text: JSON text; duplicate keys: the last one wins; NaN and Infinity are refused; a number too
            large for a double becomes an infinity.

    Raises:
        JsonError: the text is no JSON.
    """
    try:
        if text.startswith(BYTE_ORDER_MARK):
            raise JsonError("Unexpected UTF-8 BOM (decode using utf-8-sig)", 0)
        return _decode(text)
    except RecursionError:
        return _Reader(text).document()
    except _ConstantError as error:
        raise JsonError(str(error), _place_of_error(text)) from None
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


def decode_unique(data: bytes) -> Any:
    """`decode` for what people review: a name that an object has twice is refused, for a reader may see the
    first where the program takes the last.

    Raises:
        JsonError: invalid UTF-8, no JSON, a name twice, or nested too deeply to be checked.
    """
    decode(data)  # its messages say best what is no JSON
    try:
        return _unique_decode(data.decode("utf-8").removeprefix(BYTE_ORDER_MARK))
    except RecursionError:
        raise JsonError("nested too deeply", 0) from None


def _unique_object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in members:
        if name in found:
            raise JsonError(f"names '{shown_name(name)}' twice in one object", 0)
        found[name] = value
    return found


_unique_decode = json.JSONDecoder(
    parse_int=_parse_int, parse_constant=_refuse_constant, object_pairs_hook=_unique_object
).decode


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
            if opener in ("{", "["):
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
