"""Keeps requests apart."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

Sleep = Callable[[float], Awaitable[object]]
"""Waits a number of seconds."""


class Pacer:
    """Spaces requests evenly, over all that share it.

    Args:
        requests_per_minute: how many may start in a minute; None is no limit.
        monotonic: seconds on a clock that never goes back.
        sleep: waits a number of seconds.
    """

    def __init__(
        self, requests_per_minute: float | None, monotonic: Callable[[], float], sleep: Sleep
    ) -> None:
        self._interval = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._monotonic = monotonic
        self._sleep = sleep
        self._next = float("-inf")

    async def wait(self) -> None:
        """Return when the next request may start."""
        if not self._interval:
            return
        now = self._monotonic()
        start = max(now, self._next)
        self._next = start + self._interval
        if start > now:
            await self._sleep(start - now)
