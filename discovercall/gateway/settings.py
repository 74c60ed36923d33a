"""What can be set about a broker: limits, timeouts and search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Fusion = Literal["bank", "rrf", "bm25"]
"""How tools are ranked: `bank` weighs words, meaning and capabilities; `rrf` fuses the ranks of the frozen
lexical ranker and of the cosines; `bm25` is the frozen lexical ranker alone."""


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Settings of a broker.

    Attributes:
        max_results: tools that a search result names, the selected one included.
        include_full_schemas: put the selected tool's schema into the result whatever its size.
        max_result_bytes: limit of a call's result on its compact JSON; 0 for none, below 16 acts as 16.
        call_timeout_ms: connecting and executing together.
        discovery_timeout_ms: reading the tools of one server.
        fusion: how tools are ranked.
        scores: add the numbers behind a decision to search results.
    """

    max_results: int = 5
    include_full_schemas: bool = False
    max_result_bytes: int = 65_536
    call_timeout_ms: int = 60_000
    discovery_timeout_ms: int = 5_000
    fusion: Fusion = "bank"
    scores: bool = False
