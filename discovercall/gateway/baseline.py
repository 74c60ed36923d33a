"""The rankers kept for comparison: the frozen lexical one alone, and its rank fusion with cosines.

Reciprocal rank fusion after Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and
individual Rank Learning Methods" (SIGIR 2009). A tool without a common word casts no lexical vote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from discovercall.gateway.catalog import Tool
from discovercall.gateway.lexical import LexicalIndex
from discovercall.gateway.ranking import Ranked, Ranking
from discovercall.gateway.results import Confidence, Decision

K = 60
LEXICAL_HALF = 6.0
LEXICAL_FLOOR = 0.20
COSINE_FLOOR = 0.30
SEPARATION = 0.0001
HIGH_CONFIDENCE = 0.030

Cosines = Callable[[str], Sequence[float]]
"""Cosine of a text with every tool, in the order of tool references."""


class BaselineRanker:
    """Ranks by words, or by words and cosines fused by rank.

    Args:
        tools: the catalog.
        fusion: `bm25` or `rrf`; without cosines both order by words alone.
        cosines: the dense leg of `rrf`; None where there is no model.
        zero_votes: let tools without a common word vote too, as the design this is measured against does.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        *,
        fusion: Literal["bm25", "rrf"] = "bm25",
        cosines: Cosines | None = None,
        zero_votes: bool = False,
    ) -> None:
        self.index = LexicalIndex(tools)
        self._cosines = cosines if fusion == "rrf" else None
        self._places = {tool.tool_ref: place for place, tool in enumerate(self.index.tools)}
        self._zero_votes = zero_votes

    def rank(self, query: str, *, limit: int | None = None) -> Ranking:
        """All tools by fused score, or the best `limit` of them."""
        lexical = self.index.rank(query)
        degraded = None
        cosines: Sequence[float] = ()
        if self._cosines is not None:
            try:
                cosines = self._cosines(query)
            except Exception as error:  # a model may fail in any way; the words still work
                degraded = type(error).__name__
        votes = dict.fromkeys(self._places, 0.0)
        for rank, entry in enumerate(lexical, 1):
            if entry.score > 0 or self._zero_votes or not len(cosines):
                votes[entry.tool.tool_ref] += 1 / (K + rank)
        if len(cosines):
            nearest = sorted(self._places.items(), key=lambda item: (-round(cosines[item[1]], 9), item[1]))
            for rank, (ref, _) in enumerate(nearest, 1):
                votes[ref] += 1 / (K + rank)
        scores = {entry.tool.tool_ref: entry.score for entry in lexical}
        ordered = sorted(lexical, key=lambda entry: -round(votes[entry.tool.tool_ref], 12))
        entries = tuple(
            Ranked(
                entry.tool,
                votes[entry.tool.tool_ref],
                {"lexical": entry.score}
                | ({"dense": float(cosines[self._places[entry.tool.tool_ref]])} if len(cosines) else {}),
            )
            for entry in (ordered if limit is None else ordered[: max(limit, 2)])
        )
        decision, confidence, gap = _decide(entries, scores, bool(len(cosines)))
        return Ranking(
            query=query,
            entries=entries if limit is None else entries[:limit],
            decision=decision,
            confidence=confidence,
            semantic=bool(len(cosines)),
            gap=gap,
            degraded=degraded,
            explain=lambda ref: self.index.reason(query, ref),
        )


def _decide(
    entries: Sequence[Ranked], scores: dict[str, float], semantic: bool
) -> tuple[Decision, Confidence | None, float]:
    if not entries:
        return "catalog_empty", None, 0.0
    top = entries[0]
    score = scores[top.tool.tool_ref]
    lexical = score / (score + LEXICAL_HALF) if score > 0 else 0.0
    gap = top.score - entries[1].score if len(entries) > 1 else top.score
    if lexical < LEXICAL_FLOOR and not (semantic and top.parts["dense"] >= COSINE_FLOOR):
        return "no_good_match", None, gap
    if gap >= SEPARATION:
        return "use", "high" if top.score >= HIGH_CONFIDENCE else "medium", gap
    return "ambiguous", None, gap
