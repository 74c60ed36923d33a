"""Text and number rules of ECMAScript, on which published digests and scores rely."""

from __future__ import annotations

import math
import re
import unicodedata
from decimal import Decimal

# WhiteSpace and LineTerminator of ECMA-262: the Zs category, tab, VT, FF, U+FEFF, LF, CR, U+2028, U+2029.
WHITE_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
MAX_SAFE_INTEGER = 2**53 - 1


def _pairs(first: int, last: int, distance: int) -> dict[int, int]:
    return {code: code + distance for code in range(first, last + 1)}


# Upper-case letters assigned in Unicode 15 to 17, which older interpreters leave unchanged.
_NEW_LOWER = (
    {
        0x1C89: 0x1C8A,
        0xA7CB: 0x0264,
        0xA7CC: 0xA7CD,
        0xA7CE: 0xA7CF,
        0xA7D2: 0xA7D3,
        0xA7D4: 0xA7D5,
        0xA7DA: 0xA7DB,
        0xA7DC: 0x019B,
    }
    | _pairs(0x10D50, 0x10D65, 0x20)
    | _pairs(0x16EA0, 0x16EB8, 0x1B)
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# Format characters (Cf) assigned after Unicode 14.
_NEW_FORMAT = re.compile("[\U00013439-\U0001343f]")


def trim(text: str) -> str:
    """`String.prototype.trim`: also strips U+FEFF, keeps U+001C to U+001F and U+0085."""
    return text.strip(WHITE_SPACE)


def lower(text: str) -> str:
    """`String.prototype.toLowerCase` by Unicode 17, whatever Unicode this interpreter knows."""
    return text.lower() if text.isascii() else text.lower().translate(_NEW_LOWER)


def is_blank(text: str) -> bool:
    """True when nothing is left after trimming."""
    return not trim(text)


def utf16_length(text: str) -> int:
    """Length in UTF-16 code units, the unit of every length limit."""
    return len(text) if text.isascii() else len(text) + sum(1 for character in text if character > "\uffff")


def has_control_or_format(text: str) -> bool:
    """True when the text has a character of Unicode category Cc or Cf."""
    if text.isascii():
        return not text.isprintable()
    return any(unicodedata.category(c) in ("Cc", "Cf") for c in text) or bool(_NEW_FORMAT.search(text))


def is_safe(value: object, limit: int = 256) -> bool:
    """True for a string that is not blank, at most `limit` UTF-16 units, and without Cc or Cf characters and
    lone surrogates, which no file can hold as UTF-8."""
    return (
        isinstance(value, str)
        and not is_blank(value)
        and utf16_length(value) <= limit
        and not has_control_or_format(value)
        and (value.isascii() or not _LONE_SURROGATE.search(value))
    )


# For JSON Schema, whose patterns know no Unicode categories: Cc, and Cf of the Basic Multilingual Plane.
SAFE_PATTERN = (
    "^(?=.*\\S)[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891"
    "\\u08e2\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u2064\\u2066-\\u206f\\ufeff\\ufff9-\\ufffb]+$"
)


def is_number(value: object) -> bool:
    """True for an int or a float, not for a boolean."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_finite_number(value: object) -> bool:
    """True for a number that a double can hold."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def is_integer(value: object) -> bool:
    """`Number.isInteger`: 10.0 is one, true is none."""
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return is_finite_number(value)
    return isinstance(value, float) and value.is_integer()


def strictly_equal(left: object, right: object) -> bool:
    """`===` for JSON primitives: 1 and 1.0 are equal, 1 and true are not."""
    if is_number(left) and is_number(right):
        return left == right
    return type(left) is type(right) and left == right


def number_text(value: float) -> str:
    """Text of a number as `Number.prototype.toString` gives it; integers pass through a double."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    text = repr(number)
    if "e" not in text:  # without an exponent Python writes the same digits, and ".0" after a whole number
        return "0" if number == 0 else text.removesuffix(".0")
    negative, all_digits, exponent = Decimal(text).as_tuple()
    point = len(all_digits) + int(exponent)
    digits = "".join(map(str, all_digits)).rstrip("0")
    return ("-" if negative else "") + _place_point(digits, point)


def _place_point(digits: str, point: int) -> str:
    """Number::toString of ECMA-262: `digits` with the decimal point after `point` of them."""
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    exponent = point - 1
    tail = f".{digits[1:]}" if count > 1 else ""
    return f"{digits[0]}{tail}e{'+' if exponent >= 0 else '-'}{abs(exponent)}"


def array_index(key: str) -> int | None:
    """The number of an array-index key ("0" to "4294967294"), which come first in objects; else None."""
    if not key or len(key) > 10 or not key.isascii() or not key.isdigit() or (key[0] == "0" and key != "0"):
        return None
    index = int(key)
    return index if index < 2**32 - 1 else None
