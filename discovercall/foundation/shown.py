"""Foreign text as it may be shown: on one line, without what would steer a terminal or turn text round."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from discovercall.foundation.redaction import MASK

LINE_LIMIT = 2000
"""Characters of a line that are shown."""

NAME_LIMIT = 64
"""Characters of a foreign field name that are shown."""

_UNSHOWN = ("Cc", "Cf", "Cs")
_REPLACEMENT = "\ufffd"
# Keys mix letters and digits, or are long and all capitals; words of a name do neither.
_KEY_LIKE = re.compile(r"(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{8,}|[A-Z]{16,}")


def shown_line(text: str, limit: int = LINE_LIMIT) -> str:
    """The text on one line for a terminal.

    White space is one space each time; control and format characters and lone surrogates, which can't be
    written, are U+FFFD; what is beyond the limit is cut off with an ellipsis.
    """
    flat = " ".join(text.split())
    if len(flat) > limit:
        flat = flat[: limit - 1] + "…"
    return flat if flat.isascii() and flat.isprintable() else plain(flat)


def plain(text: str) -> str:
    """The text with control and format characters and lone surrogates as U+FFFD."""
    return "".join(_REPLACEMENT if _is_unshown(sign) else sign for sign in text)


def escaped_json(text: str) -> str:
    """A JSON text with control and format characters as escapes: a terminal shows it as it is, and it still
    says the same. Line feeds, which stand between values only, stay."""
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(json.dumps(sign)[1:-1] if sign != "\n" and _is_unshown(sign) else sign for sign in text)


def plain_tree(value: Any) -> Any:
    """A JSON value with every text in it plain; names of fields stay."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [plain_tree(item) for item in value]
    if isinstance(value, dict):
        return {name: plain_tree(item) for name, item in value.items()}
    return value


def _is_unshown(sign: str) -> bool:
    # The second half: format characters that Unicode 14, which older interpreters know, lacks.
    return unicodedata.category(sign) in _UNSHOWN or "\U00013439" <= sign <= "\U0001343f"


def shown_name(name: str) -> str:
    """A field name that nobody reviewed: cut, fit for a terminal, and masked where it looks like a key."""
    # What is beyond is not shown; the search takes the square of the length.
    return MASK if _KEY_LIKE.search(name[: 2 * NAME_LIMIT]) else shown_line(name, NAME_LIMIT)
