"""Which capabilities of the bank a catalog offers, and how close a request is to those and to the others.

Two readings of closeness: by meaning (vectors of a model) and by words (TF-IDF), which needs no model.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from discovercall.gateway.bank import Archetype, Bank
from discovercall.gateway.catalog import Tool
from discovercall.gateway.words import name_words, terms

if TYPE_CHECKING:
    import numpy.typing as npt

    from discovercall.gateway.encoder import Vectors

    Places = npt.NDArray[np.int64]
    Numbers = npt.NDArray[np.float64]

MIN_ADOPTION = 0.40
MIN_ADOPTION_BY_WORDS = 0.08
MIN_OF_BEST = 0.85
MOST_ADOPTED = 2
TOP_CLOSENESS = 3
NONE = -1


@dataclass(frozen=True, slots=True)
class Offer:
    """What a catalog offers.

    Attributes:
        adopted: shape (tools, MOST_ADOPTED); places in the bank, `NONE` where a tool adopts fewer.
        offered: shape (archetypes,); true where some tool adopts it.
    """

    adopted: Places
    offered: npt.NDArray[np.bool_]

    def per_tool(self, closeness: Numbers) -> Numbers:
        """The closeness of each tool's best adopted archetype; 0 for a tool without one."""
        padded = np.append(closeness, 0.0)  # NONE points at the padding
        best: Numbers = padded[self.adopted].max(axis=1)
        return best

    def margin(self, closeness: Numbers) -> float:
        """Best offered archetype less best other one; a bank without the one or the other counts as 0."""
        offered = closeness[self.offered]
        decoys = closeness[~self.offered]
        return float(offered.max(initial=0.0) - decoys.max(initial=0.0))

    def best_decoy(self, closeness: Numbers) -> int:
        """Place of the closest archetype that nothing offers; `NONE` when everything is offered."""
        if self.offered.all():
            return NONE
        return int(np.where(self.offered, -np.inf, closeness).argmax())


def adopt(affinity: Numbers, least: float) -> Offer:
    """Each tool's best archetypes.

    Args:
        affinity: shape (tools, archetypes).
        least: the affinity from which on a tool adopts at all.
    """
    tools, size = affinity.shape
    adopted = np.full((tools, MOST_ADOPTED), NONE, np.int64)
    if size and tools:
        order = np.argsort(-affinity, axis=1, kind="stable")[:, :MOST_ADOPTED]
        values = np.take_along_axis(affinity, order, axis=1)
        kept = (values >= least) & (values >= MIN_OF_BEST * values[:, :1])
        adopted[:, : order.shape[1]] = np.where(kept, order, NONE)
    offered = np.zeros(size, bool)
    offered[adopted[adopted != NONE]] = True
    return Offer(adopted, offered)


class Closeness(Protocol):
    """Compares a request with every archetype."""

    def of(self, request: Vectors) -> Numbers:
        """Shape (archetypes,)."""


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
        return adopt(affinity.astype(np.float64), MIN_ADOPTION)


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
        return adopt(affinity, MIN_ADOPTION_BY_WORDS)

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
