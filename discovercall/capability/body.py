"""Takes in a response body within a limit of memory."""

from __future__ import annotations

import zlib

_GZIP = 16 + zlib.MAX_WBITS
_MAX_MEMBERS = 1024  # block-wise compressors write one member for 64 KiB or more


class BodyTooLarge(Exception):
    """The body is longer than the limit, decoded or as it came."""


class UndecodableBody(Exception):
    """The body is not what its Content-Encoding says, or in an encoding that was not asked for."""


class BodyReader:
    """Collects a body, decoding gzip as it comes, so that a small bomb can't fill the memory.

    Bytes that decode to nothing, and gzip members, are bounded as well, for they cost time.

    Args:
        content_encoding: the Content-Encoding header; None or `identity` is plain.
        limit: most bytes that the body may have, decoded and as it comes.

    Raises:
        UndecodableBody: the encoding is neither plain nor gzip.
    """

    def __init__(self, content_encoding: str | None, limit: int) -> None:
        encoding = (content_encoding or "").strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise UndecodableBody
        self._inflater = zlib.decompressobj(_GZIP) if encoding.endswith("gzip") else None
        self._limit = limit
        self._body = bytearray()
        self._received = 0
        self._members = 1

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the body.

        Raises:
            BodyTooLarge: the limit is passed.
            UndecodableBody: the bytes are no gzip, or are one of too many members.
        """
        self._received += len(chunk)
        if self._received > self._limit:
            raise BodyTooLarge
        if self._inflater is None:
            self._take(chunk)
            return
        while chunk:
            if self._inflater.eof:  # a gzip file may have several members
                self._members += 1
                if self._members > _MAX_MEMBERS:
                    raise UndecodableBody
                self._inflater = zlib.decompressobj(_GZIP)
            try:
                inflated = self._inflater.decompress(chunk, self._limit - len(self._body) + 1)
            except zlib.error:
                raise UndecodableBody from None
            chunk = self._inflater.unused_data if self._inflater.eof else self._inflater.unconsumed_tail
            self._take(inflated)

    def finish(self) -> bytes:
        """The whole decoded body.

        Raises:
            UndecodableBody: the gzip stream is cut short.
        """
        if self._inflater is not None and not self._inflater.eof:
            raise UndecodableBody
        return bytes(self._body)

    def _take(self, data: bytes) -> None:
        if len(self._body) + len(data) > self._limit:
            raise BodyTooLarge
        self._body += data
