"""What tools cost an agent in tokens: all definitions at once, or three operations and a search per task."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from discovercall.evals.cases import Corpus, DiscoveryCase
from discovercall.evals.scaling import copies, online
from discovercall.evals.tally import mean
from discovercall.gateway.broker import Broker, RankerFactory
from discovercall.gateway.catalog import Tool, World, properties_of
from discovercall.gateway.discovery import DiscoveryRanker
from discovercall.gateway.operations import carry_out, definitions, instructions
from discovercall.gateway.parameters import example_arguments
from discovercall.gateway.wordpiece import wordpiece

if TYPE_CHECKING:
    from discovercall.gateway.encoder import CachingEncoder

FIXED_QUERY = "search the wiki for the deployment runbook"
FIXED_REF = "confluence.search_pages"
FIXED_TEXT = "deployment runbook"
GROWTH = (1, 4, 16)
GROWTH_INTENTS = 20


class Estimator(Protocol):
    """Estimates how many tokens a text is."""

    @property
    def name(self) -> str:
        """What results say of the estimator."""

    def estimate(self, text: str) -> int:
        """Tokens of a text; 0 of an empty one."""


@dataclass(frozen=True, slots=True)
class CharacterEstimator:
    """One token for every so many characters, rounded up."""

    characters: int = 4

    @property
    def name(self) -> str:
        """Tells the number of characters."""
        return f"characters/{self.characters}"

    def estimate(self, text: str) -> int:
        """The characters divided, rounded up."""
        return math.ceil(len(text) / self.characters)


@dataclass(frozen=True, slots=True)
class WordPieceEstimator:
    """Pieces of the vocabulary that the search's model reads: a real tokenizer, if none of a chat model's."""

    name: str = "wordpiece"

    def estimate(self, text: str) -> int:
        """The pieces, without the marks at both ends."""
        return len(wordpiece().encode(text, max_length=max(2, 2 * len(text) + 2))) - 2


@dataclass(frozen=True, slots=True)
class TaskCost:
    """One task through the broker.

    Attributes:
        success: the tool that was called would rightly serve.
        find, describe, call: tokens that the agent reads after each; describe 0 where there was none.
        calls: operations that were run.
        direct: tokens of the same result without a broker.
    """

    success: bool
    find: int
    describe: int
    call: int
    calls: int
    direct: int

    @property
    def total(self) -> int:
        """All that the agent reads."""
        return self.find + self.describe + self.call


@dataclass(frozen=True, slots=True)
class TokensResult:
    """The result's member `tokens`, in parts; a part that could not be measured is None, with its reason."""

    estimator: str
    startup: Mapping[str, Any]
    other_estimators: Mapping[str, Mapping[str, Any]]
    fixed_task: Mapping[str, Any] | None
    fixed_skip_reason: str | None
    tasks: Mapping[str, Any] | None
    growth: Sequence[Mapping[str, Any]]

    def document(self) -> dict[str, Any]:
        """The result's member `tokens`."""
        return {
            "estimator": self.estimator,
            **self.startup,
            "otherEstimators": {name: dict(found) for name, found in self.other_estimators.items()},
            "fixedTask": None if self.fixed_task is None else dict(self.fixed_task),
            "fixedTaskSkipReason": self.fixed_skip_reason,
            "tasks": None if self.tasks is None else dict(self.tasks),
            "growth": [dict(step) for step in self.growth],
        }


def measure_tokens(
    corpus: Corpus,
    *,
    encoder: CachingEncoder | None,
    estimator: Estimator | None = None,
    growth: Sequence[int] = GROWTH,
) -> TokensResult:
    """What an agent reads with and without the broker.

    Every value is estimated on its compact JSON with sorted members. An agent's own words are left out on
    both sides, and so is that a conversation may be sent again at each turn.

    - At the start: every tool's reference, description and schema, against the three operations'.
    - A fixed task with one call of each operation, which needs a certain tool in the catalog.
    - Every open intent that has a right tool, on the path that the broker tells: no describeTool where the
      schema is at hand; of two candidates the right one is taken where it is among them. A refusal or a
      wrong tool costs its tokens and is no success; without a broker every task succeeds at once.
    - `breakEvenTasks`: so many successful tasks in one conversation eat up what was saved at the start.
    - The same on a catalog several times as large, with searches by words over up to `GROWTH_INTENTS`
      evenly chosen intents.

    Args:
        corpus: world and intents; every server counts as online.
        encoder: the model of searches; None for searches by words.
        estimator: how tokens are counted; a quarter of the characters when None.
        growth: how many times as large the catalog is made.
    """
    gauge = _Gauge(estimator or CharacterEstimator())
    world = online(corpus.world)
    broker = Broker(world, ranker=live_ranker(corpus, encoder))
    startup = gauge.startup(world)
    matchable = [case for case in corpus.discovery if case.acceptable]
    fixed, reason = _fixed_task(broker, world, gauge, startup)
    costs = [_follow(broker, world, gauge, case.intent, case.acceptable) for case in matchable]
    others = [WordPieceEstimator()] if gauge.name != WordPieceEstimator().name else []
    return TokensResult(
        estimator=gauge.name,
        startup=startup,
        other_estimators={other.name: _Gauge(other).startup(world) for other in others},
        fixed_task=fixed,
        fixed_skip_reason=reason,
        tasks=_summary(costs, startup) if costs else None,
        growth=[_growth(corpus, world, gauge, factor, matchable) for factor in growth],
    )


def live_ranker(corpus: Corpus, encoder: CachingEncoder | None) -> RankerFactory:
    """The live search with the corpus's own capability bank."""

    def rank(tools: list[Tool]) -> DiscoveryRanker:
        return DiscoveryRanker(tools, bank=corpus.bank, encoder=encoder)

    return rank


class _Gauge:
    """Estimates values by their text."""

    def __init__(self, estimator: Estimator) -> None:
        self._estimator = estimator
        self.name = estimator.name

    def of(self, value: Any) -> int:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return self._estimator.estimate(text)

    def startup(self, world: World) -> dict[str, Any]:
        """What is read before the first task."""
        direct = sum(
            self.of({"name": t.tool_ref, "description": t.description, "inputSchema": dict(t.input_schema)})
            for t in world.tools
        )
        ids = [server.server_id for server in world.servers]
        broker = sum(self.of(operation) for operation in definitions(ids))
        with_text = broker + self._estimator.estimate(instructions(ids))
        return {
            "tools": len(world.tools),
            "directStartup": direct,
            "brokerStartup": broker,
            "startupReduction": _reduction(broker, direct),
            "brokerStartupWithInstructions": with_text,
            "startupReductionWithInstructions": _reduction(with_text, direct),
        }

    def call(self, document: Mapping[str, Any]) -> tuple[int, int]:
        """Tokens of a call's answer through the broker, and of its bare result."""
        if document.get("ok") is not True:
            return self.of(document), self.of(document)
        bare = self.of(document["result"])
        notices = document.get("notices")
        return bare + (self.of(notices) if notices else 0), bare


def _reduction(part: float, whole: float) -> float:
    return 1 - part / whole if whole else 0.0


def _fixed_task(
    broker: Broker, world: World, gauge: _Gauge, startup: Mapping[str, Any]
) -> tuple[dict[str, Any] | None, str | None]:
    tool = world.by_ref.get(FIXED_REF)
    if tool is None:
        return None, f"the catalog has no {FIXED_REF}"
    texts = [
        name for name, member in properties_of(tool.input_schema).items() if member.get("type") == "string"
    ]
    arguments = dict.fromkeys(texts[:1], FIXED_TEXT)
    called = broker.call(FIXED_REF, arguments).to_json()
    if called.get("ok") is not True:
        return None, f"{FIXED_REF} takes no single text"
    find = gauge.of(broker.find(FIXED_QUERY).to_json())
    describe = gauge.of(broker.describe(FIXED_REF).to_json())
    call, bare = gauge.call(called)
    through = startup["brokerStartup"] + find + describe + call
    direct = startup["directStartup"] + bare
    real = _follow(broker, world, gauge, FIXED_QUERY, (FIXED_REF,), arguments)
    told = {
        "query": FIXED_QUERY,
        "toolRef": FIXED_REF,
        "find": find,
        "describe": describe,
        "call": call,
        "directTokensToSuccess": direct,
        "brokerTokensToSuccess": through,
        "reduction": _reduction(through, direct),
        "largestPayload": max(find, describe, call),
        "brokerCalls": 3,
        "realPath": {
            "success": real.success,
            "brokerCalls": real.calls,
            "brokerTokensToSuccess": startup["brokerStartup"] + real.total if real.success else None,
        },
    }
    return told, None


def _follow(
    broker: Broker,
    world: World,
    gauge: _Gauge,
    intent: str,
    acceptable: Iterable[str],
    arguments: Mapping[str, Any] | None = None,
) -> TaskCost:
    """One task as the broker's answers lead it."""
    right = list(acceptable)
    given = example_arguments(world.by_ref[right[0]].input_schema) if arguments is None else arguments
    direct = gauge.call(broker.call(right[0], given).to_json())[1]
    found = carry_out(broker, "findTool", {"query": intent}).to_json()
    find, action = gauge.of(found), found.get("nextAction") or {}
    ref = found.get("selectedToolRef")
    if found.get("decision") == "ambiguous":
        offered = [str(candidate["toolRef"]) for candidate in found["candidates"]]
        ref = next((one for one in offered if one in right), offered[0])
    if ref is None:
        return TaskCost(False, find, 0, 0, 1, direct)
    described = action.get("tool") == "describeTool"
    describe = gauge.of(carry_out(broker, "describeTool", {"toolRef": ref}).to_json()) if described else 0
    if arguments is None:
        given = example_arguments(world.by_ref[ref].input_schema)
    called = carry_out(broker, "callTool", {"toolRef": ref, "arguments": dict(given)}).to_json()
    return TaskCost(
        ref in right and called.get("ok") is True,
        find,
        describe,
        gauge.call(called)[0],
        3 if described else 2,
        direct,
    )


def _summary(costs: Sequence[TaskCost], startup: Mapping[str, Any]) -> dict[str, Any]:
    successes = sum(cost.success for cost in costs)
    per_success = sum(cost.total for cost in costs) / successes if successes else None
    direct = sum(cost.direct for cost in costs) / len(costs)
    saved = startup["directStartup"] - startup["brokerStartup"]
    tasks, reason = _break_even(saved, per_success, direct)
    through = None if per_success is None else startup["brokerStartup"] + per_success
    whole = startup["directStartup"] + direct
    return {
        "n": len(costs),
        "successRate": successes / len(costs),
        "meanFind": mean(cost.find for cost in costs),
        "meanDescribe": mean(cost.describe for cost in costs),
        "meanCall": mean(cost.call for cost in costs),
        "meanCalls": mean(cost.calls for cost in costs),
        "tokensPerTask": mean(cost.total for cost in costs),
        "tokensPerSuccess": per_success,
        "directPerTask": direct,
        "directTokensToSuccess": whole,
        "brokerTokensToSuccess": through,
        "reduction": None if through is None else _reduction(through, whole),
        "breakEvenTasks": tasks,
        "breakEvenReason": reason,
    }


def _break_even(saved: float, per_success: float | None, direct: float) -> tuple[int | None, str | None]:
    if per_success is None:
        return None, "no task succeeds"
    if per_success <= direct:
        return None, "a task costs no more through the broker"
    return max(0, math.floor(saved / (per_success - direct))), None


def _growth(
    corpus: Corpus, world: World, gauge: _Gauge, factor: int, cases: Sequence[DiscoveryCase]
) -> dict[str, Any]:
    larger = copies(world, factor)
    step = max(1, math.ceil(len(cases) / GROWTH_INTENTS))
    broker = Broker(larger, ranker=live_ranker(corpus, None))
    asked = cases[::step]
    found = mean(gauge.of(broker.find(case.intent).to_json()) for case in asked)
    return {"factor": factor, **gauge.startup(larger), "intents": len(asked), "meanFind": found}
