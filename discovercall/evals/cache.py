"""What the cache saves on requests that come twice, and that it saves nothing it must not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discovercall.evals.cases import Corpus
from discovercall.evals.scaling import online
from discovercall.evals.surfaces import without_ages
from discovercall.evals.tally import Tally, tally_members
from discovercall.evals.tokens import CharacterEstimator, Estimator, live_ranker
from discovercall.gateway.broker import Broker
from discovercall.gateway.cache import BrokerLike, CachingBroker
from discovercall.gateway.catalog import Tool, World
from discovercall.gateway.operations import carry_out
from discovercall.gateway.parameters import example_arguments
from discovercall.gateway.results import CallResult, DescribeResult, Failure, FindResult, Operation
from discovercall.gateway.store import CatalogSource

METRICS = ("redundantCallReduction", "liveWriteRate", "faithfulRate")


class CountingBroker:
    """Passes every operation on and counts what reaches the broker behind it."""

    def __init__(self, inner: BrokerLike) -> None:
        self.inner = inner
        self.source: CatalogSource = inner.source
        self.count = 0

    def find(self, query: str) -> FindResult | Failure:
        """As `Broker.find`."""
        self.count += 1
        return self.inner.find(query)

    def describe(self, tool_ref: str) -> DescribeResult | Failure:
        """As `Broker.describe`."""
        self.count += 1
        return self.inner.describe(tool_ref)

    def call(self, tool_ref: str, arguments: Mapping[str, Any] | None = None) -> CallResult | Failure:
        """As `Broker.call`."""
        self.count += 1
        return self.inner.call(tool_ref, arguments)

    def close(self) -> None:
        """As `Broker.close`."""
        self.inner.close()


@dataclass(frozen=True, slots=True)
class Step:
    """A request of the workload. `cacheable` is false for a call of a tool that is not marked read-only."""

    name: str
    operation: Operation
    arguments: Mapping[str, Any]
    cacheable: bool


@dataclass(frozen=True, slots=True)
class CacheResult:
    """What was measured.

    Attributes:
        requests: how many were made, each step twice.
        cacheable: those that may be answered from memory at all, first ones included.
        served: those that were.
        delegated: those that reached the broker.
        served_tokens: of the answers from memory.
        tallies: by metric.
        left_out: steps that the corpus has no tool for.
    """

    requests: int
    cacheable: int
    served: int
    delegated: int
    served_tokens: int
    estimator: str
    tallies: Mapping[str, Tally]
    left_out: Sequence[str]

    def document(self) -> dict[str, Any]:
        """The result's member `cache`."""
        return {
            "n": self.requests,
            "cacheable": self.cacheable,
            "served": self.served,
            "delegated": self.delegated,
            "servedTokens": self.served_tokens,
            "estimator": self.estimator,
            **tally_members(self.tallies),
            "leftOut": list(self.left_out),
        }


def measure_cache(
    corpus: Corpus,
    *,
    new_cache: Callable[[BrokerLike], BrokerLike] = CachingBroker,
    estimator: Estimator | None = None,
) -> CacheResult:
    """A search, a description, a call that reads and a call that changes, each twice through the cache.

    - redundantCallReduction: requests answered from memory over those that may be.
    - liveWriteRate: calls of changing tools that reached the broker each time.
    - faithfulRate: answers from memory that are the first answer, and say how old they are.

    Args:
        corpus: the world, in which every server counts as online, and the intents.
        new_cache: puts the cache in front of a broker.
        estimator: how tokens are counted; a quarter of the characters when None.
    """
    gauge = estimator or CharacterEstimator()
    world = online(corpus.world)
    counting = CountingBroker(Broker(world, ranker=live_ranker(corpus, None)))
    broker = new_cache(counting)
    tallies = {name: Tally() for name in METRICS}
    steps = workload(world, [case.intent for case in corpus.discovery if case.acceptable])
    served = tokens = 0
    for step in steps:
        first: dict[str, Any] | None = None
        for again in (False, True):
            before = counting.count
            answer = carry_out(broker, step.operation, step.arguments).to_json()
            live = counting.count > before
            if step.cacheable and not again and live:
                tallies["redundantCallReduction"].total += 1  # nothing to remember yet: no lapse
            elif step.cacheable:
                tallies["redundantCallReduction"].note(step.name, not live)
            else:
                tallies["liveWriteRate"].note(step.name, live)
            if not live:
                served += 1
                tokens += gauge.estimate(json.dumps(answer, sort_keys=True, separators=(",", ":")))
                same = first is not None and without_ages(answer) == without_ages(first)
                tallies["faithfulRate"].note(step.name, same and "cachedAgeSeconds" in answer)
            first = first or answer
    return CacheResult(
        requests=2 * len(steps),
        cacheable=2 * sum(step.cacheable for step in steps),
        served=served,
        delegated=counting.count,
        served_tokens=tokens,
        estimator=gauge.name,
        tallies=tallies,
        left_out=[name for name in ("reading call", "writing call") if name not in {s.name for s in steps}],
    )


def workload(world: World, intents: Sequence[str]) -> list[Step]:
    """The steps, on the first tools of the catalog that only read, and that do not."""
    reading = next((tool for tool in world.tools if tool.read_only), None)
    writing = next((tool for tool in world.tools if not tool.read_only), None)
    known = reading or world.tools[0]
    steps = [
        Step("search", "findTool", {"query": intents[0] if intents else known.title or known.name}, True),
        Step("description", "describeTool", {"toolRef": known.tool_ref}, True),
    ]
    if reading is not None:
        steps.append(Step("reading call", "callTool", _request(reading), True))
    if writing is not None:
        steps.append(Step("writing call", "callTool", _request(writing), False))
    return steps


def _request(tool: Tool) -> dict[str, Any]:
    return {"toolRef": tool.tool_ref, "arguments": example_arguments(tool.input_schema)}
