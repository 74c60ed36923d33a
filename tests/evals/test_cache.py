"""The cache's workload: half of what may be kept is served, changes never are, and any lie about it shows."""

from dataclasses import replace
from pathlib import Path

import pytest

from discovercall.evals.cache import METRICS, CountingBroker, measure_cache, workload
from discovercall.evals.cases import Corpus, DiscoveryCase
from discovercall.evals.tokens import CharacterEstimator
from discovercall.gateway.bank import Archetype, Bank
from discovercall.gateway.cache import CachingBroker
from discovercall.gateway.results import CallResult, FindResult
from tests.gateway.worlds import TOOLS, world


def corpus(tools=TOOLS, **statuses):
    case = DiscoveryCase("send an email", "lexical", ("mail.send",), "because", "discovery/x.jsonl:1")
    return Corpus(Path("nowhere"), 1, world(tools, **statuses), (case,), (), (), (), None, "0" * 64)


def measured(given=None, **members):
    return measure_cache(given or corpus(), **members).document()


class Eager(CountingBroker):
    """Remembers everything for ever, changes too."""

    def __init__(self, inner):
        super().__init__(inner)
        self.kept = {}

    def find(self, query):
        return self._keep(("find", query), lambda: self.inner.find(query))

    def describe(self, tool_ref):
        return self._keep(("describe", tool_ref), lambda: self.inner.describe(tool_ref))

    def call(self, tool_ref, arguments=None):
        return self._keep(("call", tool_ref), lambda: self.inner.call(tool_ref, arguments))

    def _keep(self, key, ask):
        if key in self.kept:
            return self.aged(self.kept[key])
        self.kept[key] = ask()
        return self.kept[key]

    def aged(self, answer):
        return replace(answer, cached_age_seconds=0)


class Silent(Eager):
    """Does not say that an answer is old."""

    def aged(self, answer):
        return answer


class Confused(Eager):
    """Serves an answer that is not the first."""

    def aged(self, answer):
        if isinstance(answer, FindResult):
            answer = replace(answer, reason="something else")
        if isinstance(answer, CallResult):
            answer = replace(answer, result={})
        return super().aged(answer)


def test_the_real_cache():
    result = measured()
    assert (result["n"], result["cacheable"], result["served"], result["delegated"]) == (8, 6, 3, 5)
    assert {name: result[name] for name in METRICS} == {
        "redundantCallReduction": 0.5,
        "liveWriteRate": 1.0,
        "faithfulRate": 1.0,
    }
    assert result["servedTokens"] > 200
    assert result["leftOut"] == []
    assert result["offenders"] == {}
    assert measured(estimator=CharacterEstimator(1))["servedTokens"] > 3.9 * result["servedTokens"]


def test_a_cache_that_keeps_nothing():
    result = measured(new_cache=lambda inner: CachingBroker(inner, seconds=0))
    assert result["redundantCallReduction"] == 0
    assert (result["served"], result["delegated"], result["servedTokens"]) == (0, 8, 0)
    assert result["faithfulRate"] is None
    assert result["offenders"] == {"redundantCallReduction": ["search", "description", "reading call"]}


def test_a_cache_that_forgets_at_once():
    result = measured(
        new_cache=lambda inner: CachingBroker(inner, entries=1, clock=iter(range(0, 9999, 301)).__next__)
    )
    assert result["redundantCallReduction"] == 0


def test_a_cache_that_serves_changes():
    result = measured(new_cache=Eager)
    assert result["liveWriteRate"] == 0.5
    assert result["offenders"]["liveWriteRate"] == ["writing call"]
    assert result["redundantCallReduction"] == 0.5
    assert result["served"] == 4


@pytest.mark.parametrize(("cache", "rate"), [(Silent, 0), (Confused, 0.25)])
def test_a_cache_that_is_not_faithful(cache, rate):
    assert measured(new_cache=cache)["faithfulRate"] == rate


def test_a_server_that_is_down_is_no_matter_here():
    statuses = dict.fromkeys(("chat", "mail", "wiki", "files", "git", "down"), "offline")
    assert measured(corpus(**statuses)) == measured()


def test_steps_without_a_tool_are_left_out():
    reading = [tool for tool in TOOLS if tool["readOnly"]]
    result = measured(corpus([dict(tool, readOnly=False) for tool in reading]))
    assert (result["n"], result["cacheable"], result["leftOut"]) == (6, 4, ["reading call"])
    assert result["redundantCallReduction"] == 0.5
    result = measured(corpus(reading))
    assert result["leftOut"] == ["writing call"]
    assert result["liveWriteRate"] is None


def test_searches_use_the_bank_of_the_corpus():
    """A capability that asks for mail in words of its own leads to the tool that a search names."""
    asked = DiscoveryCase("zorble the quux", "semantic", ("mail.send",), "because", "discovery/x.jsonl:1")
    bank = Bank((Archetype("mail", "send an email", ("zorble the quux",)),), "0" * 64)
    given = replace(corpus(), discovery=(asked,), bank=bank)
    found = []

    class Watched(CachingBroker):
        def find(self, query):
            found.append(super().find(query).to_json()["decision"])
            return super().find(query)

    measured(given, new_cache=Watched)
    assert found[0] != "no_good_match"


def test_the_workload_needs_no_intent():
    steps = workload(world(), [])
    assert [step.name for step in steps] == ["search", "description", "reading call", "writing call"]
    assert steps[0].arguments["query"]
