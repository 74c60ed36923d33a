"""The frozen lexical ranker: BM25 over the weighted fields of a tool.

Its constants never change, so that recorded scores stay comparable; a better ranker is another module.
Term weighting after Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond"
(2009), with the document length taken per field and averaged over all fields of all tools.
"""

from __future__ import annotations

import heapq
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from discovercall.foundation.ecmascript import lower
from discovercall.gateway.catalog import Tool, properties_of

K1 = 1.2
B = 0.75
DISPLAY_STOPWORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "for",
        "from",
        "in",
        "is",
        "it",
        "my",
        "of",
        "on",
        "or",
        "the",
        "to",
        "with",
    ]
)
MIN_DISPLAY_IDF = 0.4  # of the best matched idf
MAX_DISPLAY_TERMS = 4
MAX_DISPLAY_FIELDS = 3
# Scores that differ by less are ties: the order of floating-point additions must not rank tools.
TIE_DIGITS = 9

_ASCII_TOKEN = re.compile(r"[a-z0-9]{2,}")


@dataclass(frozen=True, slots=True)
class RankedTool:
    """A tool and its score for one query; 0 when no term of the query occurs in it."""

    tool: Tool
    score: float


@dataclass(frozen=True, slots=True)
class _Field:
    label: str
    weight: float
    counts: Counter[str]
    length: int


def tokenize(text: str) -> list[str]:
    """Lower-cased runs of Unicode letters and digits that are at least two bytes long in UTF-8."""
    text = lower(text)
    if text.isascii():
        return _ASCII_TOKEN.findall(text)
    tokens = "".join(c if _is_letter_or_digit(c) else " " for c in text).split(" ")
    return [token for token in tokens if len(token) > 1 or (token and not token.isascii())]


def _is_letter_or_digit(character: str) -> bool:
    category = unicodedata.category(character)
    return category == "Nd" or category[0] == "L"


def field_texts(tool: Tool) -> list[tuple[str, float, str]]:
    """Label, weight and text of each field of a tool; an empty text is no field."""
    properties = properties_of(tool.input_schema)
    descriptions = [d for p in properties.values() if isinstance(d := p.get("description"), str) and d]
    return [
        ("tool reference", 8.0, tool.tool_ref),
        ("name", 6.0, tool.name),
        ("title", 5.0, tool.title),
        *(("alias", 3.0, alias) for alias in tool.aliases),
        ("server", 2.0, tool.server_id),
        ("description", 1.5, tool.description),
        ("parameter names", 0.8, " ".join(properties)),
        ("parameter descriptions", 0.5, " ".join(descriptions)),
    ]


def _fields(tool: Tool) -> list[_Field]:
    fields = []
    for label, weight, text in field_texts(tool):
        if text:
            tokens = tokenize(text)
            fields.append(_Field(label, weight, Counter(tokens), len(tokens)))
    return fields


class LexicalIndex:
    """Statistics of a catalog, computed once; ranking then touches only tools that share a term.

    Args:
        tools: the catalog, in any order; entries of equal score are ordered by tool reference.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = tuple(sorted(tools, key=lambda tool: tool.tool_ref))
        self._fields = [_fields(tool) for tool in self.tools]
        self._places = {tool.tool_ref: place for place, tool in enumerate(self.tools)}
        self.field_count = sum(map(len, self._fields))
        tokens = sum(field.length for fields in self._fields for field in fields)
        self.average_tokens = tokens / self.field_count if self.field_count else 0.0
        terms_of = [{term for field in fields for term in field.counts} for fields in self._fields]
        self._frequency = Counter(term for terms in terms_of for term in terms)
        self._postings: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for place, terms in enumerate(terms_of):
            for term in terms:
                weight = sum(self._contribution(field, term) for field in self._fields[place])
                self._postings[term].append((place, weight))

    def idf(self, term: str) -> float:
        """ln((N - df + 0.5) / (df + 0.5) + 1) for a token; 0 when no tool has it."""
        frequency = self._frequency.get(term, 0)
        if not frequency:
            return 0.0
        return math.log((len(self.tools) - frequency + 0.5) / (frequency + 0.5) + 1)

    def _contribution(self, field: _Field, term: str) -> float:
        count = field.counts.get(term, 0)
        if not count:
            return 0.0
        length = field.length / self.average_tokens
        saturation = max(1.0, K1 * (1 - B + B * length))
        return self.idf(term) * (count * (K1 + 1) / (count + saturation)) * field.weight

    def rank(self, query: str, *, limit: int | None = None) -> list[RankedTool]:
        """All tools, best first; a word that occurs twice in the query counts twice.

        Args:
            query: any text.
            limit: how many to return; all when None.
        """
        scores = [0.0] * len(self.tools)
        for term, times in Counter(tokenize(query)).items():
            for place, weight in self._postings.get(term, ()):
                scores[place] += times * weight
        # Places follow tool references, so ties and the tools without a score need no other key.
        keys = [(-round(score, TIE_DIGITS), place) for place, score in enumerate(scores)]
        best = sorted(keys) if limit is None else heapq.nsmallest(limit, keys)
        return [RankedTool(self.tools[place], scores[place]) for _, place in best]

    def reason(self, query: str, tool_ref: str) -> str:
        """One sentence on why a tool matched: its strongest terms and the fields that counted most.

        Raises:
            KeyError: the tool is not in the index.
        """
        fields = self._fields[self._places[tool_ref]]
        counts = Counter(tokenize(query))
        matched = {term for term in counts if any(term in field.counts for field in fields)}
        if not matched:
            return "No word of the query occurs in this tool."
        weights: dict[str, float] = {}
        for field in fields:
            gain = sum(counts[term] * self._contribution(field, term) for term in matched)
            weights[field.label] = weights.get(field.label, 0.0) + gain
        strongest = sorted(weights.items(), key=lambda item: -item[1])[:MAX_DISPLAY_FIELDS]
        labels = [label for label, weight in strongest if weight > 0]
        return f"Matches {listed(self._display_terms(matched))} in its {listed(labels)}."

    def _display_terms(self, matched: set[str]) -> list[str]:
        by_strength = sorted(matched, key=lambda term: (-self.idf(term), term))
        least = MIN_DISPLAY_IDF * self.idf(by_strength[0])
        kept = [t for t in by_strength if self.idf(t) >= least and t not in DISPLAY_STOPWORDS]
        return sorted(kept[:MAX_DISPLAY_TERMS] or by_strength[:1])


def listed(words: Sequence[str]) -> str:
    """Words as a phrase: "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
