"""Labels that are too easy are found, whatever the live search has become (checklist line 3)."""

import numpy as np
import pytest

from discovercall.evals.corpus import default_corpus_folder, load_corpus
from discovercall.evals.hygiene import check_hygiene, content_stems
from discovercall.gateway.encoder import CachingEncoder
from tests.evals.corpora import CorpusFolder, line


@pytest.fixture
def corpus(tmp_path):
    return CorpusFolder(tmp_path)


def findings(corpus, encoder=None):
    loaded = load_corpus(corpus.write())
    return check_hygiene(loaded, loaded.discovery, encoder=encoder, skip_reason="no model here")


class Angles:
    """Gives each text the vector at an angle of its own."""

    identity = "angles"

    def __init__(self, angles):
        self.angles = angles

    def encode(self, texts):
        degrees = np.radians([self.angles.get(text, 90.0) for text in texts])
        return np.stack([np.cos(degrees), np.sin(degrees)], axis=1).astype(np.float32)


def test_a_planted_case_that_word_search_answers_is_found(corpus):
    corpus.discovery["semantic"].append(line("post message slack channel", "semantic", ["chat.post_message"]))
    found = findings(corpus).findings
    assert {finding.check for finding in found} == {"lexical", "stem"}
    lexical = next(finding for finding in found if finding.check == "lexical")
    assert lexical.document() == {
        "check": "lexical",
        "intent": "post message slack channel",
        "category": "semantic",
        "where": "discovery/semantic.jsonl:2",
        "issue": lexical.issue,
    }
    assert "chat.post_message" in lexical.issue


def test_a_stem_in_common_is_found_where_word_search_fails(corpus):
    corpus.discovery["semantic"].append(line("converting his budget", "semantic", ["files.convert"]))
    assert [finding.check for finding in findings(corpus).findings] == ["stem"]


def test_other_categories_may_use_the_words(corpus):
    assert findings(corpus).findings == ()


def test_a_request_of_the_bank_near_an_intent_is_found(corpus):
    intent = "book a flight to Rome"
    angles = {intent: 0.0, "order a pizza": 31.0, "send an email": 32.0}  # cosines .857 and .848
    found = findings(corpus, CachingEncoder(Angles(angles)))
    assert found.bank_skipped is None
    (finding,) = (f for f in found.findings if f.case.intent == intent)
    assert finding.check == "bank"
    assert "order a pizza" in finding.issue
    assert "0.857" in finding.issue


def test_a_request_of_the_bank_just_beyond_the_limit_is_not(corpus):
    intent = "book a flight to Rome"
    encoder = CachingEncoder(Angles({intent: 0.0, "order a pizza": 32.0}))  # cosine .848
    assert [f for f in findings(corpus, encoder).findings if f.case.intent == intent] == []


def test_a_tool_that_is_first_without_a_word_in_common_is_no_finding(corpus):
    corpus.discovery["semantic"] = [
        line("zzz qqq", "semantic", [min(t["toolRef"] for t in corpus.world["tools"])])
    ]
    assert findings(corpus).findings == ()


def test_without_a_model_the_bank_check_says_why_it_did_not_run(corpus):
    assert findings(corpus).document() == {"findings": [], "bankCheckSkipped": "no model here"}


@pytest.mark.parametrize(
    ("one", "other"), [("Converting", "convert"), ("messages", "message"), ("getIssue", "issues get")]
)
def test_stems_join(one, other):
    assert content_stems(one) == content_stems(other)


def test_function_words_carry_nothing():
    assert content_stems("What should I do with the…") == set()


def test_the_committed_open_intents_are_clean():
    corpus = load_corpus(default_corpus_folder())
    assert check_hygiene(corpus, corpus.discovery, encoder=None, skip_reason=None).findings == ()
