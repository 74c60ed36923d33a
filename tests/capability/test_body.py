from __future__ import annotations

import gzip
import os
import time
import zlib
from collections.abc import Iterable

import pytest

from discovercall.capability.body import BodyReader, BodyTooLarge, UndecodableBody

LIMIT = 2**22
EMPTY = gzip.compress(b"")


def read(chunks: Iterable[bytes], encoding: str | None = "gzip", limit: int = LIMIT) -> bytes:
    reader = BodyReader(encoding, limit)
    for chunk in chunks:
        reader.feed(chunk)
    return reader.finish()


def pieces(data: bytes, size: int) -> Iterable[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@pytest.mark.parametrize("size", [1, 7, 2**16, 2**23])
def test_many_empty_members_end_soon(size):
    start = time.process_time()
    with pytest.raises((UndecodableBody, BodyTooLarge)):
        read(pieces(EMPTY * 200_000, size))
    assert time.process_time() - start < 2


@pytest.mark.parametrize("size", [1, 19, 2**16])
def test_some_members_are_one_body(size):
    body = b"".join(gzip.compress(b"%d," % number) for number in range(1000))
    assert read(pieces(body, size)) == b"".join(b"%d," % number for number in range(1000))


def test_bytes_that_decode_to_nothing_are_limited():
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = packer.compress(b"")
    nothing = b"\x00\x00\x00\xff\xff"  # an empty stored block
    sent = head + nothing * (LIMIT // len(nothing) + 1)
    with pytest.raises(BodyTooLarge):
        read(pieces(sent, 2**16))


def test_endless_header_is_limited():
    head = b"\x1f\x8b\x08\x08\0\0\0\0\0\xff"  # a file name follows, up to a NUL
    with pytest.raises(BodyTooLarge):
        read(pieces(head + b"a" * LIMIT, 2**16))


@pytest.mark.parametrize("encoding", [None, "gzip"])
def test_limit_is_exact(encoding):
    plain = b"a" * 5000
    sent = plain if encoding is None else gzip.compress(plain)
    assert read([sent], encoding, 5000) == plain
    with pytest.raises(BodyTooLarge):
        read([sent], encoding, 4999)


def test_what_gzip_makes_longer_is_limited_as_it_comes():
    noise = os.urandom(5000)
    assert read([gzip.compress(noise)], limit=6000) == noise
    with pytest.raises(BodyTooLarge):
        read([gzip.compress(noise)], limit=5000)
