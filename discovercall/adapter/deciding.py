"""A lane's adapter as a function: a request goes in, its answer comes out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from discovercall.adapter.isolation import AdapterUser
from discovercall.adapter.process import DEFAULT_LIMITS, AdapterLimits, run_adapter
from discovercall.adapter.protocol import parse_answer, request_bytes

_PARSED_ASIDE_BYTES = 2**16


class AdapterProcess:
    """Starts the adapter anew for each decision.

    Args:
        command: program and arguments, checked by `check_startable`.
        environment: its whole environment.
        timeout_ms: limit of one decision, in milliseconds.
        limits: what else it may use.
        user: the account that it runs as; None for this process's own.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        timeout_ms: int,
        limits: AdapterLimits = DEFAULT_LIMITS,
        user: AdapterUser | None = None,
    ) -> None:
        self._command = command
        self._environment = environment
        self._timeout_s = timeout_ms / 1000
        self._limits = limits
        self._user = user

    async def __call__(self, request: dict[str, Any]) -> Any:
        """The adapter's answer to one request, any JSON value.

        Raises:
            AdapterFailure: the process failed or wrote no JSON.
        """
        result = await run_adapter(
            self._command,
            request_bytes(request),
            env=self._environment,
            timeout_s=self._timeout_s,
            limits=self._limits,
            user=self._user,
        )
        if len(result.stdout) <= _PARSED_ASIDE_BYTES:
            return parse_answer(result.stdout)
        # A large deep answer takes seconds, in which other decisions would run out of time unattended.
        return await asyncio.to_thread(parse_answer, result.stdout)
