"""The better search, by words and with a model: what it weighs, when it refuses, what it keeps."""

import io
import math
import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall.foundation.errors import InputError
from discovercall.gateway.bank import Archetype, Bank, bank_path, default_bank, load_bank
from discovercall.gateway.baseline import BaselineRanker, Cosines, K, indexed_text
from discovercall.gateway.catalog import default_world_path, load_world
from discovercall.gateway.cues import ServerNames, accepted_kinds, request_mood, tool_effect, value_kinds
from discovercall.gateway.discovery import DiscoveryRanker
from discovercall.gateway.encoder import DIMENSIONS, CachingEncoder
from discovercall.gateway.stemming import stem
from discovercall.gateway.term_index import TermIndex
from discovercall.gateway.words import name_words, terms
from tests.gateway.worlds import entry, text, world

WORLD = world()


class Letters:
    """A stand-in for a model: texts that share words are near."""

    identity = "letters"

    def __init__(self, fails_on=None):
        self.fails_on = fails_on
        self.seen = []

    def encode(self, texts):
        self.seen += texts
        if any(text == self.fails_on for text in texts):
            raise RuntimeError("out of memory")
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, value in enumerate(texts):
            for term in terms(value) or ["nothing"]:
                rows[row, sum(map(ord, term)) * 31 % DIMENSIONS] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def by_words(tools=WORLD.tools):
    return DiscoveryRanker(tools)


def top(ranker, query):
    return ranker.rank(query).entries[0].tool.tool_ref


def test_words_are_split_and_stemmed():
    assert terms("getIssueById: the Searching of pages") == ["get", "issu", "id", "search", "page"]
    assert name_words("search_pages.v2") == "search pages v2"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"), ("ties", "tie"), ("cries", "cri"), ("gaps", "gap"), ("agreed", "agre"),
        ("luxuriated", "luxuri"), ("hopping", "hop"), ("hoping", "hope"), ("happy", "happi"), ("say", "say"),
        ("generically", "generic"), ("communication", "communic"), ("nationality", "nation"),
        ("sensational", "sensat"), ("knightly", "knight"), ("controll", "control"), ("dying", "die"),
        ("skies", "sky"), ("news", "news"), ("proceeding", "proceed"), ("relational", "relat"),
        ("be", "be"), ("größe", "größe"),
    ],
)  # fmt: skip
def test_stems(word, expected):
    assert stem(word) == expected


def test_index_touches_only_what_shares_a_word():
    index = TermIndex(WORLD.tools)
    places = {tool.tool_ref: place for place, tool in enumerate(WORLD.tools)}
    scores = index.scores(terms("searching mails"))
    assert scores.argmax() == places["mail.search"]
    assert scores[places["git.log"]] == 0
    assert math.isclose(index.scores(["mail", "mail"]).max(), 2 * index.scores(["mail"]).max())
    assert index.coverage(terms("search mail"), places["mail.search"]) == 1
    assert 0 < index.coverage(terms("search unicorns"), places["mail.search"]) < 0.5
    assert index.coverage([], 0) == 0


@pytest.mark.parametrize(
    ("query", "named", "ruled_out"),
    [
        ("search github for it", {"github"}, set()),
        ("not on github please", set(), {"github"}),
        ("use jira instead of github", {"jira"}, {"github"}),
        ("on google drive, rather than github", {"googleDrive"}, {"github"}),
        ("anything except google-drive", set(), {"googleDrive"}),
        ("without jira but on github", {"github"}, {"jira"}),
        ("find it in github and jira, but not in github", {"jira"}, {"github"}),
        ("do not forget the milk", set(), set()),
        ("hubgit", set(), set()),
        ("mcp", set(), set()),
    ],
)
def test_servers_named_and_ruled_out(query, named, ruled_out):
    cue = ServerNames(["github", "jira", "googleDrive", "mcp_weather"]).cue(query)
    assert (cue.named, cue.ruled_out) == (named, ruled_out)


@pytest.mark.parametrize(
    ("query", "mood"),
    [
        ("what is new", 1), ("show me the tables", 1), ("could you please find it", 1), ("tell me a joke", 1),
        ("is it raining?", 1), ("the weather?", 1),
        ("send the report? ", 1), ("send the report", -1), ("please delete it", -1), ("tell the team", -1),
        ("I want to book a room", -1), ("the weather", 0), ("", 0),
    ],
)  # fmt: skip
def test_mood_of_a_request(query, mood):
    assert request_mood(query) == mood


def test_effect_of_a_tool():
    effects = {
        "a.get_user": 1, "a.createUser": -1, "a.user.delete.v2": -1, "a.thing": 0, "a.list_and_delete": 1
    }  # fmt: skip
    for ref, effect in effects.items():
        tool = world([entry(ref, "T", "D", read_only=False)]).tools[0]
        assert tool_effect(tool) == effect
    assert tool_effect(world([entry("a.thing", "T", "A read-only look.", read_only=False)]).tools[0]) == 1
    assert tool_effect(world([entry("a.delete_all", "T", "D", read_only=True)]).tools[0]) == 1


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("open /etc/hosts", {"path"}), ("read notes.md", {"path"}), ("see ABC-123", {"issue key"}),
        ("post in #general", {"channel"}), ("write to a.b@example.org", {"mail address"}),
        ("where is parseTree()", {"symbol"}), ("issues of acme/tool", {"repository"}),
        ("at 10:30", {"time"}), ("on 2025-01-02", {"time"}), ("fetch https://example.org", {"url"}),
        ("nothing typed here", set()), ("and/or", {"repository"}),
        ("a-.md", {"path"}), ("a/-/--.md", {"path"}), ("-.md", set()), ("(/-.md", set()), ("a//-.md", set()),
        ("a+.@b.c", {"mail address"}), ("+@b.c", set()), ("a@b.", set()), ("x: a2B", {"symbol"}),
        ("A2b", set()), ("1-a-2/b", {"repository"}), ("1-2/b", set()), ("a/b/c", set()),
        ("(/a-b/c", {"repository"}), ("/a/b.c/d", {"path"}), ("x a/b.c/d", {"repository"}),
    ],
)  # fmt: skip
def test_typed_values(query, kinds):
    assert value_kinds(query) == kinds


@pytest.mark.parametrize(
    "text_of",
    [
        "a",
        "a-",
        "a/",
        "a.",
        "A-",
        "x@y",
        "aB",
        "not ",
        "not,",
        "without x ",
        "please ",
        "word ",
        "é",
        "a\u0301\u0316",
    ],
)
def test_a_long_request_takes_no_longer_than_its_length(text_of):
    # Reading a text anew from each of its places took more than 15 seconds.
    query = text_of * (100_000 // len(text_of)) + "@"
    before = time.process_time()
    for ranker in RANKERS:
        ranker.rank(query, limit=5)
    assert time.process_time() - before < 2


def test_the_words_behind_a_ruling_out_are_read_whole():
    names = ServerNames(["github", "x" * 100])
    assert names.cue(f"not {'x' * 100}").ruled_out == {"x" * 100}
    assert names.cue(f"not {'x ' * 3}{'y' * 59}github").ruled_out == set()
    assert names.cue("not a1 b2 c3 d4 e5 github").ruled_out == {"github"}
    assert names.cue("not a1 b2 c3 d4 e5 f6 github").named == {"github"}
    assert names.cue("not here, not github, use it").ruled_out == {"github"}
    assert names.cue("not at not github, then").ruled_out == {"github"}


def test_kinds_that_a_tool_takes():
    tool = world([entry("a.b", "T", "D", text("file_path", "startTime", "recipients", "other"))]).tools[0]
    assert accepted_kinds(tool) == {"path", "time", "mail address"}


def test_ruled_out_server_loses():
    twins = world(
        [
            entry("mail.search", "Search", "Search for notes."),
            entry("wiki.search", "Search", "Search for notes."),
        ]
    )
    ranker = by_words(twins.tools)
    assert top(ranker, "search notes, not in mail") == "wiki.search"
    assert top(ranker, "search notes in mail") == "mail.search"
    assert ranker.rank("search notes, not in mail").ruled_out == ("mail",)


def test_typed_value_tips_the_scale():
    # Alike but for the argument, and the one that takes the path loses ties.
    pair = world(
        [
            entry("a.n1", "Notes", "Work with notes.", text("n")),
            entry("a.n2", "Notes", "Work with notes.", text("path")),
        ]
    )
    ranking = by_words(pair.tools).rank("notes /tmp/x")
    assert [entry.parts["affordance"] for entry in ranking.entries] == [1, 0]
    assert ranking.entries[0].tool.tool_ref == "a.n2"
    assert top(by_words(pair.tools), "notes") == "a.n1"


def test_mood_tips_the_scale():
    # Names that say nothing, and each time the tool that fits the mood loses ties.
    reading_first = world(
        [
            entry("a.n1", "Note", "One note.", read_only=True),
            entry("a.n2", "Note", "One note.", read_only=False),
        ]
    )
    assert top(by_words(reading_first.tools), "write the note") == "a.n2"
    reading_last = world(
        [
            entry("a.n1", "Note", "One note.", read_only=False),
            entry("a.n2", "Note", "One note.", read_only=True),
        ]
    )
    assert top(by_words(reading_last.tools), "show the note") == "a.n2"


@pytest.mark.parametrize("query", ["zzzz", "", "the", "... !", "кошка"])
def test_text_without_a_known_word_is_refused(query):
    assert by_words().rank(query).decision == "no_good_match"
    encoder = CachingEncoder(Letters())
    assert DiscoveryRanker(WORLD.tools, encoder=encoder).rank(query).decision == "no_good_match"


def test_request_for_something_else_is_refused_and_named():
    ranking = by_words().rank("book a hotel room in Lisbon for two nights")
    assert ranking.decision == "no_good_match"
    assert ranking.margin < 0
    assert "hotel" in ranking.missing_capability.lower()


BANK = Bank(
    (
        Archetype(
            "tide.times",
            "Tell the times of high and low tide",
            ("when is high tide at the harbour", "tide times for the weekend"),
        ),
        Archetype(
            "boat.book",
            "Book a boat trip",
            ("reserve seats on the ferry boat", "book a boat for the weekend"),
        ),
        Archetype(
            "wave.height",
            "Tell how high the waves are",
            ("height of the waves tomorrow", "how high is the surf"),
        ),
    ),
    "0" * 64,
)
COAST = world(
    [
        entry("sea.tides", "Tide Times", "Times of high and low tide at a harbour.", text("harbour")),
        entry("sea.lights", "Lighthouses", "Lighthouses along a coast.", text("coast")),
        entry("sea.levels", "Water Levels", "Levels of the water at a harbour.", text("harbour")),
    ]
)


@pytest.mark.parametrize(
    ("query", "confidence", "margin", "gap"),
    [
        ("when is high tide", "high", (0.05, 1), (0.05, 1)),
        ("tide for the boat", "medium", (0, 0.05), (0.05, 1)),
        ("low lighthouses", "medium", (0.05, 1), (0.025, 0.049)),
        ("high waves at the harbour", "low", (-0.1, 0), (0.05, 1)),
    ],
)
def test_confidence_takes_a_margin_and_a_gap(query, confidence, margin, gap):
    ranking = DiscoveryRanker(COAST.tools, bank=BANK).rank(query)
    assert margin[0] <= ranking.margin < margin[1]
    assert gap[0] <= ranking.gap < gap[1]
    assert (ranking.decision, ranking.confidence) == ("use", confidence)


@pytest.mark.parametrize(
    ("query", "margin", "missing"),
    [
        ("tide for a boat trip", (-1, -0.15), "Book a boat trip"),
        ("tide and seats on the boat", (-0.15, -0.1), None),
    ],
)
def test_a_refusal_names_a_capability_only_where_the_broker_is_sure(query, margin, missing):
    ranking = DiscoveryRanker(COAST.tools, bank=BANK).rank(query)
    assert margin[0] <= ranking.margin < margin[1]
    assert (ranking.decision, ranking.missing_capability) == ("no_good_match", missing)


def test_what_the_catalog_says_in_so_many_words_is_not_refused():
    assert by_words().rank("weather forecast for a city").decision != "no_good_match"
    lone = world([entry("a.tides", "Tides", "High tide times.")])
    assert by_words(lone.tools).rank("high tide times").decision == "use"


def test_empty_catalog():
    for ranker in (by_words([]), BaselineRanker([])):
        ranking = ranker.rank("x")
        assert (ranking.decision, ranking.entries) == ("catalog_empty", ())


def test_tools_adopt_capabilities():
    ranker = by_words()
    assert "email.send" in ranker.adopted_by("mail.send")
    assert "git.log" in ranker.adopted_by("git.log")


def test_with_a_model():
    encoder = CachingEncoder(Letters())
    ranking = DiscoveryRanker(WORLD.tools, encoder=encoder).rank("search the mailbox for emails")
    assert ranking.semantic
    assert ranking.entries[0].tool.tool_ref == "mail.search"
    assert set(ranking.entries[0].parts) == {"lexical", "server", "act", "affordance", "dense", "exemplar"}
    assert ranking.explain("mail.search").endswith(".")


@pytest.mark.parametrize("fusion", ["bank", "rrf"])
def test_model_that_fails_on_a_request_leaves_the_words(fusion):
    query = "search the mailbox"
    encoder = CachingEncoder(Letters(fails_on=query))
    if fusion == "bank":
        ranking = DiscoveryRanker(WORLD.tools, encoder=encoder).rank(query)
        plain = by_words().rank(query)
    else:
        ranking = BaselineRanker(WORLD.tools, fusion="rrf", cosines=Cosines(WORLD.tools, encoder)).rank(query)
        plain = BaselineRanker(WORLD.tools).rank(query)
    assert (ranking.degraded, ranking.semantic) == ("RuntimeError", False)
    assert [e.tool for e in ranking.entries] == [e.tool for e in plain.entries]
    assert ranking.decision == plain.decision


def test_rank_fusion_is_kept_as_a_baseline():
    cosine = {"mail.search": 0.9, "mail.send": 0.5}
    order = [tool.tool_ref for tool in WORLD.tools]
    ranker = BaselineRanker(WORLD.tools, fusion="rrf", cosines=lambda q: [cosine.get(r, 0.0) for r in order])
    ranking = ranker.rank("commits")
    scores = {e.tool.tool_ref: e.score for e in ranking.entries}
    assert math.isclose(scores["mail.search"], 1 / (K + 1))
    assert scores["git.log"] > scores["mail.search"]  # in both lists
    assert (ranking.decision, ranking.confidence) == ("use", "high")
    alone = BaselineRanker(WORLD.tools).rank("commits")
    assert (alone.decision, alone.confidence) == ("use", "medium")
    assert math.isclose(alone.gap, 1 / 61 - 1 / 62)
    assert BaselineRanker(WORLD.tools).rank("zzzz").decision == "no_good_match"


def test_text_that_is_embedded():
    tool = WORLD.by_ref["mail.send"]
    assert indexed_text(tool) == "Send an Email. Compose and send an email. [mail.send] Fields: subject, to"
    bare = world([entry("a.b", "T", "", {})]).tools[0]
    assert indexed_text(bare) == "T [a.b]"


@given(st.text(max_size=80), st.integers(1, 12))
@settings(max_examples=150, deadline=None)
def test_a_limit_only_cuts(query, limit):
    ranker = RANKERS[limit % len(RANKERS)]
    whole, cut = ranker.rank(query), ranker.rank(query, limit=limit)
    assert [e.tool.tool_ref for e in cut.entries] == [e.tool.tool_ref for e in whole.entries][:limit]
    assert (cut.decision, cut.confidence) == (whole.decision, whole.confidence)
    assert {e.tool.tool_ref for e in whole.entries} == {tool.tool_ref for tool in WORLD.tools}
    assert all(math.isfinite(e.score) for e in whole.entries)


RANKERS = [
    by_words(),
    DiscoveryRanker(WORLD.tools, encoder=CachingEncoder(Letters())),
    BaselineRanker(WORLD.tools),
]


def test_order_of_the_catalog_does_not_matter():
    tools = load_world(default_world_path()).tools
    first, second = by_words(tools), by_words(tuple(reversed(tools)))
    for query in ("send a mail", "what is the weather", "search pages"):
        assert [e.tool for e in first.rank(query).entries] == [e.tool for e in second.rank(query).entries]


def test_bank_is_sound():
    bank = default_bank()
    assert len(bank.archetypes) >= 200
    requests = [request for archetype in bank.archetypes for request in archetype.requests]
    assert len(set(requests)) == len(requests)
    lines = [line for line in bank_path().read_text().splitlines() if line]
    assert lines == sorted(lines, key=lambda line: line.split('"')[3])
    assert bank.version.startswith(f"{len(bank.archetypes)}-")


@pytest.mark.parametrize(
    ("text_of", "words"),
    [
        ("", ["holds no capability"]),
        ("{", [":1", "JSON"]),
        ('{"id": "a", "capability": "b", "requests": ["c"]}', [":1", "requests"]),
        ('{"id": "a", "capability": " ", "requests": ["c", "d"]}', [":1", "capability"]),
        ('{"id": "a", "capability": "b", "requests": ["c", "d"], "x": 1}', [":1", "x"]),
        ('{"id": "a", "capability": "b", "requests": ["c", "c"]}', [":1", "twice"]),
        ('{"id": "a", "capability": "b", "requests": ["c", "d"]}\n' * 2, [":2", "id"]),
    ],
)
def test_bank_mistakes_are_named(tmp_path: Path, text_of, words):
    path = tmp_path / "bank.jsonl"
    path.write_text(text_of)
    with pytest.raises(InputError) as caught:
        load_bank(path)
    for word in ["bank.jsonl", *words]:
        assert word in str(caught.value)


def test_vectors_are_kept_by_text_and_model(tmp_path):
    path, model = tmp_path / "sub" / "vectors.npz", Letters()
    first = CachingEncoder(model, path)
    rows = first.encode(["one", "two", "one"])
    assert model.seen == ["one", "two"]
    first.save()
    again = Letters()
    cached = CachingEncoder(again, path)
    assert (cached.encode(["two", "one"]) == rows[[1, 0]]).all()
    assert (cached.encode_request("one") == rows[0]).all()
    cached.encode_request("three")
    assert again.seen == ["three"]
    other = Letters()
    other.identity = "other"
    CachingEncoder(other, path).encode(["one"])
    assert other.seen == ["one"]
    path.write_bytes(b"damaged")
    assert CachingEncoder(Letters(), path).encode(["one"]).shape == (1, DIMENSIONS)
    assert CachingEncoder(Letters()).encode([]).shape == (0, DIMENSIONS)


ROW = np.ones((1, DIMENSIONS), np.float32)


def saved_alone():
    buffer = io.BytesIO()
    np.save(buffer, ROW)
    return buffer.getvalue()


NO_VECTORS = {
    "an array alone": lambda path: path.write_bytes(saved_alone()),
    "keys of no dimension": lambda path: np.savez(path, identity="letters", keys="one", vectors=ROW),
    "other dimensions": lambda path: np.savez(path, identity="letters", keys=["one"], vectors=ROW[:, :3]),
    "other numbers": lambda path: np.savez(path, identity="letters", keys=["one"], vectors=ROW.astype("f8")),
    "no numbers": lambda path: np.savez(path, identity="letters", keys=["one"], vectors=ROW * np.nan),
    "more keys": lambda path: np.savez(path, identity="letters", keys=["one", "two"], vectors=ROW),
    "no vectors": lambda path: np.savez(path, identity="letters"),
    "a named pipe": os.mkfifo,
    "a folder": Path.mkdir,
}


@pytest.mark.parametrize("what", NO_VECTORS)
def test_a_file_that_holds_no_vectors_is_made_anew(tmp_path, what):
    path, model = tmp_path / "vectors.npz", Letters()
    NO_VECTORS[what](path)
    assert CachingEncoder(model, path).encode(["one"]).shape == (1, DIMENSIONS)
    assert model.seen == ["one"]
