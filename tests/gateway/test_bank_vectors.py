"""The vectors that come along are those of the bank and of the pinned model."""

import numpy as np
import pytest

from discovercall.gateway import bank_vectors
from discovercall.gateway.bank import Archetype, Bank, default_bank
from discovercall.gateway.bank_vectors import bundled_vectors, pack, vectors_path
from discovercall.gateway.encoder import DIMENSIONS, CachingEncoder, MiniLmEncoder


class Counting:
    identity = "counting"

    def __init__(self):
        self.asked = []

    def encode(self, texts):
        self.asked += texts
        return np.eye(len(texts), DIMENSIONS, dtype=np.float32)


def test_they_are_of_this_bank_and_model():
    model = MiniLmEncoder()
    given = bundled_vectors(model.identity)
    texts = [text for archetype in default_bank().archetypes for text in archetype.texts]
    assert set(given) == set(texts), "make vectors"
    sample = texts[::150]
    cosines = np.sum(model.encode(sample) * np.stack([given[text] for text in sample]), axis=1)
    assert cosines.min() > 0.995


def test_another_model_or_bank_gets_none(monkeypatch):
    assert bundled_vectors("another model") == {}
    other = Bank((Archetype("a", "Do a thing", ("do it", "do that")),), "0" * 64)
    monkeypatch.setattr(bank_vectors, "default_bank", lambda: other)
    assert bundled_vectors(MiniLmEncoder().identity) == {}


@pytest.mark.parametrize("content", [b"", b"PK", None])
def test_a_file_that_is_damaged_or_missing_only_costs_time(tmp_path, monkeypatch, content):
    path = tmp_path / "vectors.npz"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setattr(bank_vectors, "vectors_path", lambda: path)
    assert bundled_vectors(MiniLmEncoder().identity) == {}


def test_packing_moves_no_cosine_by_much(tmp_path, monkeypatch):
    rows = np.random.default_rng(1).normal(size=(3, DIMENSIONS)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    bank = Bank((Archetype("a", "Do a thing", ("do it", "do that")),), "1" * 64)
    (tmp_path / "v.npz").write_bytes(pack(bank, "m", rows))
    monkeypatch.setattr(bank_vectors, "vectors_path", lambda: tmp_path / "v.npz")
    monkeypatch.setattr(bank_vectors, "default_bank", lambda: bank)
    back = np.stack(list(bundled_vectors("m").values()))
    assert np.abs(back @ rows.T - rows @ rows.T).max() < 0.005


def test_given_vectors_are_neither_computed_nor_kept(tmp_path):
    inner = Counting()
    given = {"known": np.full(DIMENSIONS, DIMENSIONS**-0.5, np.float32)}
    encoder = CachingEncoder(inner, tmp_path / "v.npz", given)
    assert np.array_equal(encoder.encode(["known", "new"])[0], given["known"])
    assert inner.asked == ["new"]
    encoder.save()
    again = Counting()
    CachingEncoder(again, tmp_path / "v.npz").encode(["known", "new"])
    assert again.asked == ["known"]


def test_the_file_is_small():
    assert vectors_path().stat().st_size < 3_000_000
