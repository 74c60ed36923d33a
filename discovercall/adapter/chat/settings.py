"""Which chat-completions server is asked, and how: command line and environment, checked."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import urlsplit

from discovercall.adapter.authoring import Refusal
from discovercall.adapter.environment import is_blocked
from discovercall.foundation.base_url import is_loopback, normalize_base_url
from discovercall.foundation.ecmascript import is_safe, trim
from discovercall.foundation.errors import InputError

DEFAULT_BASE_URL = "https://api.openai.com/v1"
DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY"
FALLBACKS = ("json_schema", "json_object", "none")
"""Ways to ask for JSON, the strictest first; `none` asks in words only."""

# A key given in place of a name must not be repeated in a message, so a name has to look like one.
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
_KEY = re.compile(r"[\x21-\x7e]+")
_HELP = """\
One decision: reads a request of the adapter protocol on standard input. The key is read from the
environment; `run` passes OPENAI_API_KEY by itself and any other variable with --adapter-env NAME.
"""


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """How decisions are put to a model.

    Attributes:
        url: address of the server's chat/completions.
        loopback: the server is on this machine, so no proxy is used.
        key: what it is authorised with; None sends no Authorization header.
        modes: ways to ask for JSON in order of preference, of `FALLBACKS`.
        model: the model's name for the server; None is the request's.
        parameters: further fields of the request body.
        timeout_s: seconds for the whole decision.
        max_wait_s: seconds that may be waited in all after answers with status 429.
    """

    url: str
    loopback: bool
    key: str | None = field(repr=False)
    modes: tuple[str, ...]
    model: str | None
    parameters: dict[str, Any]
    timeout_s: float
    max_wait_s: float


def read_settings(arguments: Sequence[str], environment: Mapping[str, str]) -> ChatSettings:
    """Settings from an adapter's command line.

    Raises:
        Refusal: `start_failed`; what is wrong, without the value that is.
        SystemExit: the help was asked for.
    """
    given, unknown = _parser().parse_known_args(list(arguments))
    if unknown:
        raise Refusal("start_failed", "an argument is not known; --help lists them")
    base_url = _base_url(given.base_url)
    loopback = is_loopback(base_url)
    return ChatSettings(
        url=f"{base_url}/chat/completions",
        loopback=loopback,
        key=_key(given.api_key_env, environment, required=not loopback),
        modes=FALLBACKS if given.response_format == "auto" else (given.response_format,),
        model=given.api_model,
        parameters=_parameters(given, base_url),
        timeout_s=given.timeout_s,
        max_wait_s=given.max_wait_s,
    )


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refusal("start_failed", message)


def _parser() -> _Parser:
    parser = _Parser(
        prog="openai_compatible.py",
        description=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--base-url", default=DEFAULT_BASE_URL, metavar="URL", help=f"default {DEFAULT_BASE_URL}")
    add("--api-key-env", default=DEFAULT_KEY_VARIABLE, metavar="NAME", help="variable with the key")
    add("--api-model", type=_name, metavar="NAME", help="the server's name of the model; default: the run's")
    add(
        "--response-format",
        type=_one_of("auto", *FALLBACKS),
        default="auto",
        metavar="FORMAT",
        help="auto (default), json_schema, json_object or none",
    )
    add("--temperature", type=_number(0, 2), metavar="T", help="left to the server unless given")
    add("--effort", type=_effort, metavar="LEVEL", help="sent as reasoning_effort")
    add("--max-tokens", type=_count, metavar="N", help="most tokens of an answer")
    add(
        "--max-tokens-field",
        type=_one_of("max_tokens", "max_completion_tokens"),
        metavar="FIELD",
        help="how --max-tokens is sent: max_tokens, or max_completion_tokens (default for api.openai.com)",
    )
    add("--timeout-s", type=_number(0, 86400), default=600.0, metavar="S", help="whole decision; default 600")
    add("--max-wait-s", type=_number(0, 86400), default=60.0, metavar="S", help="after 429; default 60")
    return parser


def _parameters(given: argparse.Namespace, base_url: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if given.temperature is not None:
        found["temperature"] = given.temperature
    if given.effort is not None:
        found["reasoning_effort"] = given.effort
    if given.max_tokens is not None:
        # OpenAI's newer models refuse max_tokens; servers that don't know max_completion_tokens ignore it
        # without a word, and would then write without end.
        is_openai = urlsplit(base_url).hostname == urlsplit(DEFAULT_BASE_URL).hostname
        usual = "max_completion_tokens" if is_openai else "max_tokens"
        found[given.max_tokens_field or usual] = given.max_tokens
    return found


def _base_url(given: str) -> str:
    try:
        return normalize_base_url(given)
    except InputError as error:
        raise Refusal("start_failed", f"--base-url: {error.what}; {error.fix}") from None


def _key(variable: str, environment: Mapping[str, str], *, required: bool) -> str | None:
    if not _VARIABLE.fullmatch(variable):
        raise Refusal(
            "start_failed", "--api-key-env takes the NAME of a variable, in capital letters, not the key"
        )
    if is_blocked(variable):
        raise Refusal("start_failed", f"--api-key-env: {variable} is never passed to an adapter")
    key = trim(environment.get(variable, ""))
    if key and not _KEY.fullmatch(key):
        raise Refusal("start_failed", f"{variable} has characters that no key can have")
    if not key and required:
        passed = "" if variable == DEFAULT_KEY_VARIABLE else f", and pass it on with --adapter-env {variable}"
        raise Refusal("start_failed", f"{variable} is not set: put the key there{passed}")
    return key or None


def _one_of(*values: str) -> Callable[[str], str]:
    def convert(text: str) -> str:
        if text not in values:
            raise argparse.ArgumentTypeError(f"must be one of {', '.join(values)}")
        return text

    return convert


def _number(lowest: float, highest: float) -> Callable[[str], float]:
    def convert(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not lowest <= value <= highest:
            raise argparse.ArgumentTypeError(f"must be a number from {lowest} to {highest}")
        return value

    return convert


def _count(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        raise argparse.ArgumentTypeError("must be a whole number from 1")
    return int(text)


def _effort(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z_-]{0,31}", text):
        raise argparse.ArgumentTypeError("must be a word such as low, medium or high")
    return text


def _name(text: str) -> str:
    if not is_safe(text):
        raise argparse.ArgumentTypeError("must have 1 to 256 characters, no control or format characters")
    return text
