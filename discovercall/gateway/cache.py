"""Remembers answers in front of a broker: what only reads, for a while, and says so."""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from discovercall.foundation.clocks import Clock
from discovercall.gateway.results import CallResult, DescribeResult, Failure, FindResult
from discovercall.gateway.store import CatalogSource, CatalogUnreadableError

ResultT = TypeVar("ResultT", FindResult, DescribeResult, CallResult)
NOTICE = "This answer is {age} s old and from the broker's cache; the world may have changed since."


class BrokerLike(Protocol):
    """The three operations, and the catalog that they work on."""

    source: CatalogSource

    def find(self, query: str) -> FindResult | Failure:
        """As `Broker.find`."""

    def describe(self, tool_ref: str) -> DescribeResult | Failure:
        """As `Broker.describe`."""

    def call(self, tool_ref: str, arguments: Mapping[str, Any] | None = None) -> CallResult | Failure:
        """As `Broker.call`."""

    def close(self) -> None:
        """As `Broker.close`."""


class CachingBroker:
    """A broker that answers from memory where that is safe.

    Searches are kept by query and state of the catalog, descriptions by reference and schema, calls of tools
    that are marked read-only by reference, schema and arguments. Failures and searches whose model failed
    are never kept, and everything else runs live each time.

    Args:
        inner: answers what is not remembered.
        seconds: how long an answer is served; 0 for never.
        entries: how many are kept; the ones unused for longest go first.
        clock: seconds, for ages.

    Raises:
        ValueError: a negative number of seconds, or no entries.
    """

    def __init__(
        self, inner: BrokerLike, *, seconds: int = 300, entries: int = 1024, clock: Clock = time.time
    ) -> None:
        if seconds < 0 or entries < 1:
            raise ValueError("seconds must not be negative, and at least one entry must fit")
        self.inner = inner
        self.source = inner.source
        self._seconds = seconds
        self._entries = entries
        self._clock = clock
        self._kept: OrderedDict[tuple[str, ...], tuple[float, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, query: str) -> FindResult | Failure:
        """As `Broker.find`."""
        key = self._key("find", query)
        return self._answer(key, lambda: self.inner.find(query))

    def describe(self, tool_ref: str) -> DescribeResult | Failure:
        """As `Broker.describe`."""
        key = self._key("describe", tool_ref, tool_ref=tool_ref)
        return self._answer(key, lambda: self.inner.describe(tool_ref))

    def call(self, tool_ref: str, arguments: Mapping[str, Any] | None = None) -> CallResult | Failure:
        """As `Broker.call`; answers from memory only for tools that are marked read-only."""
        given = dict(arguments or {})
        # Sorted, for the order of members says nothing.
        text = json.dumps(given, sort_keys=True)
        key = self._key("call", text, tool_ref=tool_ref) if self._reads(tool_ref) else None
        return self._answer(key, lambda: self.inner.call(tool_ref, given))

    def close(self) -> None:
        """As `Broker.close`."""
        self.inner.close()

    def _reads(self, tool_ref: str) -> bool:
        try:
            entry = self.source.current().entry(tool_ref)
        except CatalogUnreadableError:
            return False
        return entry is not None and entry.tool.read_only

    def _key(self, operation: str, text: str, *, tool_ref: str | None = None) -> tuple[str, ...] | None:
        """What an answer hangs on; None where it must not be kept."""
        try:
            catalog = self.source.current()
        except CatalogUnreadableError:
            return None
        if tool_ref is None:
            return (operation, text, str(catalog.generation))
        entry = catalog.entry(tool_ref)
        if entry is None:
            return None
        state = f"{entry.tool.schema_hash} {entry.tool.server_status} {entry.freshness}"
        return (operation, tool_ref, text, state)

    def _answer(self, key: tuple[str, ...] | None, ask: Callable[[], ResultT | Failure]) -> ResultT | Failure:
        if key is None or not self._seconds:
            return ask()
        now = self._clock()
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and 0 <= now - kept[0] < self._seconds:
                self._kept.move_to_end(key)
                remembered: ResultT = kept[1]
                return _served(remembered, int(now - kept[0]))
        answer = ask()
        if answer.ok and not (isinstance(answer, FindResult) and answer.degraded):
            with self._lock:
                self._kept[key] = (now, answer)
                self._kept.move_to_end(key)
                while len(self._kept) > self._entries:
                    self._kept.popitem(last=False)
        return answer


def _served(answer: ResultT, age: int) -> ResultT:
    """A copy that says how old it is."""
    notices = (*answer.notices, NOTICE.format(age=age))
    return replace(answer, cached_age_seconds=age, notices=notices)
