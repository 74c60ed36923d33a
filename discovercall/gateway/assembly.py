"""Puts a broker together from a configuration or a world: catalog, model, servers, cache."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from discovercall.foundation.clocks import Clock
from discovercall.foundation.errors import InputError
from discovercall.gateway.advice import for_servers, for_world
from discovercall.gateway.broker import Broker
from discovercall.gateway.cache import BrokerLike, CachingBroker
from discovercall.gateway.catalog import World
from discovercall.gateway.config import CacheSettings, GatewayConfig, SemanticMode
from discovercall.gateway.encoder import CachingEncoder, MiniLmEncoder, SemanticUnavailableError
from discovercall.gateway.index_file import IndexFile
from discovercall.gateway.mcp_client import McpDownstream
from discovercall.gateway.settings import BrokerSettings, Fusion


@dataclass(frozen=True, slots=True)
class Assembly:
    """A broker ready for use.

    Attributes:
        broker: with its cache in front, where that is on.
        plain: the broker itself.
        search: how it searches, in words for a person.
        semantic: whether a model takes part.
    """

    broker: BrokerLike
    plain: Broker
    search: str
    semantic: bool


def load_encoder(
    mode: SemanticMode,
    vectors: Path | None,
    busy: Callable[[], None] | None = None,
    *,
    fusion: Fusion = "bank",
) -> tuple[CachingEncoder | None, str]:
    """The model as far as it is wanted and there, and in words how searches work.

    Args:
        mode: `auto` uses it where it is installed, `require` insists.
        vectors: file that keeps vectors between processes.
        busy: called before so many texts are embedded that it takes seconds.
        fusion: how tools are ranked; `bm25` has no use for a model.

    Raises:
        InputError: it is required and can't be used.
    """
    if mode == "off":
        return None, "lexical (semantic search is off)"
    if fusion == "bm25":
        if mode == "require":
            raise InputError(
                "search.fusion = 'bm25' uses no model", where="semantic search", fix="use 'bank' or 'rrf'"
            )
        return None, "lexical (search.fusion is bm25)"
    try:
        encoder = MiniLmEncoder()
    except SemanticUnavailableError as error:
        if mode == "require":
            raise InputError(str(error), where="semantic search") from None
        return None, f"lexical ({error})"
    from discovercall.gateway.bank_vectors import bundled_vectors

    given = bundled_vectors(encoder.identity)
    return CachingEncoder(encoder, vectors, given, busy), f"semantic ({encoder.facts.model_id})"


def assemble(
    config: GatewayConfig,
    *,
    semantic: SemanticMode | None = None,
    clock: Clock = time.time,
    follow: bool = True,
    busy: Callable[[], None] | None = None,
) -> Assembly:
    """The broker over the servers of a configuration.

    Args:
        config: the configuration.
        semantic: instead of what the configuration says.
        clock: seconds since the Unix epoch.
        follow: whether its catalog follows the index file, or stays as it was first read.
        busy: called before so many texts are embedded that it takes seconds.

    Raises:
        InputError: the model is required and can't be used.
    """
    encoder, search = load_encoder(
        semantic or config.semantic, config.vectors_path, busy, fusion=config.settings.fusion
    )
    plain = Broker(
        IndexFile(config, follow=follow),
        McpDownstream(config.servers, config.secrets),
        settings=config.settings,
        encoder=encoder,
        secrets=config.secrets,
        clock=clock,
        advice=for_servers(config.path),
    )
    return Assembly(_cached(plain, config.cache, clock), plain, search, encoder is not None)


def assemble_world(
    world: World,
    *,
    semantic: SemanticMode,
    vectors: Path | None,
    settings: BrokerSettings | None = None,
    path: Path | None = None,
    clock: Clock = time.time,
    busy: Callable[[], None] | None = None,
) -> Assembly:
    """The broker over a world file; its calls have made-up results.

    Args:
        world: the checked world.
        semantic: whether a model takes part.
        vectors: file that keeps vectors between processes.
        settings: limits and search.
        path: the world's file, for advice; None for the one that comes with the toolkit.
        clock: seconds since the Unix epoch.
        busy: called before so many texts are embedded that it takes seconds.

    Raises:
        InputError: the model is required and can't be used.
    """
    settings = settings or BrokerSettings()
    encoder, search = load_encoder(semantic, vectors, busy, fusion=settings.fusion)
    plain = Broker(world, settings=settings, encoder=encoder, clock=clock, advice=for_world(path))
    return Assembly(_cached(plain, CacheSettings(), clock), plain, search, encoder is not None)


def _cached(broker: Broker, cache: CacheSettings, clock: Clock) -> BrokerLike:
    if not cache.enabled:
        return broker
    return CachingBroker(broker, seconds=cache.seconds, entries=cache.entries, clock=clock)
