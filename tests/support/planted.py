"""Secrets planted in a run, and the search for them in everything that comes out."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote


def spellings(secret: str) -> dict[str, bytes]:
    """The forms in which a secret may hide: plain, URL-encoded, hex, base64 at each of its three offsets."""
    data = secret.encode()
    forms = {
        "plain": data,
        "URL-encoded": quote(secret, safe="").encode(),
        "hex": data.hex().encode(),
        "reversed": data[::-1],
    }
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + data)
        start = -(-offset * 4 // 3)
        end = (offset + len(data)) * 4 // 3  # characters that neighbours cannot change
        forms[f"base64 at {offset}"] = text[start:end]
    return forms


def found(secrets: Iterable[str], places: dict[str, bytes]) -> list[str]:
    """Every place that holds a secret in some form, told without the secret."""
    return [
        f"secret {number} ({form}) in {place}"
        for number, secret in enumerate(secrets)
        for form, data in spellings(secret).items()
        for place, content in places.items()
        if data in content
    ]


def files(folder: Path, but: Iterable[Path] = ()) -> dict[str, bytes]:
    """All files below a folder, by path."""
    left_out = set(but)
    return {
        str(path): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and path not in left_out
    }
