"""Cost of whole processes, measured by turns so that a busy machine weighs on all of them alike."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

WARMED = 5


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process cost, its children included.

    Attributes:
        wall_s: seconds from its start to its end.
        cpu_s: seconds of processor time, user and system.
        peak_mib: resident memory of its largest process at the most, in MiB.
    """

    wall_s: float
    cpu_s: float
    peak_mib: float


def cost_of(
    command: Sequence[str], *, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> Cost:
    """Run a command to its end.

    Raises:
        RuntimeError: it failed; holds the end of what it said.
    """
    # A child counts the memory of the process it was started from, so this one must stay small.
    started = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=cwd, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    said = process.stderr.read()
    process.stderr.close()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {said[-500:].decode(errors='replace')}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def by_turns(costs: Mapping[str, Callable[[], Cost]], rounds: int) -> dict[str, dict[str, float]]:
    """Median costs of several commands that take turns.

    Args:
        costs: what measures each command once, by its name.
        rounds: how often each is measured; from `WARMED` rounds on, another one before warms the caches and
            is left out, for what takes long needs no such care.
    """
    measured: dict[str, list[Cost]] = {name: [] for name in costs}
    for turn in range(rounds + (rounds >= WARMED)):
        for name, measure in costs.items():
            cost = measure()
            if turn or rounds < WARMED:
                measured[name].append(cost)
    return {name: _median(found) for name, found in measured.items()}


def _median(costs: list[Cost]) -> dict[str, float]:
    rows = [asdict(cost) for cost in costs]
    return {field: round(statistics.median(row[field] for row in rows), 4) for field in rows[0]}
