"""The cache in front of a broker: what it keeps, for how long, and that it says so."""

import numpy as np
import pytest

from discovercall.gateway.broker import Broker
from discovercall.gateway.cache import CachingBroker
from discovercall.gateway.downstream import ServerOfflineError
from discovercall.gateway.encoder import DIMENSIONS, CachingEncoder
from discovercall.gateway.store import Catalog
from tests.gateway.worlds import entry, text, world
from tests.support.mcp.recording import Recording

WORLD = world()


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def age(answer):
    return answer.to_json().get("cachedAgeSeconds")


@pytest.fixture
def parts():
    catalog, downstream, clock = Catalog.of_world(WORLD, indexed_at=1.0), Recording(WORLD.tools), Clock()
    return catalog, downstream, clock, CachingBroker(Broker(catalog, downstream, clock=clock), clock=clock)


def test_read_only_call_is_served_with_its_age(parts):
    _, downstream, clock, cached = parts
    first = cached.call("mail.search", {"query": "x"}).to_json()
    assert "cachedAgeSeconds" not in first
    clock.now += 12.7
    again = cached.call("mail.search", {"query": "x"}).to_json()
    assert again["cachedAgeSeconds"] == 12
    assert "may have changed" in again["notices"][-1]
    assert again["result"] == first["result"]
    assert len(downstream.calls) == 1
    assert "cachedAgeSeconds" not in first


def test_call_that_is_not_marked_read_only_runs_each_time(parts):
    _, downstream, _, cached = parts
    for _ in range(3):
        assert "cachedAgeSeconds" not in cached.call("mail.send", {"to": "a", "subject": "b"}).to_json()
    assert len(downstream.calls) == 3


def test_other_arguments_are_another_entry_and_their_order_is_not(parts):
    _, downstream, _, cached = parts
    catalog, schema = parts[0], text("a", "b")
    catalog.put_tools(world([entry("wiki.pair", "Pair", "Reads a pair.", schema)]).tools, indexed_at=1.0)
    downstream.live["wiki.pair"] = schema
    cached.call("wiki.pair", {"a": "1", "b": "2"})
    cached.call("wiki.pair", {"b": "2", "a": "1"})
    cached.call("wiki.pair", {"a": "2", "b": "1"})
    assert len(downstream.calls) == 2


def test_failures_are_never_kept(parts):
    _, downstream, _, cached = parts
    downstream.errors["mail"] = ServerOfflineError("away")
    assert not cached.call("mail.search", {"query": "x"}).ok
    downstream.errors.clear()
    assert cached.call("mail.search", {"query": "x"}).ok


def test_a_search_whose_model_failed_is_not_kept():
    class Model:
        identity = "breaks"
        broken = True

        def encode(self, texts):
            if texts == ["find a mail"] and self.broken:
                raise RuntimeError("out of memory")
            return np.ones((len(texts), DIMENSIONS), np.float32)

    model = Model()
    cached = CachingBroker(Broker(WORLD, encoder=CachingEncoder(model)))
    assert "lexical only" in cached.find("find a mail").to_json()["agentInstruction"]
    model.broken = False
    again = cached.find("find a mail")
    assert age(again) is None
    assert "lexical only" not in again.to_json()["agentInstruction"]
    assert age(cached.find("find a mail")) == 0


def test_searches_hang_on_the_state_of_the_catalog(parts):
    catalog, _, _, cached = parts
    cached.find("search mail")
    assert age(cached.find("search mail")) == 0
    catalog.last_indexed_at = 2.0
    assert age(cached.find("search mail")) is None


def test_descriptions_hang_on_the_schema(parts):
    catalog, _, _, cached = parts
    cached.describe("mail.search")
    assert age(cached.describe("mail.search")) == 0
    catalog.put_tools(world([entry("mail.search", "Search Mail", "Other.", text("q"))]).tools)
    assert age(cached.describe("mail.search")) is None


@pytest.mark.parametrize(("seconds", "later", "served"), [(300, 299, True), (300, 300, False), (0, 0, False)])
def test_how_long(seconds, later, served):
    clock = Clock()
    cached = CachingBroker(Broker(WORLD, clock=clock), seconds=seconds, clock=clock)
    cached.describe("mail.search")
    clock.now += later
    assert (age(cached.describe("mail.search")) is not None) == served


def test_a_clock_that_goes_back_serves_nothing():
    clock = Clock()
    cached = CachingBroker(Broker(WORLD, clock=clock), clock=clock)
    cached.describe("mail.search")
    clock.now -= 50
    assert age(cached.describe("mail.search")) is None


def test_oldest_entries_go_first():
    clock = Clock()
    cached = CachingBroker(Broker(WORLD, clock=clock), entries=2, clock=clock)
    for ref in ("mail.search", "wiki.get_page"):
        cached.describe(ref)
    cached.describe("mail.search")
    cached.describe("git.log")
    assert age(cached.describe("mail.search")) is not None
    assert age(cached.describe("wiki.get_page")) is None


@pytest.mark.parametrize("members", [{"seconds": -1}, {"entries": 0}])
def test_senseless_settings_are_refused(members):
    with pytest.raises(ValueError, match=r"entry|seconds"):
        CachingBroker(Broker(WORLD), **members)
