"""Where a run's capability API is: a real one with a key, or the embedded gateway for a rehearsal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from discovercall.contract.execution import Connection
from discovercall.contract.options import PreparedRun, RunOptions


@contextlib.contextmanager
def connected(
    prepared: PreparedRun, options: RunOptions, environment: Mapping[str, str]
) -> Iterator[Connection]:
    """The connection of a run; the embedded gateway lives as long as the context.

    Raises:
        InputError: no usable key, or an unusable catalog.
    """
    if not options.sandbox:
        from discovercall.adapter.isolation import mask_argument
        from discovercall.contract.credentials import read_api_key

        key = read_api_key(options.api_key_file, environment)
        if options.api_key_file is not None:
            mask_argument(options.api_key_file)
        yield Connection(prepared.base_url, key, options.concurrency, options.requests_per_minute)
        return
    import secrets

    from discovercall.gateway.catalog import default_world_path, load_world
    from discovercall.gateway.server import EmbeddedGateway

    key = secrets.token_urlsafe(24)
    with EmbeddedGateway(load_world(default_world_path()), api_key=key) as gateway:
        yield Connection(gateway.base_url, key, options.concurrency, options.requests_per_minute)
