"""Metrics of discovery: what each says, that none can only say one thing, and that refusals count."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall.evals.ablation import refusals_without_capability, with_same_capability
from discovercall.evals.cases import CATEGORIES, DiscoveryCase
from discovercall.evals.corpus import load_corpus
from discovercall.evals.discovery import measure_discovery, scope_metrics
from discovercall.evals.rankers import RankerPlan, ranker_plans
from discovercall.evals.ranking_cases import RankedCase, rank_case
from discovercall.evals.rates import separation
from discovercall.gateway.broker import Broker
from discovercall.gateway.catalog import Tool
from discovercall.gateway.discovery import DiscoveryRanker
from discovercall.gateway.lexical import LexicalIndex
from discovercall.gateway.ranking import Ranked, Ranking
from discovercall.gateway.results import DECISIONS
from tests.evals.corpora import CorpusFolder

RATES = (
    "top1", "top3", "mrr", "wrongServerRate", "noMatchCorrectness", "falseRefusalRate", "endToEnd",
    "usePrecision", "ambiguousHit", "capabilityAblation",
)  # fmt: skip


@pytest.fixture
def corpus(tmp_path):
    return load_corpus(CorpusFolder(tmp_path).write())


def outcome(category="lexical", rank=1, decision="use", **members):
    values = {"top": "a.b", "wrong_server": False, "margin": 0.1, "refused_without": None, **members}
    return RankedCase("x", category, rank, decision, **values)


class FixedRanker:
    """Lists tools in a given order with a given decision."""

    def __init__(self, tools, decision="use"):
        self.tools, self.decision = tools, decision

    def rank(self, query, *, limit=None):
        return Ranking(query, tuple(Ranked(tool, 1.0) for tool in self.tools), self.decision)


def tool(ref):
    server, name = ref.split(".")
    return Tool(ref, server, name, name, "", {})


@st.composite
def outcomes(draw):
    category = draw(st.sampled_from(CATEGORIES))
    rank = 0 if category == "no_match" else draw(st.integers(0, 9))
    decision = draw(st.sampled_from(DECISIONS))
    wrong = category == "wrong_server" and rank != 1 and draw(st.booleans())
    return outcome(category, rank, decision, wrong_server=wrong, margin=draw(st.floats(-1, 1)))


@settings(deadline=None)  # the first example loads scipy
@given(st.lists(outcomes(), max_size=12))
def test_rates_are_shares_and_hang_together(cases):
    found = scope_metrics(cases, "overall")
    for name in RATES:
        assert found[name] is None or 0 <= found[name] <= 1
        assert (found[name] is None) == (name not in found["intervals"])
        if found[name] is not None:
            spread = found["intervals"][name]
            assert spread["low"] - 1e-6 <= found[name] <= spread["high"] + 1e-6
    if any(case.matchable for case in cases):
        assert found["top1"] <= found["top3"]
        assert found["top1"] <= found["mrr"] + 1e-6
    assert sum(found["decisionMix"].values()) == found["n"] == len(cases)


@settings(deadline=None)
@given(st.lists(outcomes(), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_the_cases_does_not_matter(cases, random):
    shuffled = list(cases)
    random.shuffle(shuffled)
    assert scope_metrics(shuffled, "overall") == scope_metrics(cases, "overall")


def test_a_refusal_is_right_for_no_match_and_wrong_else():
    """Checklist line 5."""
    cases = [
        outcome("no_match", 0, "no_good_match"),
        outcome("no_match", 0, "catalog_empty"),
        outcome("no_match", 0, "use"),
        outcome("lexical", 1, "no_good_match"),
        outcome("lexical", 1, "use"),
    ]
    found = scope_metrics(cases, "overall")
    assert found["noMatchCorrectness"] == pytest.approx(2 / 3, abs=1e-6)
    assert found["falseRefusalRate"] == 0.5
    assert found["top1"] == 1.0
    assert found["endToEnd"] == pytest.approx(3 / 5)


def test_the_first_three_are_three():
    found = scope_metrics([outcome(rank=rank) for rank in (0, 1, 2, 3, 4)], "lexical")
    assert (found["top1"], found["top3"]) == (0.2, 0.6)


def test_the_decision_metrics():
    cases = [
        outcome(rank=1, decision="use"),
        outcome(rank=2, decision="use"),
        outcome(rank=2, decision="ambiguous"),
        outcome(rank=3, decision="ambiguous"),
        outcome(rank=0, decision="ambiguous"),
    ]
    found = scope_metrics(cases, "lexical")
    assert found["usePrecision"] == 0.5
    assert found["ambiguousHit"] == pytest.approx(1 / 3, abs=1e-6)
    assert found["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 2 + 1 / 3) / 5, abs=1e-6)
    assert found["decisionMix"] == {"use": 2, "ambiguous": 3, "no_good_match": 0, "catalog_empty": 0}


def test_what_does_not_apply_is_null_and_not_nought():
    found = scope_metrics([outcome("no_match", 0, "use")], "no_match")
    for name in ("top1", "top3", "mrr", "wrongServerRate", "falseRefusalRate", "usePrecision", "refusalAuc"):
        assert found[name] is None
    assert scope_metrics([], "semantic")["endToEnd"] is None
    assert scope_metrics([outcome()], "lexical")["wrongServerRate"] is None
    assert scope_metrics([outcome("wrong_server")], "overall")["wrongServerRate"] == 0.0
    mixed = [outcome("wrong_server", 2, wrong_server=True), outcome("lexical")]
    assert scope_metrics(mixed, "overall")["wrongServerRate"] == 1.0


@pytest.mark.parametrize(
    ("top", "acceptable", "wrong"),
    [
        ("mail.search_all", ["wiki.search_pages"], True),  # same first word, another server
        ("wiki.search_all", ["wiki.search_pages"], False),  # same server
        ("mail.send", ["wiki.search_pages"], False),  # does something else
        ("mail.search_all", ["wiki.search_pages", "mail.search_all"], False),  # acceptable itself
        ("mail.search_all", ["mail.search_x", "wiki.search_pages"], True),  # one of several is a rival's
    ],
)
def test_when_a_server_is_wrong(top, acceptable, wrong):
    ranker = FixedRanker([tool(top), *(tool(ref) for ref in acceptable if ref != top)])
    case = DiscoveryCase("x", "wrong_server", tuple(acceptable), "y", "z:1")
    assert rank_case(ranker, case).wrong_server is wrong


def test_rank_is_that_of_the_best_acceptable_tool():
    ranker = FixedRanker([tool("a.a"), tool("b.b"), tool("c.c")])
    ranks = [
        rank_case(ranker, DiscoveryCase("x", "lexical", refs, "y", "z:1")).rank
        for refs in [("a.a",), ("c.c", "b.b"), ("d.d",)]
    ]
    assert ranks == [1, 2, 0]


def test_the_area_under_the_curve():
    assert separation([3, 4], [1, 2]) == 1.0
    assert separation([1, 2], [3, 4]) == 0.0
    assert separation([1, 1], [1]) == 0.5
    assert separation([], [1]) is None


def test_tools_that_share_a_capability_go_together(corpus):
    ranker = DiscoveryRanker(corpus.world.tools, bank=corpus.bank)
    shared = {ref for ref in ("mail.search", "mail.send") if "mail" in ranker.adopted_by(ref)}
    assert shared == {"mail.search", "mail.send"}
    assert with_same_capability(ranker, ["mail.search"]) >= shared
    assert "down.weather" not in with_same_capability(ranker, ["mail.search"])


def test_a_ranker_that_never_refuses_fails_the_ablation_and_one_that_always_does_passes(corpus):
    (words, *_) = ranker_plans(corpus.bank, None)
    for decision, expected in (("use", False), ("no_good_match", True)):
        seen: list[set[str]] = []

        def make(tools, decision=decision, seen=seen):
            seen.append({tool.tool_ref for tool in tools})
            return FixedRanker(tools, decision)

        plan = RankerPlan("fixed", make, words.capabilities)
        cases = [case for case in corpus.discovery if case.category in ("lexical", "no_match")]
        ranked = [rank_case(FixedRanker(corpus.world.tools), case) for case in cases]
        done = refusals_without_capability(plan, corpus.world.tools, cases, ranked)
        assert {o.refused_without for o in done if o.matchable} == {expected}
        assert {o.refused_without for o in done if not o.matchable} == {None}
        for case in cases:
            if case.acceptable:
                assert any(not set(case.acceptable) & refs for refs in seen)


def test_rankers_side_by_side_and_two_runs_are_equal(corpus):
    """Checklist line 5."""
    found, again = (measure_discovery(corpus, corpus.discovery, encoder=None) for _ in range(2))
    assert list(found.rankers) == ["words", "bm25"]
    assert found.document() == again.document() == found.side_by_side()["words"]
    assert found.side_by_side() == again.side_by_side()
    assert found.document()["overall"]["n"] == len(corpus.discovery)
    assert sum(found.document()[category]["n"] for category in CATEGORIES) == len(corpus.discovery)
    assert found.document()["lexical"]["top1"] == 1.0
    assert math.isclose(found.side_by_side()["bm25"]["lexical"]["top3"], 1.0)
    assert [case["intent"] for case in found.case_list()] == [case.intent for case in corpus.discovery]


def test_the_decision_is_the_one_that_the_broker_tells(corpus):
    (plan, *_) = ranker_plans(corpus.bank, None)
    broker = Broker(corpus.world, ranker=plan.make)
    ranker = plan.make(corpus.world.tools)
    for case in corpus.discovery:
        told = broker.find(case.intent).to_json()
        found = rank_case(ranker, case)
        assert told["decision"] == found.decision
        if "selectedToolRef" in told:
            assert told["selectedToolRef"] == found.top


def test_the_frozen_ranker_is_the_frozen_ranker(corpus):
    plans = {plan.name: plan for plan in ranker_plans(corpus.bank, None)}
    frozen = plans["bm25"].make(corpus.world.tools)
    index = LexicalIndex(corpus.world.tools)
    for case in corpus.discovery:
        expected = [entry.tool.tool_ref for entry in index.rank(case.intent)]
        assert [entry.tool.tool_ref for entry in frozen.rank(case.intent).entries] == expected
