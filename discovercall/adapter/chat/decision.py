"""One decision by a chat-completions server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from discovercall.adapter.authoring import Refusal
from discovercall.adapter.chat.completion import read_completion, request_body
from discovercall.adapter.chat.replies import Patience, failure, refuses_response_format
from discovercall.adapter.chat.settings import ChatSettings
from discovercall.adapter.chat.transport import NotConnected, Post, connection
from discovercall.foundation.clocks import Clock

RECONNECT_S = 0.5


def decide(request: dict[str, Any], settings: ChatSettings) -> dict[str, Any]:
    """Put a request to the model.

    Args:
        request: a request of the adapter protocol.
        settings: which server, and how.

    Raises:
        Refusal: no usable answer.
    """
    return asyncio.run(_decide(request, settings))


async def _decide(request: dict[str, Any], settings: ChatSettings) -> dict[str, Any]:
    try:
        async with asyncio.timeout(settings.timeout_s), connection(settings) as post:
            return await converse(request, settings, post, sleep=asyncio.sleep, clock=time.time)
    except TimeoutError:
        raise Refusal("model_failed", f"no answer within {settings.timeout_s:g} s") from None


async def converse(
    request: dict[str, Any],
    settings: ChatSettings,
    post: Post,
    *,
    sleep: Callable[[float], Awaitable[object]],
    clock: Clock,
) -> dict[str, Any]:
    """Ask until there is an answer, again only where the last request was certainly not carried out: after
    a 429, after a refused `response_format` (with the next mode), and once where no connection came about.

    Args:
        request: a request of the adapter protocol.
        settings: how the model is asked.
        post: sends a body.
        sleep: waits a number of seconds.
        clock: seconds since the Unix epoch.

    Raises:
        Refusal: no usable answer.
    """
    modes = list(settings.modes)
    patience = Patience(settings.max_wait_s)
    connected_in_vain = False
    while True:
        try:
            reply = await post(request_body(request, settings, modes[0]))
        except NotConnected:
            if connected_in_vain:
                raise Refusal("model_failed", "no connection to the server") from None
            connected_in_vain = True
            await sleep(RECONNECT_S)
            continue
        if 200 <= reply.status < 300:
            return read_completion(reply.body, request["response_schema"], modes[0])
        if reply.status == 429:
            await sleep(patience.next_wait(reply, clock()))
        elif len(modes) > 1 and refuses_response_format(reply):
            modes.pop(0)
        else:
            raise failure(reply)
