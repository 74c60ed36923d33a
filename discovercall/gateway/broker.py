"""The broker: find a tool for a request, describe one, call one. Every face uses this object."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from discovercall.foundation.clocks import Clock
from discovercall.foundation.redaction import Redactor, with_encoded
from discovercall.gateway import wording
from discovercall.gateway.advice import Advice, fitted
from discovercall.gateway.baseline import BaselineRanker, Cosines
from discovercall.gateway.calling import Caller
from discovercall.gateway.catalog import Tool, World
from discovercall.gateway.documents import describe_document, find_document
from discovercall.gateway.downstream import Downstream, SyntheticDownstream
from discovercall.gateway.ranking import Ranker, Ranking
from discovercall.gateway.results import BrokerError, CallResult, DescribeResult, Failure, FindResult, Retry
from discovercall.gateway.settings import BrokerSettings
from discovercall.gateway.store import Catalog, CatalogSource, CatalogUnreadableError

if TYPE_CHECKING:
    from discovercall.gateway.encoder import CachingEncoder

RankerFactory = Callable[[list[Tool]], Ranker]


class Broker:
    """Finds, describes and calls the tools of one catalog. Safe to use from several threads.

    Args:
        catalog: a world, a catalog in memory, or a source that is asked anew by every operation.
        downstream: reaches the servers; without one results are made up from the catalog.
        settings: limits, timeouts and search.
        encoder: the model of the semantic leg; None works by words alone.
        ranker: makes the ranker of a set of tools, instead of what `settings.fusion` says.
        secrets: values that no message may show.
        clock: seconds since the Unix epoch.
        advice: fits what is said to how the broker was started.
    """

    def __init__(
        self,
        catalog: World | CatalogSource,
        downstream: Downstream | None = None,
        *,
        settings: BrokerSettings | None = None,
        encoder: CachingEncoder | None = None,
        ranker: RankerFactory | None = None,
        secrets: Iterable[str] = (),
        clock: Clock = time.time,
        advice: Advice | None = None,
    ) -> None:
        self._advice = advice
        self.settings = settings or BrokerSettings()
        self.source: CatalogSource = Catalog.of_world(catalog) if isinstance(catalog, World) else catalog
        self._redact = Redactor(with_encoded(secrets))
        self._clock = clock
        self._make_ranker = ranker or default_ranker(self.settings, encoder)
        self._downstream = downstream or SyntheticDownstream(self.source)
        self._caller = Caller(self._downstream, self.settings, self._redact)
        self._lock = threading.Lock()
        self._ranker: tuple[int, Ranker] | None = None

    def find(self, query: str) -> FindResult | Failure:
        """The tool for a request, or why there is none; a failure only where the catalog can't be read."""
        try:
            catalog = self.source.current()
        except CatalogUnreadableError as error:
            return self.unreadable(error)
        ranking = self._ranker_of(catalog).rank(query, limit=max(2, self.settings.max_results))
        document = find_document(ranking, catalog, self.settings, catalog.stats(self._clock()))
        found = replace(document, degraded=ranking.degraded is not None)
        return fitted(found, self._advice)

    def describe(self, tool_ref: str) -> DescribeResult | Failure:
        """One tool with its exact schema; TOOL_NOT_FOUND for a reference that the catalog lacks."""
        try:
            catalog = self.source.current()
        except CatalogUnreadableError as error:
            return self.unreadable(error)
        server_id = tool_ref.partition(".")[0]
        server = catalog.server(server_id)
        if server is not None and not server.enabled:
            return fitted(Failure(self._caller.no_such_server(catalog, tool_ref)), self._advice)
        entry = catalog.entry(tool_ref)
        if entry is None:
            if catalog.is_unread(server_id):
                return fitted(self._unread(tool_ref, server_id), self._advice)
            message = f"No tool {tool_ref[:200]} is in the catalog."
            unknown = BrokerError(
                "TOOL_NOT_FOUND", self._redact(message), wording.NOT_FOUND, tool_ref=tool_ref
            )
            return fitted(Failure(unknown), self._advice)
        return describe_document(entry, catalog)

    def _unread(self, tool_ref: str, server_id: str) -> Failure:
        return Failure(
            BrokerError(
                "TOOL_NOT_FOUND",
                self._redact(
                    f"No tool {tool_ref}"[:200] + f" is in the catalog: {server_id} was never read."
                ),
                wording.UNREAD,
                retry=Retry("after", "index_refreshed"),
                tool_ref=tool_ref,
                server_id=server_id,
            )
        )

    def call(self, tool_ref: str, arguments: Mapping[str, Any] | None = None) -> CallResult | Failure:
        """Execute a tool once on its live server; arguments are checked before any contact."""
        try:
            catalog = self.source.current()
        except CatalogUnreadableError as error:
            return self.unreadable(error)
        return fitted(self._caller.call(catalog, tool_ref, dict(arguments or {})), self._advice)

    def rank(self, query: str, *, limit: int | None = None) -> Ranking:
        """The ranking and decision behind `find`, over the whole catalog when `limit` is None.

        Raises:
            CatalogUnreadableError: the catalog can't be read.
        """
        return self._ranker_of(self.source.current()).rank(query, limit=limit)

    def close(self) -> None:
        """End all connections."""
        self._downstream.close()

    def _ranker_of(self, catalog: Catalog) -> Ranker:
        with self._lock:
            if self._ranker is None or self._ranker[0] != catalog.generation:
                self._ranker = (catalog.generation, self._make_ranker(catalog.tools()))
            return self._ranker[1]

    def unreadable(self, error: CatalogUnreadableError) -> Failure:
        """The envelope for a catalog that can't be read."""
        failure = Failure(
            BrokerError(
                "CONFIG_ERROR",
                self._redact(str(error)),
                wording.unreadable_catalog(),
                retryable=True,
                retry=Retry("after", "index_refreshed"),
            )
        )
        return fitted(failure, self._advice)


def default_ranker(settings: BrokerSettings, encoder: CachingEncoder | None = None) -> RankerFactory:
    """Rankers as the settings say.

    Args:
        settings: `fusion` decides.
        encoder: the model; None works by words alone.
    """

    def make(tools: list[Tool]) -> Ranker:
        if settings.fusion == "bank":
            from discovercall.gateway.discovery import DiscoveryRanker

            return DiscoveryRanker(tools, encoder=encoder)
        if settings.fusion == "bm25" or encoder is None:
            return BaselineRanker(tools)
        return BaselineRanker(tools, fusion="rrf", cosines=Cosines(tools, encoder))

    return make
