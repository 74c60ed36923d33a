"""The better search: words, meaning, capabilities and cues weighed into one score, and a calibrated refusal.

See docs/gateway.md for what each constant does and on what it was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from discovercall.gateway.bank import Bank, default_bank
from discovercall.gateway.capabilities import NONE, TOP_CLOSENESS, MeaningBank, Offer, WordBank
from discovercall.gateway.catalog import Tool, properties_of
from discovercall.gateway.cues import (
    ServerCue,
    ServerNames,
    accepted_kinds,
    request_mood,
    tool_effect,
    value_kinds,
)
from discovercall.gateway.encoder import CachingEncoder
from discovercall.gateway.ranking import Ranked, Ranking
from discovercall.gateway.results import Confidence, Decision
from discovercall.gateway.term_index import TermIndex, stemmed_words
from discovercall.gateway.words import name_words, terms

if TYPE_CHECKING:
    import numpy.typing as npt

    from discovercall.gateway.encoder import Vectors

    Numbers = npt.NDArray[np.float64]

LEXICAL_HALF = 20.0
W_LEXICAL = 0.3
W_DENSE = 0.3
W_EXEMPLAR = 0.7
W_SERVER = 0.15
W_ACT = 0.05
W_AFFORDANCE = 0.08
SURE_DENSE = 0.55
AMBIGUOUS_GAP = 0.04
HIGH_GAP = 0.08
HIGH_MARGIN = 0.05
W_EXEMPLAR_WORDS = 0.5
REFUSE_MARGIN = -0.10
REFUSE_MARGIN_WORDS = -0.10
ENOUGH_WORDS = 0.15
"""Closeness by words that stands in for a word in common."""
SURE_COVERAGE = 0.6
"""Share of a request's words in one tool from which on it is not refused, where only words count."""
SURE_MISSING = -0.15
"""Below this margin the broker also says which capability it believes was asked for."""
OWN_TEXT_TOOLS = 256
"""Tools whose own texts are compared one by one; the others keep the mean of theirs."""
# Without a model there is less evidence that could separate tools: gaps are smaller in that proportion.
WORDS_GAP_SCALE = (W_LEXICAL + W_EXEMPLAR_WORDS) / (W_LEXICAL + W_DENSE + W_EXEMPLAR)
_DIGITS = 9  # scores that differ by less are ties


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What speaks for each tool beside words and cues, and for the catalog as a whole."""

    offer: Offer
    closeness: Numbers
    best: float
    parts: dict[str, Numbers]
    total: Numbers
    best_dense: float | None = None
    degraded: str | None = None


class DiscoveryRanker:
    """Ranks the tools of a catalog by everything that is known about a request.

    Args:
        tools: the catalog.
        bank: the capabilities; the one that comes with the toolkit when None.
        encoder: the model; None works by words alone.
    """

    def __init__(
        self, tools: Sequence[Tool], *, bank: Bank | None = None, encoder: CachingEncoder | None = None
    ) -> None:
        self.tools = tuple(sorted(tools, key=lambda tool: tool.tool_ref))
        self.bank = bank or default_bank()
        self._index = TermIndex(self.tools)
        self._places = {tool.tool_ref: place for place, tool in enumerate(self.tools)}
        self._servers = ServerNames(tool.server_id for tool in self.tools)
        self._of_server: dict[str, list[int]] = {}
        for place, tool in enumerate(self.tools):
            self._of_server.setdefault(tool.server_id, []).append(place)
        self._effects = np.array([tool_effect(tool) for tool in self.tools], np.float64)
        kinds = [accepted_kinds(tool) for tool in self.tools]
        self._takes = {
            kind: np.array([kind in entry for entry in kinds], bool) for kind in frozenset().union(*kinds)
        }
        self._encoder = encoder
        self._words = WordBank(self.bank)
        self._by_words = self._words.offer(self.tools)
        if encoder is not None and self.tools:
            self._prepare_meaning(encoder)

    def _prepare_meaning(self, encoder: CachingEncoder) -> None:
        texts = [text for archetype in self.bank.archetypes for text in archetype.texts]
        self._meaning = MeaningBank(self.bank, encoder.encode(texts))
        views = [_views(tool) for tool in self.tools]
        vectors = np.stack([encoder.encode(list(column)) for column in zip(*views, strict=True)])
        # The mean of the cosines is the cosine-like product with the mean vector: one product per tool.
        self._dense = vectors.mean(axis=0)
        self._views = vectors
        self._by_meaning = self._meaning.offer(vectors[1], vectors[4])
        encoder.save()

    def adopted_by(self, tool_ref: str) -> tuple[str, ...]:
        """Ids of the capabilities that a tool adopts, best first.

        Raises:
            KeyError: the tool is not in the catalog.
        """
        offer = self._by_words if self._encoder is None else self._by_meaning
        row = offer.adopted[self._places[tool_ref]]
        return tuple(self.bank.archetypes[place].id for place in row if place != NONE)

    def rank(self, query: str, *, limit: int | None = None) -> Ranking:
        """Tools by score, ties by reference; the decision always weighs the whole catalog."""
        if not self.tools:
            return Ranking(query, (), "catalog_empty")
        query_terms = terms(query)
        bm25 = self._index.scores(query_terms)
        best_words = int(bm25.argmax())
        covered = self._index.coverage(query_terms, best_words)
        lexical = covered * bm25 / (bm25 + LEXICAL_HALF)
        servers = self._servers.cue(query)
        parts = {"lexical": lexical, **self._cues(query, servers)}
        total = W_LEXICAL * lexical + W_SERVER * parts["server"] + W_ACT * parts["act"]
        total += W_AFFORDANCE * parts["affordance"]
        evidence = self._evidence(query, query_terms)
        parts |= evidence.parts
        total += evidence.total
        best_dense = evidence.best_dense
        decoy, missing = evidence.offer.best_decoy(evidence.closeness)
        margin = evidence.best - decoy
        order = _best(total, limit)
        gap = float(total[order[0]] - total[order[1]]) if len(order) > 1 else float(total[order[0]])
        matched = bool(bm25[best_words] > 0) or float(parts["exemplar"].max()) >= ENOUGH_WORDS
        # A model finds a neighbour for any text, also for one in which no word is known.
        known = any(self._index.knows(term) or self._words.knows(term) for term in query_terms)
        refused = not known or _refused(margin, best_dense, covered if matched else None)
        decision, confidence = _decide(refused, gap, margin, semantic=best_dense is not None)
        shown = order if limit is None else order[:limit]
        if not refused or margin >= SURE_MISSING:
            missing = NONE
        return Ranking(
            query=query,
            entries=tuple(
                Ranked(self.tools[p], float(total[p]), {name: float(part[p]) for name, part in parts.items()})
                for p in shown
            ),
            decision=decision,
            confidence=confidence,
            semantic=best_dense is not None,
            margin=margin,
            best_dense=best_dense,
            gap=gap,
            missing_capability=None if missing == NONE else self.bank.archetypes[missing].capability,
            ruled_out=tuple(sorted(servers.ruled_out)),
            degraded=evidence.degraded,
            explain=partial(self._explain, stemmed_words(query), evidence),
        )

    def _evidence(self, query: str, query_terms: Sequence[str]) -> _Evidence:
        """By meaning where there is a model that works, else by words."""
        degraded = None
        if self._encoder is not None:
            try:
                return self._by_vector(self._encoder.encode_request(query))
            except Exception as error:  # a model may fail in any way; the words still work
                degraded = type(error).__name__
        closeness = self._words.of(query_terms)
        offer = self._by_words
        lent = offer.per_tool(closeness)
        return _Evidence(
            offer=offer,
            closeness=closeness,
            best=offer.best_offered(closeness),
            parts={"exemplar": lent},
            total=W_EXEMPLAR_WORDS * lent,
            degraded=degraded,
        )

    def _by_vector(self, vector: Vectors) -> _Evidence:
        closeness, offer = self._meaning.of(vector), self._by_meaning
        dense = (self._dense @ vector).astype(np.float64)
        own = self._own_closeness(dense, vector)
        exemplar = np.maximum(offer.per_tool(closeness), own)
        return _Evidence(
            offer=offer,
            closeness=closeness,
            best=max(offer.best_offered(closeness), float(own.max())),
            parts={"dense": dense, "exemplar": exemplar},
            total=W_DENSE * dense + W_EXEMPLAR * exemplar,
            best_dense=float(dense.max()),
        )

    def _own_closeness(self, dense: Numbers, vector: Vectors) -> Numbers:
        """A tool's own texts read as an archetype: the mean of the three nearest of its five."""
        own = dense.copy()
        nearest = (
            np.argpartition(-dense, OWN_TEXT_TOOLS)[:OWN_TEXT_TOOLS] if len(dense) > OWN_TEXT_TOOLS else ...
        )
        cosines = np.sort(self._views[:, nearest] @ vector, axis=0)[-TOP_CLOSENESS:]
        own[nearest] = cosines.mean(axis=0)
        return own

    def _cues(self, query: str, cue: ServerCue) -> dict[str, Numbers]:
        server = np.zeros(len(self.tools))
        for sign, ids in ((1.0, cue.named), (-1.0, cue.ruled_out)):
            for server_id in ids:
                server[self._of_server[server_id]] = sign
        affordance = np.zeros(len(self.tools), bool)
        for kind in value_kinds(query):
            if kind in self._takes:
                affordance |= self._takes[kind]
        return {
            "server": server,
            "act": request_mood(query) * self._effects,
            "affordance": affordance.astype(np.float64),
        }

    def _explain(self, words: Mapping[str, str], evidence: _Evidence, tool_ref: str) -> str:
        place = self._places[tool_ref]
        matches = self._index.reason(words, self.tools[place])
        said = []
        adopted = [p for p in evidence.offer.adopted[place] if p != NONE]
        if adopted:
            best = max(adopted, key=lambda p: evidence.closeness[p])
            if evidence.closeness[best] >= ENOUGH_WORDS:
                said.append(f"offers the capability “{self.bank.archetypes[best].capability}”")
        if matches:
            said.append(matches)
        if not said:
            return "Shares no word with the request; ranked by its other properties."
        text = "; ".join(said)
        return text[0].upper() + text[1:] + "."


def _views(tool: Tool) -> tuple[str, str, str, str, str]:
    """The five texts of a tool that are embedded; a missing title or description is made up for."""
    words = name_words(tool.name) or tool.name
    title = tool.title or words
    described = f"{title}. {tool.description}" if tool.description else title
    names = sorted(properties_of(tool.input_schema))
    fields = f" Fields: {', '.join(names)}" if names else ""
    return (f"{described} [{tool.tool_ref}]{fields}", described, title, tool.description or title, words)


def _best(total: Numbers, limit: int | None) -> npt.NDArray[np.int64]:
    """Places of the best tools (two more than needed at most), ties in the order of the places."""
    keys = np.round(-total, _DIGITS)
    if limit is None or limit + 2 >= len(keys):
        return np.argsort(keys, kind="stable")
    worst = np.partition(keys, limit + 1)[limit + 1]
    pool = np.flatnonzero(keys <= worst)
    chosen: npt.NDArray[np.int64] = pool[np.argsort(keys[pool], kind="stable")]
    return chosen[: max(limit, 2)]


def _refused(margin: float, best_dense: float | None, covered: float | None) -> bool:
    """Whether the request asks for something else than what the catalog offers.

    Args:
        margin: best capability that is offered less best that is not.
        best_dense: best cosine of a tool; None without a model.
        covered: share of the request's words in the best tool; None where nothing speaks for any tool.
    """
    if best_dense is None:
        return covered is None or (margin < REFUSE_MARGIN_WORDS and covered < SURE_COVERAGE)
    return margin < REFUSE_MARGIN and best_dense < SURE_DENSE


def _decide(
    refused: bool, gap: float, margin: float, *, semantic: bool
) -> tuple[Decision, Confidence | None]:
    if refused:
        return "no_good_match", None
    scale = 1.0 if semantic else WORDS_GAP_SCALE
    if gap < AMBIGUOUS_GAP * scale:
        return "ambiguous", None
    if gap >= HIGH_GAP * scale and margin >= HIGH_MARGIN:
        return "use", "high"
    return "use", "medium" if margin >= 0 else "low"
