"""The economy of tokens: plain sums by hand, the path the broker tells, and a story no estimator changes."""

import json
import math
from pathlib import Path

import pytest

from discovercall.evals.cases import Corpus, DiscoveryCase
from discovercall.evals.scaling import copies, grown, online
from discovercall.evals.tokens import (
    FIXED_QUERY,
    FIXED_REF,
    GROWTH,
    CharacterEstimator,
    WordPieceEstimator,
    measure_tokens,
)
from discovercall.gateway.operations import definitions
from tests.gateway.worlds import TOOLS, entry, text, world

WIKI = entry(FIXED_REF, "Search Wiki Pages", "Search the team wiki by words.", text("query"))
INTENTS = {
    "send an email to the supplier": ("mail.send",),
    "convert a spreadsheet": ("files.convert",),
    "weather forecast for Faro": ("down.weather",),
}


def corpus(tools=(*TOOLS, WIKI), intents=INTENTS, **statuses):
    cases = tuple(
        DiscoveryCase(intent, "lexical" if refs else "no_match", refs, "because", "discovery/x.jsonl:1")
        for intent, refs in intents.items()
    )
    return Corpus(Path("nowhere"), 1, world(list(tools), **statuses), cases, (), (), (), None, "0" * 64)


def measured(given=None, *, growth=(), **members):
    return measure_tokens(given or corpus(), encoder=None, growth=growth, **members).document()


def characters(value):
    return len(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


@pytest.mark.parametrize(
    ("given", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("日本語字句", 2)]
)
def test_a_quarter_of_the_characters_rounded_up(given, tokens):
    assert CharacterEstimator().estimate(given) == tokens
    assert CharacterEstimator(1).estimate(given) == len(given)


def test_word_pieces_are_counted_whole():
    estimator = WordPieceEstimator()
    assert estimator.estimate("") == 0
    assert estimator.estimate("the home page") == 3
    assert estimator.estimate("the home page. " * 500) == 2000


def test_the_start_is_the_sum_of_all_definitions():
    result = measured(estimator=CharacterEstimator(1))
    tools = [*TOOLS, WIKI]
    direct = sum(
        characters({"name": t["toolRef"], "description": t["description"], "inputSchema": t["inputSchema"]})
        for t in tools
    )
    broker = sum(characters(one) for one in definitions(sorted({t["serverId"] for t in tools})))
    assert (result["directStartup"], result["brokerStartup"]) == (direct, broker)
    assert result["startupReduction"] == pytest.approx(1 - broker / direct)
    assert result["brokerStartupWithInstructions"] > broker
    assert result["estimator"] == "characters/1"


def test_the_fixed_task():
    result = measured(corpus([*(tool for tool in TOOLS if tool["serverId"] != "wiki"), WIKI]))
    task = result["fixedTask"]
    assert task["query"] == FIXED_QUERY
    assert task["brokerCalls"] == 3
    assert task["brokerTokensToSuccess"] == (
        result["brokerStartup"] + task["find"] + task["describe"] + task["call"]
    )
    assert task["directTokensToSuccess"] == result["directStartup"] + task["call"]
    assert task["largestPayload"] == max(task["find"], task["describe"], task["call"])
    assert task["realPath"] == {
        "success": True,
        "brokerCalls": 2,
        "brokerTokensToSuccess": result["brokerStartup"] + task["find"] + task["call"],
    }


def test_a_rival_can_win_the_fixed_task():
    assert measured()["fixedTask"]["realPath"] == {
        "success": False,
        "brokerCalls": 2,
        "brokerTokensToSuccess": None,
    }


def test_the_fixed_task_needs_its_tool():
    result = measured(corpus(TOOLS))
    assert result["fixedTask"] is None
    assert result["fixedTaskSkipReason"] == f"the catalog has no {FIXED_REF}"
    assert result["tasks"]["successRate"] == 1
    strange = entry(FIXED_REF, "Search", "Search.", text("query", "space"))
    assert "no single text" in measured(corpus([*TOOLS, strange]))["fixedTaskSkipReason"]


def test_tasks_follow_what_the_broker_tells():
    tasks = measured()["tasks"]
    assert (tasks["n"], tasks["successRate"]) == (3, 1.0)
    assert tasks["meanCalls"] == pytest.approx(7 / 3)  # only the big schema has to be described
    assert tasks["meanDescribe"] > 300
    assert tasks["tokensPerTask"] == pytest.approx(
        tasks["meanFind"] + tasks["meanDescribe"] + tasks["meanCall"]
    )
    assert tasks["tokensPerSuccess"] == pytest.approx(tasks["tokensPerTask"])


def test_failures_cost_what_they_cost():
    sound = measured()["tasks"]
    missed = measured(corpus(intents=INTENTS | {"send an email to a friend": ("git.log",)}))["tasks"]
    assert missed["successRate"] == 0.75
    assert missed["tokensPerSuccess"] == pytest.approx(missed["tokensPerTask"] * 4 / 3)
    assert missed["tokensPerSuccess"] > sound["tokensPerSuccess"]
    refused = measured(corpus(intents={"zzzz qqqq": ("git.log",)}))["tasks"]
    assert (refused["successRate"], refused["meanCalls"], refused["meanCall"]) == (0, 1, 0)
    assert (
        refused["tokensPerSuccess"] is refused["brokerTokensToSuccess"] is refused["breakEvenTasks"] is None
    )
    assert refused["breakEvenReason"] == "no task succeeds"


def test_a_server_that_is_down_is_no_matter_here():
    assert measured(corpus(down="offline"))["tasks"] == measured()["tasks"]


def test_break_even_is_where_the_savings_are_eaten_up():
    result = measured()
    tasks = result["tasks"]
    saved = result["directStartup"] - result["brokerStartup"]
    extra = tasks["tokensPerSuccess"] - tasks["directPerTask"]
    assert tasks["breakEvenTasks"] == math.floor(saved / extra)
    few = measured(corpus([TOOLS[3], TOOLS[4]], {"send an email": ("mail.send",)}))
    assert few["startupReduction"] < 0
    assert few["tasks"]["reduction"] < 0
    assert few["tasks"]["breakEvenTasks"] == 0


def test_no_intent_gives_no_average():
    result = measured(corpus(intents={"order a taxi": ()}), growth=(1, 2))
    assert result["tasks"] is None
    assert [(step["meanFind"], step["intents"]) for step in result["growth"]] == [(None, 0)] * 2


def test_growth_costs_the_direct_way_only():
    growth = measured(growth=GROWTH)["growth"]
    assert [step["factor"] for step in growth] == list(GROWTH)
    assert [step["tools"] for step in growth] == [12 * factor for factor in GROWTH]
    assert growth[2]["directStartup"] > 15 * growth[0]["directStartup"]
    assert growth[2]["brokerStartup"] < 1.2 * growth[0]["brokerStartup"]
    assert growth[2]["meanFind"] < 4 * growth[0]["meanFind"]


@pytest.mark.parametrize("estimator", [CharacterEstimator(), CharacterEstimator(1), WordPieceEstimator()])
def test_the_story_survives_another_estimator(estimator):
    larger = corpus([*TOOLS, WIKI, *(entry(f"s{n}.do", "Do", "x" * 200, text("a", "b")) for n in range(40))])
    result = measured(larger, estimator=estimator)
    assert result["startupReduction"] > 0.5
    assert result["tasks"]["reduction"] > 0
    assert result["fixedTask"]["reduction"] > 0
    assert list(result["otherEstimators"]) == ([] if estimator.name == "wordpiece" else ["wordpiece"])


def test_worlds_grow_on_servers_of_their_own():
    given = world(**{"down": "offline"})
    larger = copies(given, 3)
    assert len(larger.tools) == len(larger.by_ref) == 3 * len(given.tools)
    assert len(larger.servers) == 3 * len(given.servers)
    assert {tool.server_id for tool in larger.tools} == {server.server_id for server in larger.servers}
    assert [tool.tool_ref for tool in larger.tools] == sorted(larger.by_ref)
    assert len(grown(given, 17).tools) == 17
    assert len(grown(given, 4).tools) == 4
    assert all(tool.callable_now for tool in online(given).tools)
    clash = world([entry("a.x", "X", "x"), entry("a-2.x", "X", "x")])
    assert len(copies(clash, 2).by_ref) == 4
