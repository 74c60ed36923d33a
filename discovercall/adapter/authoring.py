"""For authors of adapters: read the request, write the answer or the reason for having none.

Standard library only, and little of it: an adapter is started for each decision.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

from discovercall.adapter.failures import MARKER, REPORTED_CODES
from discovercall.foundation.ecma_json import JsonError, decode
from discovercall.foundation.json_text import compact_bytes


class Refusal(Exception):
    """Raised in a handler to end with a reported code; a detail goes to stderr, so it must hold no secret."""

    def __init__(self, code: str, detail: str = "") -> None:
        if code not in REPORTED_CODES:
            raise ValueError(f"{code} is not a code that an adapter may report")
        self.code = code
        self.detail = detail
        super().__init__(code)


def read_request() -> dict[str, Any]:
    """The request on standard input. All bytes are read before they are decoded, so that no character is cut.

    Raises:
        SystemExit: what came is no JSON object.
    """
    try:
        request = decode(sys.stdin.buffer.read())
    except JsonError as error:
        sys.exit(f"the request is not JSON: {error}")
    if not isinstance(request, dict):
        sys.exit("the request is not a JSON object")
    return request


def write_answer(answer: dict[str, Any]) -> None:
    """Write the answer to standard output as compact JSON."""
    sys.stdout.buffer.write(compact_bytes(answer) + b"\n")
    sys.stdout.buffer.flush()


def fail(code: str, detail: str = "") -> NoReturn:
    """End with a reported code.

    Args:
        code: one of `failures.REPORTED_CODES`.
        detail: a line for whoever debugs the adapter.
    """
    lines = [detail.replace("\n", " ")] if detail else []
    sys.stderr.write("".join(f"{line}\n" for line in [*lines, MARKER + code]))
    sys.stderr.flush()
    sys.exit(1)


def serve(stages: dict[str, Callable[[dict[str, Any]], dict[str, Any]]]) -> None:
    """Make one decision: read the request, hand it to its stage's handler, write what the handler returns.

    Args:
        stages: a handler for `select` and one for `parameterize`; a handler takes the request, returns the
            answer, and raises `Refusal` where it has none. A stage without a handler ends with
            `unsupported_stage`.
    """
    request = read_request()
    handler = stages.get(str(request.get("stage")))
    if handler is None:
        fail("unsupported_stage")
    try:
        answer = handler(request)
    except Refusal as refusal:
        fail(refusal.code, refusal.detail)
    write_answer(answer)
