"""The leg of a measurement that needs the model: wanted or not, there or not, and why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from discovercall.gateway.encoder import CachingEncoder, MiniLmEncoder, ModelFacts, SemanticUnavailableError

NOT_REQUESTED = "not requested (--semantic)"


@dataclass(frozen=True, slots=True)
class SemanticLeg:
    """The model and what it is, or why there is none. Never a stand-in for the model."""

    encoder: CachingEncoder | None
    facts: ModelFacts | None
    skip_reason: str | None

    @property
    def ran(self) -> bool:
        """Whether the model takes part."""
        return self.encoder is not None


def open_leg(
    wanted: bool, vectors: Path | None = None, make: Callable[[], MiniLmEncoder] = MiniLmEncoder
) -> SemanticLeg:
    """Load the model where it is wanted.

    Args:
        wanted: whether it is.
        vectors: file that keeps vectors between processes.
        make: loads the model.
    """
    if not wanted:
        return SemanticLeg(None, None, NOT_REQUESTED)
    try:
        encoder = make()
    except SemanticUnavailableError as error:
        return SemanticLeg(None, None, str(error))
    return SemanticLeg(CachingEncoder(encoder, vectors), encoder.facts, None)
