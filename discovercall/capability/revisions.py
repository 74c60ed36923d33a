"""Which revisions of the API and of its catalog a run has seen."""

from __future__ import annotations

from collections.abc import Iterable

from discovercall.foundation.artifacts import UNREPORTED
from discovercall.foundation.ecmascript import is_safe, trim

API_REVISION_HEADER = "x-qveris-api-version"
CATALOG_REVISION_HEADER = "x-qveris-catalog-version"
INVALID = "invalid"
PENDING = "pending"
MIXED = "mixed:"

Observation = tuple[str | None, str | None]
"""API revision and catalog revision of one answer; None where the answer had none."""


class RevisionCollector:
    """Collects the revision headers of the last answer to each request.

    What it keeps is distinct, trimmed and safe to write anywhere, and small: a value that isn't 1 to 256
    safe characters is kept as `invalid`, and so is one that would read as a record's own `pending` or
    `mixed:…`.

    Args:
        observations: what an earlier collector had observed, for a run that is resumed.
    """

    def __init__(self, observations: Iterable[Observation] = ()) -> None:
        self._observations: dict[Observation, None] = {}
        for api, catalog in observations:
            self.observe(api, catalog)

    def observe(self, api: str | None, catalog: str | None) -> None:
        """Add the two header values of one answer; None or blank where there is none."""
        self._observations[_kept(api), _kept(catalog)] = None

    def observations(self) -> list[Observation]:
        """The distinct observations in order of first appearance; observing them again restores this one."""
        return list(self._observations)

    @property
    def api_revision(self) -> str:
        """`unreported`, the one revision, or `mixed:a,b` (sorted); `invalid` where that gets too long."""
        return _summary(api for api, _ in self._observations)

    @property
    def catalog_revision(self) -> str:
        """`unreported`, the one revision, or `mixed:a,b` (sorted); `invalid` where that gets too long."""
        return _summary(catalog for _, catalog in self._observations)


def _kept(value: str | None) -> str | None:
    trimmed = trim(value) if value is not None else ""
    if not trimmed:
        return None
    reserved = trimmed == PENDING or trimmed.startswith(MIXED)
    return trimmed if is_safe(trimmed) and not reserved else INVALID


def _summary(values: Iterable[str | None]) -> str:
    distinct = sorted({value for value in values if value is not None})
    if not distinct:
        return UNREPORTED
    text = distinct[0] if len(distinct) == 1 else f"{MIXED}{','.join(distinct)}"
    return text if is_safe(text) else INVALID
