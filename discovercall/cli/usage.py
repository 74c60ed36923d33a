"""What the parser says of a mistake on the command line, in the form of all other errors.

The parser's errors belong to no public module and differ in their attributes, so texts are taken apart.
"""

from __future__ import annotations

import re
from typing import Any

_FORMS = (
    (r"Missing (?:option|argument) '(?P<where>[^']*)'.*", r"{where}: is required"),
    (r"Option '(?P<where>[^']*)' requires an argument\.", r"{where}: needs a value"),
    (r"Option '(?P<where>[^']*)' does not take a value\.", r"{where}: takes no value"),
    (r"No such option: (?P<where>\S+)(?P<rest>.*)", r"{where}: no such option{rest}"),
    (r"No such command '(?P<where>.*?)'\.(?P<rest>.*)", r"{where}: no such command{rest}"),
    (r"Got unexpected extra arguments?(?:\(s\))? \((?P<where>.*)\)", r"{where}: one argument too many"),
    (r"Invalid value for '(?P<where>[^']*)': (?P<rest>.*)", r"{where}: {rest}"),
)
_RESTS = (
    (r"Input should be greater than or equal to (\S+)", r"must be at least \1"),
    (r"Input should be less than or equal to (\S+)", r"must be at most \1"),
    (r"Input should be a valid integer.*", r"must be a whole number"),
    (r"Input should be a valid number.*", r"must be a number"),
    (r"Value error, (.*?)\.?", r"\1"),
    (r" \(Possible options: (.*)\)", r"; there is \1"),
    (r" Did you mean '?([^']*?)'?\?", r"; there is \1"),
)


def usage_message(error: Any) -> str:
    """One line: where, what is wrong, and which page says what would be right.

    Args:
        error: the parser's; its context, where it has one, names the command.
    """
    given = " ".join(str(error.format_message()).split())
    context = getattr(error, "ctx", None)
    page = f"; see {context.command_path} --help" if context is not None else ""
    for pattern, form in _FORMS:
        if found := re.fullmatch(pattern, given):
            parts = found.groupdict()
            return form.format(where=parts["where"], rest=_rest(parts.get("rest", ""))) + page
    return given + page


def _rest(text: str) -> str:
    for pattern, form in _RESTS:
        if found := re.fullmatch(pattern, text):
            return found.expand(form)
    return text
