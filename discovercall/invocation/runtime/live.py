"""The chat client of an OpenAI-compatible server: one streamed request per call, never repeated."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import Any

import httpx
from httpx_sse import EventSource

from discovercall.foundation.base_url import is_loopback
from discovercall.foundation.ecma_json import JsonError, decode
from discovercall.foundation.http import is_compressed, open_model_client
from discovercall.foundation.json_text import compact_bytes
from discovercall.invocation.runtime.chat import ChatError, Message, StreamItem
from discovercall.invocation.runtime.chunks import ChunkReader, provider_error, refusal

MAX_STREAM_BYTES = 16 * 2**20
MAX_ERROR_BYTES = 64 * 2**10
_DONE = "[DONE]"
_EVENT_STREAM = "text/event-stream"


class LiveChatClient:
    """Speaks `POST {base_url}/chat/completions` with `stream: true`.

    Each call has a connection of its own, for on one that has gone stale nobody can tell whether the request
    was carried out; so its time includes connecting. There is no limit of time but for connecting.

    Args:
        base_url: in normal form, without a trailing slash.
        model: the model's name for the server.
        key: what requests are authorised with.
        redact: takes secrets out of error messages and shortens them.
    """

    def __init__(self, base_url: str, model: str, key: str, redact: Callable[[str], str]) -> None:
        self._url = f"{base_url}/chat/completions"
        self._model = model
        self._redact = redact
        self._http = open_model_client(
            self._url, key, accept=_EVENT_STREAM, trust_env=not is_loopback(base_url)
        )

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[Any] | None = None, **parameters: Any
    ) -> AsyncGenerator[StreamItem]:
        """See `ChatClient.stream`."""
        body = {
            **parameters,
            "model": self._model,
            "messages": list(messages),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if tools:
            body["tools"] = list(tools)
        try:
            async with (
                self._http.stream("POST", self._url, content=compact_bytes(body)) as response,
                contextlib.aclosing(_items(response)) as items,
            ):
                async for item in items:
                    yield item
        except ChatError as error:
            raise ChatError(error.code, self._redact(error.message)) from None
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise ChatError("unreachable", "no connection to the server came about") from None
        except httpx.ProxyError:
            raise ChatError("unreachable", "the proxy refused the connection") from None
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError):
            raise ChatError(
                "connection_lost", "the connection broke off before the answer was whole"
            ) from None

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()


async def _items(response: httpx.Response) -> AsyncGenerator[StreamItem]:
    if is_compressed(response):
        raise ChatError("invalid_stream", "the response is compressed, though this was not asked for")
    if not response.is_success:
        raise await _refusal(response)
    if response.headers.get("content-type", "").partition(";")[0].strip().lower() != _EVENT_STREAM:
        raise await _no_stream(response)
    reader = ChunkReader()
    async with contextlib.aclosing(_event_data(response)) as events:
        async for data in events:
            if data.strip() == _DONE:
                break
            for item in reader.items(data):
                yield item
        else:
            # Some servers leave [DONE] out. An answer that has its finish reason and whose body ended as HTTP
            # wants it is whole; without, it is not known to be.
            if not reader.finished:
                raise ChatError("incomplete_stream", "the stream ended without finish reason and [DONE]")
    reader.check_end()


async def _event_data(response: httpx.Response) -> AsyncGenerator[str]:
    # Event streams are UTF-8 whatever the header says.
    bounded = httpx.Response(
        200,
        headers={"Content-Type": f"{_EVENT_STREAM}; charset=utf-8"},
        stream=_Bounded(response.aiter_raw()),
    )
    async with contextlib.aclosing(EventSource(bounded).aiter_sse()) as events:
        async for event in events:
            if event.data:
                yield event.data


class _Bounded(httpx.AsyncByteStream):
    """A body that may not go on for ever."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._chunks:
            size += len(chunk)
            if size > MAX_STREAM_BYTES:
                raise ChatError("invalid_stream", f"the stream is larger than {MAX_STREAM_BYTES} bytes")
            yield chunk


async def _refusal(response: httpx.Response) -> ChatError:
    body, whole = await _beginning(response)
    return refusal(response.status_code, body, whole=whole)


async def _no_stream(response: httpx.Response) -> ChatError:
    body, whole = await _beginning(response)
    try:
        document = decode(body) if whole else None
    except JsonError:
        document = None
    if isinstance(document, dict) and document.get("error"):
        return provider_error(None, document["error"])
    return ChatError("invalid_stream", f"the response is no {_EVENT_STREAM}")


async def _beginning(response: httpx.Response) -> tuple[bytes, bool]:
    data = bytearray()
    async for chunk in response.aiter_raw():
        data += chunk
        if len(data) > MAX_ERROR_BYTES:
            return bytes(data[:MAX_ERROR_BYTES]), False
    return bytes(data), True
