import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovercall.gateway.catalog import Tool, load_world
from discovercall.gateway.lexical import LexicalIndex, tokenize

DATA = Path(__file__).parent / "data"
RECORDED = json.loads((DATA / "lexical-scores.json").read_text())


def tool(ref, title="", description="", properties=None, aliases=()):
    server, _, name = ref.partition(".")
    return Tool(ref, server, name, title, description, {"properties": properties or {}}, aliases=aliases)


@pytest.fixture(scope="module")
def index():
    return LexicalIndex(load_world(DATA / "world.json").tools)


def test_recorded_statistics(index):
    assert index.field_count == RECORDED["fields"]
    assert round(index.average_tokens, 6) == RECORDED["average_tokens_per_field"]
    assert {term: round(index.idf(term), 6) for term in RECORDED["idf"]} == RECORDED["idf"]


@pytest.mark.parametrize("case", RECORDED["queries"], ids=lambda case: case["query"])
def test_recorded_scores(index, case):
    ranked = index.rank(case["query"])
    assert [[e.tool.tool_ref, round(e.score, 6)] for e in ranked if e.score > 0] == case["scores"]
    assert sorted(e.tool.tool_ref for e in ranked) == [t.tool_ref for t in index.tools]


def test_limit_takes_the_first(index):
    whole = index.rank("water the garden plants")
    for limit in (1, 3, 11, 12, 50):
        assert index.rank("water the garden plants", limit=limit) == whole[:limit]


def test_ties_and_tools_without_score_follow_the_reference(index):
    assert [e.tool.tool_ref for e in index.rank("search")[:2]] == [
        "archive.search_records",
        "library.search_books",
    ]
    refs = [e.tool.tool_ref for e in index.rank("zzz")]
    assert refs == sorted(refs)


def test_order_of_the_catalog_does_not_matter(index):
    shuffled = LexicalIndex(tuple(reversed(index.tools)))
    for case in RECORDED["queries"]:
        assert shuffled.rank(case["query"]) == index.rank(case["query"])


def test_a_repeated_word_counts_twice(index):
    once = {e.tool.tool_ref: e.score for e in index.rank("parcel")}
    twice = {e.tool.tool_ref: e.score for e in index.rank("parcel parcel")}
    assert all(math.isclose(twice[ref], 2 * score) for ref, score in once.items())


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Search_books.v1", ["search", "books", "v1"]),
        ("a b cd é 街 ½ x²", ["cd", "é", "街"]),
        ("ÉCOLE-naïve 42 7", ["école", "naïve", "42"]),
        ("getUserName", ["getusername"]),
        ("", []),
    ],
)
def test_tokens(text, tokens):
    assert tokenize(text) == tokens


@given(st.text())
def test_tokens_are_letters_and_digits_of_two_bytes(text):
    for token in tokenize(text):
        assert len(token.encode("utf-8", "surrogatepass")) >= 2
        assert token.isalnum()


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_and_other_text_split_alike(text):
    assert tokenize(text + " 街") == [*tokenize(text), "街"]


def test_empty_texts_make_no_field():
    bare = LexicalIndex([tool("a.b")])
    assert bare.field_count == 3  # reference, name, server
    full = LexicalIndex([tool("a.b", "T", "D", {"x": {}, "y": {"description": "why"}}, ("one", "two"))])
    assert full.field_count == 9


def test_empty_catalog():
    assert LexicalIndex([]).rank("anything") == []


def test_reason_names_strong_terms_and_fields(index):
    reason = index.reason("water the garden plants", "garden.list_plants")
    assert "garden and plants" in reason
    assert "the" not in reason.split(" in its ")[0].split()
    assert "title" in reason


def test_reason_keeps_the_strongest_when_only_stopwords_match(index):
    assert index.reason("the the", "almanac.moon_phase").startswith("Matches the in its")


def test_reason_without_a_match(index):
    assert "No word" in index.reason("zzz", "almanac.moon_phase")


def test_reason_shows_at_most_four_terms(index):
    words = "garden list plants watered each show when"
    named = index.reason(words, "garden.list_plants").split(" in its ")[0].removeprefix("Matches ")
    assert len(named.replace(" and ", ", ").split(", ")) == 4
