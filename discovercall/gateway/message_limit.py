"""No server fills the memory: a message of an MCP server has a limit, over HTTP and over standard streams."""

from __future__ import annotations

import codecs
from collections.abc import AsyncIterator
from typing import Any

MESSAGE_LIMIT = 16 * 2**20
"""Bytes of a body, characters of a line."""
TOO_LONG = f"a message of the server is over {MESSAGE_LIMIT} bytes"
ENCODED = "the server's answer is compressed, which was not asked for"
LINE_ENCODING = "discovercall-lines"
CUT_MARK = f"({TOO_LONG})"
"""What a line that was cut ends with, so that it is no message."""


def limit_body(response: Any) -> None:
    """Let the body of an httpx2 response end with an error at the limit, or at once where it is compressed.

    A stream of events has a limit per event instead, which the SDK keeps.
    """
    encoded = response.headers.get("content-encoding", "identity").lower() != "identity"
    is_stream = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    if encoded or not is_stream:
        response.stream = _limited(response.stream, encoded)


def _limited(stream: Any, encoded: bool) -> Any:
    import httpx2

    class Limited(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            if encoded:
                raise httpx2.StreamError(ENCODED)
            seen = 0
            async for part in stream:
                seen += len(part)
                if seen > MESSAGE_LIMIT:
                    raise httpx2.StreamError(TOO_LONG)
                yield part

        async def aclose(self) -> None:
            await stream.aclose()

    return Limited()


class _LineDecoder(codecs.IncrementalDecoder):
    """UTF-8 whose lines are cut at the limit; the SDK keeps a line in memory until it ends."""

    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors)
        self._length = 0
        self._skipping = False

    def decode(self, input: Any, final: bool = False) -> str:
        text = self._utf8.decode(bytes(input), final)
        kept = []
        for line in _lines(text):
            said, ended = line.removesuffix("\n"), line.endswith("\n")
            room = MESSAGE_LIMIT - self._length
            self._length = 0 if ended else self._length + len(said)
            if self._skipping:
                self._skipping = not ended
            elif len(said) > room:
                kept.append(f"{said[:room]} {CUT_MARK}\n")
                self._skipping = not ended
            else:
                kept.append(line)
        return "".join(kept)

    def reset(self) -> None:
        self._utf8.reset()
        self._length, self._skipping = 0, False


def _lines(text: str) -> list[str]:
    *whole, rest = text.split("\n")
    return [*(line + "\n" for line in whole), *([rest] if rest else [])]


def _find(name: str) -> codecs.CodecInfo | None:
    if name.replace("_", "-") != LINE_ENCODING:
        return None
    utf8 = codecs.lookup("utf-8")
    return codecs.CodecInfo(utf8.encode, utf8.decode, incrementaldecoder=_LineDecoder, name=LINE_ENCODING)


codecs.register(_find)
