"""BM25 over stemmed fields for large catalogs: array postings, so that a query touches few tools.

Same weights and constants as the frozen ranker; only the words differ.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from discovercall.gateway.catalog import Tool
from discovercall.gateway.lexical import (
    K1,
    MAX_DISPLAY_FIELDS,
    MAX_DISPLAY_TERMS,
    MIN_DISPLAY_IDF,
    B,
    field_texts,
    listed,
    tokenize,
)
from discovercall.gateway.stemming import stem
from discovercall.gateway.words import FUNCTION_WORDS, split_camel, terms

if TYPE_CHECKING:
    import numpy.typing as npt

    Scores = npt.NDArray[np.float64]


class TermIndex:
    """Statistics of a catalog for ranking by stemmed words.

    Args:
        tools: sorted by tool reference; places in all arrays follow this order.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.size = len(tools)
        fields = [_fields(tool) for tool in tools]
        lengths = [sum(counts.values()) for entry in fields for _, counts in entry]
        # Without a single word there is nothing to weigh, and any average does.
        self._average = (sum(lengths) / len(lengths) if lengths else 0.0) or 1.0
        frequency = Counter(term for entry in fields for term in {t for _, counts in entry for t in counts})
        self._idf = {
            term: math.log((self.size - count + 0.5) / (count + 0.5) + 1) for term, count in frequency.items()
        }
        self._unknown_idf = max(self._idf.values(), default=1.0)
        places: defaultdict[str, list[int]] = defaultdict(list)
        weights: defaultdict[str, list[float]] = defaultdict(list)
        for place, entry in enumerate(fields):
            for term, weight in _weights(entry, self._average).items():
                places[term].append(place)
                weights[term].append(weight * self._idf[term])
        self._postings = {
            term: (np.array(found, np.int32), np.array(weights[term])) for term, found in places.items()
        }

    def scores(self, query_terms: Sequence[str]) -> Scores:
        """BM25 of each tool; a term that occurs twice counts twice."""
        scores = np.zeros(self.size)
        for term, times in Counter(query_terms).items():
            found = self._postings.get(term)
            if found is not None:
                scores[found[0]] += times * found[1]
        return scores

    def knows(self, term: str) -> bool:
        """Whether any tool has a term."""
        return term in self._postings

    def coverage(self, query_terms: Sequence[str], place: int) -> float:
        """Share of the query's idf mass whose terms a tool has; unknown terms weigh as the rarest."""
        mass = {term: self._idf.get(term, self._unknown_idf) for term in query_terms}
        total = sum(mass.values())
        if not total:
            return 0.0
        return sum(weight for term, weight in mass.items() if self._has(term, place)) / total

    def reason(self, words: Mapping[str, str], tool: Tool) -> str | None:
        """Which words of a query a tool has, and in which fields; None when it has none.

        Args:
            words: of the query with their stems, from `stemmed_words`.
            tool: one of the index.
        """
        stems = set(words.values())
        gains: dict[str, float] = {}
        matched: set[str] = set()
        for label, weight, text in field_texts(tool):
            found = stems.intersection(terms(text))
            if found:
                matched |= found
                gains[label] = gains.get(label, 0.0) + weight * sum(self._idf.get(t, 0.0) for t in found)
        if not matched:
            return None
        strength = {word: self._idf.get(term, 0.0) for word, term in words.items() if term in matched}
        least = MIN_DISPLAY_IDF * max(strength.values())
        shown = [w for w in sorted(strength, key=lambda w: (-strength[w], w)) if strength[w] >= least]
        labels = sorted(gains, key=lambda label: -gains[label])[:MAX_DISPLAY_FIELDS]
        return f"matches {listed(sorted(shown[:MAX_DISPLAY_TERMS]))} in its {listed(labels)}"

    def _has(self, term: str, place: int) -> bool:
        found = self._postings.get(term)
        if found is None:
            return False
        at = int(np.searchsorted(found[0], place))
        return at < len(found[0]) and int(found[0][at]) == place


def stemmed_words(query: str) -> dict[str, str]:
    """The content words of a query, each with its stem."""
    return {word: stem(word) for word in tokenize(split_camel(query)) if word not in FUNCTION_WORDS}


def _fields(tool: Tool) -> list[tuple[float, Counter[str]]]:
    return [(weight, Counter(terms(text))) for _, weight, text in field_texts(tool) if text]


def _weights(fields: Sequence[tuple[float, Counter[str]]], average: float) -> dict[str, float]:
    """Per term the weighted, saturated count over a tool's fields, still without its idf."""
    sums: defaultdict[str, float] = defaultdict(float)
    for weight, counts in fields:
        saturation = max(1.0, K1 * (1 - B + B * sum(counts.values()) / average))
        for term, count in counts.items():
            sums[term] += count * (K1 + 1) / (count + saturation) * weight
    return sums
