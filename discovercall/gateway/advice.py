"""Makes the broker's advice fit how it was started: commands with their file, and none that can't work."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from discovercall.gateway import wording
from discovercall.gateway.results import CallResult, DescribeResult, Failure, FindResult

AnswerT = TypeVar("AnswerT", bound=FindResult | DescribeResult | CallResult | Failure)
Advice = Callable[[str], str]


def for_servers(config: Path) -> Advice:
    """Advice for the servers of a configuration: the index is that of this file."""
    command = f"`{wording.INDEX_COMMAND} --config {shlex.quote(str(config))}`"
    return lambda text: text.replace(f"`{wording.INDEX_COMMAND}`", command)


def for_world(path: Path | None) -> Advice:
    """Advice for a world, which no index run changes.

    Args:
        path: its file; None for the one that comes with the toolkit.
    """
    file = f" --catalog {shlex.quote(str(path))}" if path else ""
    look = f"look at all tools with `discovercall gateway list{file}`"

    def fit(text: str) -> str:
        for setup in (wording.CHECK_SETUP, wording.REFRESH_FIRST):
            text = text.replace(setup, look)
        return text

    return fit


def fitted(answer: AnswerT, advice: Advice | None) -> AnswerT:
    """An answer whose instruction and notices are fitted."""
    if advice is None:
        return answer
    if isinstance(answer, Failure):
        error = replace(answer.error, agent_instruction=advice(answer.error.agent_instruction))
        return replace(answer, error=error)
    notices = tuple(map(advice, answer.notices))
    if isinstance(answer, FindResult):
        return replace(answer, agent_instruction=advice(answer.agent_instruction), notices=notices)
    return replace(answer, notices=notices)
