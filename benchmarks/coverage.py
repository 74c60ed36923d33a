"""Coverage of the headline interval and size of the sign-flip test, by seeded simulation.

    python benchmarks/coverage.py [--replicates 4000] [--seed 1]

Each replicate draws K tasks from a population (a success probability per task), then T = 3 trials of each.
The interval is for the population's mean; it covers in at least the share that the table shows. Exit status 1
when a coverage is below .94 or a size above .05.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discovercall.statistics.comparison import sign_flip_p_value
from discovercall.statistics.intervals import dirichlet_clopper_pearson

TRIALS = 3
TASK_COUNTS = (12, 18, 30)
COVERAGE_WANTED, SIZE_ALLOWED = 0.94, 0.05
Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]


def _all_or_nothing(mean: float) -> Draw:
    return lambda random, shape: (random.random(shape) < mean).astype(np.float64)


def _beta(a: float, b: float) -> Draw:
    return lambda random, shape: random.beta(a, b, shape)


def _mixture(share: float, easy: float, hard: float) -> Draw:
    return lambda random, shape: np.where(random.random(shape) < share, easy, hard)


# name: mean of the population, how task probabilities are drawn
POPULATIONS: dict[str, tuple[float, Draw]] = {
    "all or nothing, .98": (0.98, _all_or_nothing(0.98)),
    "all or nothing, .90": (0.90, _all_or_nothing(0.90)),
    "all or nothing, .50": (0.50, _all_or_nothing(0.50)),
    "every task .90": (0.90, _mixture(1.0, 0.9, 0.9)),
    "every task .50": (0.50, _mixture(1.0, 0.5, 0.5)),
    "beta(8, 2)": (0.80, _beta(8, 2)),
    "beta(.5, .5)": (0.50, _beta(0.5, 0.5)),
    "85% at 1, 15% at 1/3": (0.90, _mixture(0.85, 1.0, 1 / 3)),
    "70% at .95, 30% at .2": (0.725, _mixture(0.7, 0.95, 0.2)),
}


def coverage(population: str, tasks: int, replicates: int, random: np.random.Generator) -> float:
    """Share of replicates whose interval holds the population's mean."""
    mean, draw = POPULATIONS[population]
    probabilities = draw(random, (replicates, tasks))
    rates = random.binomial(TRIALS, probabilities) / TRIALS
    covered = 0
    for row in rates:
        low, high = dirichlet_clopper_pearson(row.tolist())
        covered += low <= mean <= high
    return covered / replicates


def size(population: str, tasks: int, replicates: int, random: np.random.Generator) -> float:
    """Share of replicates in which two lanes of the same population and tasks differ with p <= .05."""
    _, draw = POPULATIONS[population]
    probabilities = draw(random, (replicates, tasks))
    # Lanes differ by task, but neither is better: the sign of a task's difference is a coin.
    other = draw(random, (replicates, tasks))
    differences = random.binomial(TRIALS, probabilities) - random.binomial(TRIALS, other)
    return float(np.mean([sign_flip_p_value(row.tolist()) <= SIZE_ALLOWED for row in differences]))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicates", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    started = time.monotonic()
    print(f"{options.replicates} replicates, {TRIALS} trials per task, seed {options.seed}")
    print(f"{'population':24}{'K':>4}{'coverage':>10}{'size':>8}")
    failed = False
    for population in POPULATIONS:
        for tasks in TASK_COUNTS:
            covered = coverage(population, tasks, options.replicates, random)
            rejected = size(population, tasks, options.replicates, random)
            bad = covered < COVERAGE_WANTED or rejected > SIZE_ALLOWED
            failed = failed or bad
            print(f"{population:24}{tasks:4}{covered:10.4f}{rejected:8.4f}{'  <--' if bad else ''}")
    print(f"{time.monotonic() - started:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
