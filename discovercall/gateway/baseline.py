"""The rankers kept for comparison: the frozen lexical one alone, and its rank fusion with cosines.

Reciprocal rank fusion after Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and
individual Rank Learning Methods" (SIGIR 2009). A tool without a common word casts no lexical vote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from discovercall.gateway.catalog import Tool, properties_of
from discovercall.gateway.lexical import LexicalIndex
from discovercall.gateway.ranking import Ranked, Ranking
from discovercall.gateway.results import Confidence, Decision

if TYPE_CHECKING:
    from discovercall.gateway.encoder import CachingEncoder

K = 60
LEXICAL_HALF = 6.0
LEXICAL_FLOOR = 0.20
COSINE_FLOOR = 0.30
SEPARATION = 0.0001
HIGH_CONFIDENCE = 0.030


class Cosines:
    """Cosine of a request with each tool's indexed text, in the order of tool references.

    Args:
        tools: the catalog, in any order.
        encoder: the model.
    """

    def __init__(self, tools: Sequence[Tool], encoder: CachingEncoder) -> None:
        ordered = sorted(tools, key=lambda tool: tool.tool_ref)
        self._encoder = encoder
        self._rows = encoder.encode([indexed_text(tool) for tool in ordered])

    def __call__(self, query: str) -> Sequence[float]:
        cosines: list[float] = (self._rows @ self._encoder.encode_request(query)).tolist()
        return cosines


def indexed_text(tool: Tool) -> str:
    """`Title. Description [server.name] Fields: a, b`, without the parts that a tool lacks."""
    described = f"{tool.title}. {tool.description}" if tool.description else tool.title
    names = sorted(properties_of(tool.input_schema))
    fields = f" Fields: {', '.join(names)}" if names else ""
    return f"{described} [{tool.tool_ref}]{fields}"


class BaselineRanker:
    """Ranks by words, or by words and cosines fused by rank.

    Args:
        tools: the catalog.
        fusion: `bm25` or `rrf`; without cosines both order by words alone.
        cosines: the dense leg of `rrf`; None where there is no model.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        *,
        fusion: Literal["bm25", "rrf"] = "bm25",
        cosines: Callable[[str], Sequence[float]] | None = None,
    ) -> None:
        self.index = LexicalIndex(tools)
        self._cosines = cosines if fusion == "rrf" else None
        self._places = {tool.tool_ref: place for place, tool in enumerate(self.index.tools)}

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
            if entry.score > 0 or not len(cosines):
                votes[entry.tool.tool_ref] += 1 / (K + rank)
        if len(cosines):
            nearest = sorted(self._places.items(), key=lambda item: (-round(cosines[item[1]], 9), item[1]))
            for rank, (ref, _) in enumerate(nearest, 1):
                votes[ref] += 1 / (K + rank)
        ordered = sorted(lexical, key=lambda entry: -round(votes[entry.tool.tool_ref], 12))
        kept = ordered if limit is None else ordered[: max(limit, 2)]
        top = [votes[entry.tool.tool_ref] for entry in kept[:2]]
        dense = [float(cosines[self._places[entry.tool.tool_ref]]) for entry in kept] if len(cosines) else []
        decision, confidence, gap = _decide(top, kept[0].score if kept else 0.0, dense[0] if dense else None)
        entries = [
            Ranked(
                entry.tool,
                votes[entry.tool.tool_ref] if dense else entry.score,
                {"lexical": entry.score} | ({"dense": dense[place]} if dense else {}),
            )
            for place, entry in enumerate(kept if limit is None else kept[:limit])
        ]
        return Ranking(
            query=query,
            entries=tuple(entries),
            decision=decision,
            confidence=confidence,
            semantic=bool(len(cosines)),
            gap=gap,
            degraded=degraded,
            explain=lambda ref: self.index.reason(query, ref),
        )


def _decide(
    votes: Sequence[float], score: float, cosine: float | None
) -> tuple[Decision, Confidence | None, float]:
    """Decision, confidence and gap.

    Args:
        votes: fused scores of the first two.
        score: lexical score of the first.
        cosine: of the first; None without a dense leg.
    """
    if not votes:
        return "catalog_empty", None, 0.0
    lexical = score / (score + LEXICAL_HALF) if score > 0 else 0.0
    gap = votes[0] - votes[1] if len(votes) > 1 else votes[0]
    if lexical < LEXICAL_FLOOR and (cosine is None or cosine < COSINE_FLOOR):
        return "no_good_match", None, gap
    if gap >= SEPARATION:
        return "use", "high" if votes[0] >= HIGH_CONFIDENCE else "medium", gap
    return "ambiguous", None, gap
