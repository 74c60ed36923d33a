"""Which capabilities of the bank a catalog offers, and how close a request is to those and to the others.

Two readings of closeness: by meaning (vectors of a model) and by words (TF-IDF), which needs no model.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discovercall.gateway.bank import Archetype, Bank
from discovercall.gateway.catalog import Tool
from discovercall.gateway.words import name_words, terms

if TYPE_CHECKING:
    import numpy.typing as npt

    from discovercall.gateway.encoder import Vectors

    Places = npt.NDArray[np.int64]
    Numbers = npt.NDArray[np.float64]

MIN_OF_BEST = 0.85
MOST_ADOPTED = 2
MOST_RELATED = 8
TOP_CLOSENESS = 3
NONE = -1


@dataclass(frozen=True, slots=True)
class AffinityScale:
    """How the affinity of a tool with an archetype is read.

    Attributes:
        adopt: from here on a tool adopts the archetype, if it is among its best.
        supplied: two affinities with the nearest tool: up to the first an archetype is not offered, from the
            second on it is, in between in part. None: what some tool adopts is offered, the rest is not.
        none: up to here an archetype lends the tool nothing.
        full: from here on it lends its whole closeness.
    """

    adopt: float
    supplied: tuple[float, float] | None
    none: float
    full: float


BY_MEANING = AffinityScale(adopt=0.40, supplied=(0.40, 0.60), none=0.20, full=0.60)
BY_WORDS = AffinityScale(adopt=0.08, supplied=None, none=0.05, full=0.20)


@dataclass(frozen=True, slots=True)
class Offer:
    """What a catalog offers.

    Attributes:
        adopted: shape (tools, MOST_ADOPTED); places in the bank, `NONE` where a tool adopts fewer.
        related: up to MOST_RELATED rows of shape (tools,); places of the archetypes nearest to each tool.
        strength: rows as `related`; what share of its closeness each of them lends.
        supply: shape (archetypes,); how far each is offered, from 0, a decoy, to 1.
    """

    adopted: Places
    related: tuple[Places, ...]
    strength: tuple[Numbers, ...]
    supply: Numbers

    def per_tool(self, closeness: Numbers) -> Numbers:
        """What the archetypes lend each tool: the best closeness, weighed by how near the tool is."""
        lent = np.zeros(len(self.adopted))
        for places, strength in zip(self.related, self.strength, strict=True):
            np.maximum(lent, closeness[places] * strength, out=lent)
        return lent

    def best_offered(self, closeness: Numbers) -> float:
        """Closeness of the best archetype, as far as it is offered."""
        return float((closeness * self.supply).max(initial=0.0))

    def best_decoy(self, closeness: Numbers) -> tuple[float, int]:
        """Closeness, as far as it is not offered, and place of the best decoy; 0 and `NONE` without any."""
        lacking = closeness * (1.0 - self.supply)
        place = int(lacking.argmax()) if len(lacking) else NONE
        return (float(lacking[place]), place) if place != NONE and lacking[place] > 0 else (0.0, NONE)


def adopt(affinity: Numbers, scale: AffinityScale) -> Offer:
    """What tools offer.

    Args:
        affinity: shape (tools, archetypes).
        scale: how it is read.
    """
    size = affinity.shape[1]
    width = min(MOST_RELATED, size)
    related = np.argsort(-affinity, axis=1, kind="stable")[:, :width]
    values = np.take_along_axis(affinity, related, axis=1)
    kept = (values >= scale.adopt) & (values >= MIN_OF_BEST * values[:, :1])
    adopted = np.where(kept, related, NONE)[:, :MOST_ADOPTED]
    strength = np.clip((values - scale.none) / (scale.full - scale.none), 0.0, 1.0)
    # Row by row, for reducing along a short last axis is slow.
    rows = [row for row in range(width) if strength[:, row].any()]
    return Offer(
        adopted,
        tuple(np.ascontiguousarray(related[:, row]) for row in rows),
        tuple(np.ascontiguousarray(strength[:, row]) for row in rows),
        _supply(affinity, adopted, scale),
    )


def _supply(affinity: Numbers, adopted: Places, scale: AffinityScale) -> Numbers:
    if scale.supplied is None or not len(affinity):
        supply = np.zeros(affinity.shape[1])
        supply[adopted[adopted != NONE]] = 1.0
        return supply
    low, high = scale.supplied
    offered: Numbers = np.clip((affinity.max(axis=0) - low) / (high - low), 0.0, 1.0)
    return offered


class _Grouped:
    """Rows of similarities, grouped by archetype: the mean of the best three of each group."""

    def __init__(self, bank: Bank) -> None:
        sizes = [len(archetype.texts) for archetype in bank.archetypes]
        self._width = max(sizes)
        self._rows = np.full((len(sizes), self._width), -1, np.int64)
        start = 0
        for place, size in enumerate(sizes):
            self._rows[place, :size] = np.arange(start, start + size)
            start += size

    def reduce(self, similarities: Numbers) -> Numbers:
        """From one number per text of the bank to one per archetype."""
        grouped = np.append(similarities, -1.0)[self._rows]
        best = np.sort(grouped, axis=1)[:, -min(TOP_CLOSENESS, self._width) :]
        means: Numbers = best.mean(axis=1)
        return means


class MeaningBank:
    """The bank as vectors.

    Args:
        bank: the capabilities.
        vectors: shape (texts, dimensions), rows in the order of the archetypes' `texts`.
    """

    def __init__(self, bank: Bank, vectors: Vectors) -> None:
        self._vectors = vectors
        self._grouped = _Grouped(bank)
        lines = np.cumsum([0, *(len(archetype.texts) for archetype in bank.archetypes)])[:-1]
        self._lines = vectors[lines]

    def of(self, request: Vectors) -> Numbers:
        """Closeness of a request's vector to each archetype."""
        return self._grouped.reduce((self._vectors @ request).astype(np.float64))

    def offer(self, described: Vectors, named: Vectors) -> Offer:
        """What tools offer, by the vectors of their title with description and of their name's words."""
        affinity = 0.5 * (described @ self._lines.T) + 0.5 * (named @ self._lines.T)
        return adopt(affinity.astype(np.float64), BY_MEANING)


class WordBank:
    """The bank as TF-IDF over stems, kept by term so that a request touches only what shares one."""

    def __init__(self, bank: Bank) -> None:
        texts = [terms(text) for archetype in bank.archetypes for text in archetype.texts]
        frequency = Counter(term for text in texts for term in set(text))
        self._idf = {term: math.log(len(texts) / count) + 1 for term, count in frequency.items()}
        self._rare = math.log(len(texts)) + 1
        self._size = len(bank.archetypes)
        self._texts = self._by_term(texts)
        self._count = len(texts)
        self._whole = self._by_term([self._all_terms(archetype) for archetype in bank.archetypes])
        self._grouped = _Grouped(bank)

    def knows(self, term: str) -> bool:
        """Whether any text of the bank has a term."""
        return term in self._idf

    def of(self, query_terms: Sequence[str]) -> Numbers:
        """Closeness of a request's stems to each archetype."""
        return self._grouped.reduce(self._compare(query_terms, self._texts, self._count))

    def offer(self, tools: Sequence[Tool]) -> Offer:
        """What tools offer, by the words of their title, description and name."""
        affinity = np.zeros((len(tools), self._size))
        for place, tool in enumerate(tools):
            described = terms(f"{tool.title}. {tool.description}")
            affinity[place] = 0.5 * self._compare(described, self._whole, self._size)
            affinity[place] += 0.5 * self._compare(terms(name_words(tool.name)), self._whole, self._size)
        return adopt(affinity, BY_WORDS)

    @staticmethod
    def _all_terms(archetype: Archetype) -> list[str]:
        return [term for text in archetype.texts for term in terms(text)]

    def _by_term(self, texts: Sequence[Sequence[str]]) -> dict[str, tuple[Places, Numbers]]:
        found: dict[str, tuple[list[int], list[float]]] = {}
        for place, text in enumerate(texts):
            for term, weight in self._weights(text).items():
                places, weights = found.setdefault(term, ([], []))
                places.append(place)
                weights.append(weight)
        return {term: (np.array(places), np.array(weights)) for term, (places, weights) in found.items()}

    def _compare(self, text: Sequence[str], index: dict[str, tuple[Places, Numbers]], size: int) -> Numbers:
        """Cosine of a text with each of the indexed ones."""
        cosines = np.zeros(size)
        for term, weight in self._weights(text).items():
            places, weights = index[term]
            cosines[places] += weight * weights
        return cosines

    def _weights(self, text: Sequence[str]) -> dict[str, float]:
        """Unit TF-IDF weights; terms that the bank lacks lengthen the text as the rarest would."""
        weights, squares = {}, 0.0
        for term, count in Counter(text).items():
            weight = count * self._idf.get(term, self._rare)
            squares += weight * weight
            if term in self._idf:
                weights[term] = weight
        return {term: weight / math.sqrt(squares) for term, weight in weights.items()}
