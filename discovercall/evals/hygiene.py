"""Whether the labels measure what they say: warnings about intents that are too easy.

Each check is against something that never changes, so that a better search does not turn honest cases into
gifts: the frozen lexical ranker, and a blunt stemmer of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from discovercall.evals.cases import Corpus, DiscoveryCase
from discovercall.gateway.encoder import CachingEncoder
from discovercall.gateway.lexical import LexicalIndex

MAX_BANK_COSINE = 0.85
FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a about all am an and any are as at be been but by can could did do does for from had
        has have he here how i if in into is it its may me might more most must my no not of off
        on or our out over own please shall she should so some than that the their them then
        there these they this those till to until up us was we were what when where which while
        who whom why will with without would you your""",
    )
)
_ENDINGS = (
    "ations",
    "ation",
    "ings",
    "ing",
    "ies",
    "ied",
    "edly",
    "ers",
    "er",
    "ed",
    "es",
    "ly",
    "s",
    "e",
    "y",
)
_CAMEL = re.compile(r"([a-z])([A-Z])")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Finding:
    """An intent that is easier than its category says; `issue` says why and what to do."""

    check: str
    case: DiscoveryCase
    issue: str

    def document(self) -> dict[str, Any]:
        """The result's form."""
        return {
            "check": self.check,
            "intent": self.case.intent,
            "category": self.case.category,
            "where": self.case.where,
            "issue": self.issue,
        }


@dataclass(frozen=True, slots=True)
class Hygiene:
    """All findings, and why the check that needs the model did not run; None where it did."""

    findings: tuple[Finding, ...]
    bank_skipped: str | None

    def document(self) -> dict[str, Any]:
        """The result's form."""
        return {"findings": [f.document() for f in self.findings], "bankCheckSkipped": self.bank_skipped}


def check_hygiene(
    corpus: Corpus, cases: Sequence[DiscoveryCase], *, encoder: CachingEncoder | None, skip_reason: str | None
) -> Hygiene:
    """Look at intents with the three checks.

    Args:
        corpus: catalog and bank.
        cases: the intents.
        encoder: the model; without one the bank is not looked at.
        skip_reason: why there is no model.
    """
    findings = [*_lexical_wins(corpus, cases), *_shared_stems(corpus, cases)]
    if encoder is None:
        return Hygiene(tuple(findings), skip_reason or "no model")
    return Hygiene((*findings, *_near_the_bank(corpus, cases, encoder)), None)


def _lexical_wins(corpus: Corpus, cases: Sequence[DiscoveryCase]) -> Iterator[Finding]:
    index = LexicalIndex(corpus.world.tools)
    for case in cases:
        if case.category == "semantic":
            (first,) = index.rank(case.intent, limit=1)
            if first.score > 0 and first.tool.tool_ref in case.acceptable:
                issue = (
                    f"plain word search puts {first.tool.tool_ref} first; reword or recategorise the intent"
                )
                yield Finding("lexical", case, issue)


def _shared_stems(corpus: Corpus, cases: Sequence[DiscoveryCase]) -> Iterator[Finding]:
    for case in cases:
        if case.category == "semantic":
            asked = content_stems(case.intent)
            for ref in case.acceptable:
                tool = corpus.world.by_ref[ref]
                shared = sorted(asked & content_stems(f"{tool.name} {tool.title}"))
                if shared:
                    issue = f"shares {', '.join(shared)} with the name or title of {ref}; reword the intent"
                    yield Finding("stem", case, issue)


def _near_the_bank(
    corpus: Corpus, cases: Sequence[DiscoveryCase], encoder: CachingEncoder
) -> Iterator[Finding]:
    requests = [(a.id, request) for a in corpus.bank.archetypes for request in a.requests]
    if not cases or not requests:
        return
    cosines = encoder.encode([case.intent for case in cases]) @ encoder.encode([r for _, r in requests]).T
    for case, row in zip(cases, cosines, strict=True):
        nearest = int(row.argmax())
        if row[nearest] >= MAX_BANK_COSINE:
            archetype, request = requests[nearest]
            issue = (
                f"the bank's request “{request}” ({archetype}) is within cosine {row[nearest]:.3f};"
                " take that request out of the bank"
            )
            yield Finding("bank", case, issue)


def content_stems(text: str) -> set[str]:
    """Stems of the words that carry meaning; joins too much rather than too little, the safe side here."""
    words = _WORD.findall(_CAMEL.sub(r"\1 \2", text).lower())
    return {_stem(word) for word in words if word not in FUNCTION_WORDS}


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
