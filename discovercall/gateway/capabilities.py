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
    Flags = npt.NDArray[np.bool_]

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
        related: from here on an archetype is no decoy, for some tool is near it.
        none: up to here an archetype lends the tool nothing.
        full: from here on it lends its whole closeness.
    """

    adopt: float
    related: float
    none: float
    full: float


BY_MEANING = AffinityScale(adopt=0.40, related=0.35, none=0.20, full=0.60)
BY_WORDS = AffinityScale(adopt=0.08, related=1.0, none=0.05, full=0.20)


@dataclass(frozen=True, slots=True)
class Offer:
    """What a catalog offers.

    Attributes:
        adopted: shape (tools, MOST_ADOPTED); places in the bank, `NONE` where a tool adopts fewer.
        related: shape (tools, MOST_RELATED); places of the archetypes that are nearest to a tool.
        strength: shape as `related`; what share of its closeness each of them lends.
        offered: shape (archetypes,); true where some tool adopts it.
        decoy: shape (archetypes,); true where no tool is near it.
    """

    adopted: Places
    related: Places
    strength: Numbers
    offered: Flags
    decoy: Flags

    def per_tool(self, closeness: Numbers) -> Numbers:
        """What the archetypes lend each tool: the best closeness, weighed by how near the tool is."""
        lent: Numbers = (closeness[self.related] * self.strength).max(axis=1)
        return lent

    def best_offered(self, closeness: Numbers) -> float:
        """Closeness of the best archetype that some tool adopts; 0 without any."""
        return float(closeness[self.offered].max(initial=0.0))

    def best_decoy(self, closeness: Numbers) -> tuple[float, int]:
        """Closeness and place of the best decoy; 0 and `NONE` without any."""
        if not self.decoy.any():
            return 0.0, NONE
        place = int(np.where(self.decoy, closeness, -np.inf).argmax())
        return max(0.0, float(closeness[place])), place


def adopt(affinity: Numbers, scale: AffinityScale) -> Offer:
    """What tools offer.

    Args:
        affinity: shape (tools, archetypes).
        scale: how it is read.
    """
    tools, size = affinity.shape
    width = min(MOST_RELATED, size)
    related = np.argsort(-affinity, axis=1, kind="stable")[:, :width]
    values = np.take_along_axis(affinity, related, axis=1)
    kept = (values >= scale.adopt) & (values >= MIN_OF_BEST * values[:, :1])
    adopted = np.where(kept, related, NONE)[:, :MOST_ADOPTED]
    offered = np.zeros(size, bool)
    offered[adopted[adopted != NONE]] = True
    near = affinity.max(axis=0, initial=-1.0) >= scale.related if tools else np.zeros(size, bool)
    strength = np.clip((values - scale.none) / (scale.full - scale.none), 0.0, 1.0)
    return Offer(adopted, related, strength, offered, ~(offered | near))


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
    """The bank as TF-IDF rows over stems."""

    def __init__(self, bank: Bank) -> None:
        texts = [terms(text) for archetype in bank.archetypes for text in archetype.texts]
        frequency = Counter(term for text in texts for term in set(text))
        self._idf = {term: math.log(len(texts) / count) + 1 for term, count in frequency.items()}
        self._rare = math.log(len(texts)) + 1
        self._columns = {term: column for column, term in enumerate(sorted(frequency))}
        self._texts = self._matrix(texts)
        self._whole = self._matrix([self._all_terms(archetype) for archetype in bank.archetypes])
        self._grouped = _Grouped(bank)

    def knows(self, term: str) -> bool:
        """Whether any text of the bank has a term."""
        return term in self._columns

    def of(self, query_terms: Sequence[str]) -> Numbers:
        """Closeness of a request's stems to each archetype."""
        return self._grouped.reduce(self._texts @ self._row(query_terms))

    def offer(self, tools: Sequence[Tool]) -> Offer:
        """What tools offer, by the words of their title, description and name."""
        affinity = np.zeros((len(tools), len(self._whole)))
        for place, tool in enumerate(tools):
            described = self._row(terms(f"{tool.title}. {tool.description}"))
            affinity[place] = 0.5 * (self._whole @ described) + 0.5 * (
                self._whole @ self._row(terms(name_words(tool.name)))
            )
        return adopt(affinity, BY_WORDS)

    @staticmethod
    def _all_terms(archetype: Archetype) -> list[str]:
        return [term for text in archetype.texts for term in terms(text)]

    def _matrix(self, texts: Sequence[Sequence[str]]) -> Numbers:
        return np.stack([self._row(text) for text in texts])

    def _row(self, text: Sequence[str]) -> Numbers:
        """Unit vector; terms that the bank lacks lengthen it as the rarest would."""
        row = np.zeros(len(self._columns))
        unknown = 0.0
        for term, count in Counter(text).items():
            column = self._columns.get(term)
            if column is None:
                unknown += (count * self._rare) ** 2
            else:
                row[column] = count * self._idf[term]
        length = math.sqrt(float(row @ row) + unknown)
        return row / length if length else row
