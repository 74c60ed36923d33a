"""Time as artifacts write it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], float]
"""Seconds since the Unix epoch, passed in wherever time is needed."""


def iso_milliseconds(seconds: float) -> str:
    """UTC ISO 8601 with milliseconds and `Z`, from seconds since the Unix epoch."""
    moment = datetime.fromtimestamp(int(seconds * 1000) / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
