"""How long the gateway takes, step by step. Reported with the machine it ran on, and never gated."""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from discovercall.evals.cases import Corpus
from discovercall.evals.omissions import WITHOUT_MODEL
from discovercall.evals.provenance import this_host
from discovercall.evals.scaling import grown
from discovercall.evals.surfaces import PATIENCE_S, build_face
from discovercall.foundation.resources import PACKAGE_ROOT
from discovercall.gateway.broker import Broker
from discovercall.gateway.catalog import Tool
from discovercall.gateway.discovery import DiscoveryRanker
from discovercall.gateway.encoder import CachingEncoder, MiniLmEncoder

if TYPE_CHECKING:
    from discovercall.gateway.encoder import Vectors

FIXED_QUERY = "send a message to the team about the delay"
RUNS = 100
SCALE_TOOLS = 2_000
STARTS = 3
SHOWN = 5
"""Tools that a timed ranking gives, as many as a search names."""
PROGRAM = (sys.executable, "-m", "discovercall")
Made = TypeVar("Made")
Timer = Callable[[], int]
"""Nanoseconds of a clock that never goes back."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Timed runs of one path, in nanoseconds."""

    runs: Sequence[int]

    def document(self) -> dict[str, Any]:
        """Percentiles in microseconds, and operations per second over the whole wall time."""
        total = sum(self.runs)
        return {
            "runs": len(self.runs),
            "p50Us": nearest_rank(self.runs, 0.50) / 1_000,
            "p95Us": nearest_rank(self.runs, 0.95) / 1_000,
            "opsPerSecond": len(self.runs) * 1e9 / total if total else None,
        }


@dataclass(frozen=True, slots=True)
class PerformanceResult:
    """What was measured.

    Attributes:
        paths: latencies of repeated work; a path that did not run is absent.
        once: milliseconds of what happens once.
        scale: the same for a catalog of `SCALE_TOOLS` tools.
        host: the machine, without its name.
        skipped: what did not run, and why.
    """

    tools: int
    paths: Mapping[str, Latency]
    once: Mapping[str, float]
    scale: Mapping[str, Any]
    host: Mapping[str, Any]
    skipped: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The result's member `performance`."""
        return {
            "gated": False,
            "query": FIXED_QUERY,
            "tools": self.tools,
            "paths": {name: latency.document() for name, latency in self.paths.items()},
            "onceMs": dict(self.once),
            "scale": dict(self.scale),
            "host": dict(self.host),
            "skipped": dict(self.skipped),
        }


def measure_performance(
    corpus: Corpus,
    *,
    encoder: CachingEncoder | None,
    runs: int = RUNS,
    timer: Timer = time.perf_counter_ns,
    program: Sequence[str] = PROGRAM,
    scale_tools: int = SCALE_TOOLS,
) -> PerformanceResult:
    """Time the steps of a search, each warmed up once and then run `runs` times with one fixed request.

    - `lexical`: ranking by words and the decision, without a model.
    - `semantic`: the same with the model, the request's embedding included; absent without a model.
    - `fusion`: the same with the request's vector at hand: words, meaning and cues weighed, and the
      decision; absent without a model.
    - `endToEnd`: findTool of a broker without a cache, with the model where there is one.
    - `mcpRoundTrip`: the same asked by a real client of the real adapter, in memory.
    - Once: `indexBuild` of the ranker from tools whose vectors are known, `modelLoad`, and `coldStart` of
      the program until its first search is answered (the median of `STARTS`).
    - `scale`: index and search by words over a larger catalog, made of copies on further servers.

    Args:
        corpus: the world.
        encoder: the model; None for searches by words.
        runs: of each path.
        timer: a monotonic clock.
        program: starts the program, for the cold start.
        scale_tools: size of the larger catalog.
    """
    tools = list(corpus.world.tools)
    skipped: dict[str, str] = {}
    paths: dict[str, Latency] = {}
    once: dict[str, float] = {}
    words, once["indexBuildLexical"] = _once(lambda: DiscoveryRanker(tools, bank=corpus.bank), timer)
    paths["lexical"] = _timed(lambda: words.rank(FIXED_QUERY, limit=SHOWN), runs, timer)
    ranker = words
    if encoder is None:
        skipped |= dict.fromkeys(("semantic", "fusion", "modelLoad"), WITHOUT_MODEL)
    else:
        ranker = DiscoveryRanker(tools, bank=corpus.bank, encoder=encoder)
        _, once["indexBuild"] = _once(
            lambda: DiscoveryRanker(tools, bank=corpus.bank, encoder=encoder), timer
        )
        paths["semantic"] = _timed(lambda: ranker.rank(FIXED_QUERY, limit=SHOWN), runs, timer)
        fused = DiscoveryRanker(tools, bank=corpus.bank, encoder=_Known(encoder))
        paths["fusion"] = _timed(lambda: fused.rank(FIXED_QUERY, limit=SHOWN), runs, timer)
        _, once["modelLoad"] = _once(MiniLmEncoder, timer)
    broker = Broker(corpus.world, ranker=lambda _: ranker)
    paths["endToEnd"] = _timed(lambda: broker.find(FIXED_QUERY), runs, timer)
    if importlib.util.find_spec("mcp"):
        paths["mcpRoundTrip"] = Latency(_round_trips(broker, runs, timer))
    else:
        skipped["mcpRoundTrip"] = "the MCP SDK is not installed"
    try:
        world = (corpus.folder / "catalog" / "world.json").resolve()
        once["coldStart"] = _cold_start(program, world, encoder is not None, timer)
    except (OSError, subprocess.SubprocessError) as error:
        skipped["coldStart"] = f"the program does not answer ({type(error).__name__})"
    scale = _scale(corpus, scale_tools, runs, timer)
    return PerformanceResult(len(tools), paths, once, scale, this_host(), skipped)


def nearest_rank(values: Sequence[int], share: float) -> int:
    """The percentile of some values by the nearest rank: the one at place ceil(share * n), from 1.

    Raises:
        ValueError: without values.
    """
    if not values:
        raise ValueError("no values")
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


class _Known(CachingEncoder):
    """An encoder that has the fixed request's vector at hand."""

    def __init__(self, inner: CachingEncoder) -> None:
        super().__init__(inner)
        self._vector = inner.encode_request(FIXED_QUERY)

    def encode_request(self, text: str) -> Vectors:
        """The vector at hand."""
        return self._vector


def _timed(work: Callable[[], object], runs: int, timer: Timer) -> Latency:
    work()
    taken = []
    for _ in range(runs):
        start = timer()
        work()
        taken.append(timer() - start)
    return Latency(taken)


def _once(work: Callable[[], Made], timer: Timer) -> tuple[Made, float]:
    start = timer()
    made = work()
    return made, (timer() - start) / 1e6


def _round_trips(broker: Broker, runs: int, timer: Timer) -> list[int]:
    import anyio
    from mcp import Client

    async def run() -> list[int]:
        taken = []
        async with Client(build_face(broker), read_timeout_seconds=PATIENCE_S) as client:
            for number in range(runs + 1):
                start = timer()
                await client.call_tool("findTool", {"query": FIXED_QUERY})
                if number:  # the first warms up
                    taken.append(timer() - start)
        return taken

    return anyio.run(run)


def _cold_start(program: Sequence[str], world: Path, semantic: bool, timer: Timer) -> float:
    """The median of a few, in milliseconds."""
    mode = "require" if semantic else "off"
    words = ["gateway", "find", "--catalog", str(world), "--semantic", mode, "--", FIXED_QUERY]
    taken = []
    for _ in range(STARTS):
        start = timer()
        subprocess.run(
            [*program, *words],
            check=True,
            capture_output=True,
            timeout=PATIENCE_S,
            cwd=PACKAGE_ROOT.parent,  # where `-m discovercall` is found also when it is not installed
        )
        taken.append(timer() - start)
    return nearest_rank(taken, 0.5) / 1e6


def _scale(corpus: Corpus, tools: int, runs: int, timer: Timer) -> dict[str, Any]:
    larger = grown(corpus.world, tools)
    listed: list[Tool] = list(larger.tools)
    ranker, build = _once(lambda: DiscoveryRanker(listed, bank=corpus.bank), timer)
    broker = Broker(larger, ranker=lambda _: ranker)
    return {
        "tools": len(listed),
        "indexBuildMs": build,
        "lexical": _timed(lambda: ranker.rank(FIXED_QUERY, limit=SHOWN), runs, timer).document(),
        "endToEnd": _timed(lambda: broker.find(FIXED_QUERY), runs, timer).document(),
    }
