"""Searches text for secrets, known ones by value and others by shape, in the forms in which they get out.

Every form is looked for by undoing it: the text is decoded in all ways that change it, up to a few
layers, and what comes out is searched.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote, unquote_plus

from discovercall.foundation.errors import RefusedError
from discovercall.publication.key_shapes import key_shape

MIN_SECRET = 8
_LAYERS = 3
_MAX_VIEWS = 400
_BREAK = re.compile(r"\r?\n|\r|[\u2028\u2029\u0085\v\f]|<br ?/?>")
# What may be part of a break or of the secret: the mark of a continued line, and an indent.
_BREAKS = tuple(
    re.compile(f"{mark}(?:{_BREAK.pattern}){indent}")
    for mark in ("", r"[\\=]?")
    for indent in ("", r"[ \t]*")
)
_MARKED_BREAK = re.compile(rf"[\\=]?(?:{_BREAK.pattern})")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_SHORTEST_BASE64 = 11  # of MIN_SECRET bytes
_BASE64_RUN = re.compile(rf"[A-Za-z0-9+/_-]{{{_SHORTEST_BASE64},}}")
_HEX_RUN = re.compile(rf"[0-9A-Fa-f]{{{2 * MIN_SECRET},}}")
_SPACED_HEX = re.compile(rf"[0-9A-Fa-f]{{2}}(?:[ :-][0-9A-Fa-f]{{2}}){{{MIN_SECRET - 1},}}")
_HEX_GAP = re.compile("[ :-]")
# Texts without the shape of a key in any reading: what is published is scanned again when it is verified.
_SHAPELESS: set[str] = set()
_MAX_SHAPELESS = 1_000_000
_STANDARD = str.maketrans("-_", "+/")


class View(NamedTuple):
    """A text as it reads after some decoding.

    Args:
        text: the decoded text; bytes are read as Latin-1.
        form: how it was decoded, in words; empty for the text itself.
        binary: whether it comes out of base64 or hex.
    """

    text: str
    form: str
    binary: bool


def views(text: str) -> Iterator[View]:
    """The text and everything that it may stand for, each distinct reading once."""
    seen = {text}
    layer = [View(text, "", binary=False)]
    yield layer[0]
    for _ in range(_LAYERS):
        following = []
        for view in layer:
            for form, decoded, binary in _decodings(view.text):
                if decoded not in seen and len(seen) < _MAX_VIEWS:
                    seen.add(decoded)
                    chain = f"{view.form}, {form}" if view.form else form
                    following.append(View(decoded, chain, view.binary or binary))
        yield from following
        layer = following


def _decodings(text: str) -> Iterator[tuple[str, str, bool]]:
    if (text.splitlines() != [text] or "<br" in text) and _BREAK.search(text):
        for pattern in _BREAKS:
            yield "split by a line break", pattern.sub("", text), False
        yield "split by a line break", _without_space(text), False
        yield "split by a line break", _without_space(_MARKED_BREAK.sub("", text)), False
    if "%" in text:
        yield "URL-encoded", unquote(text, errors="replace"), False
        yield "URL-encoded", unquote_plus(text, errors="replace"), False
    if "\\" in text:
        yield "JSON-escaped", _joined_pairs(_ESCAPE.sub(_unescaped, text)), False
    hex_runs = _HEX_RUN.findall(text)
    if " " in text or ":" in text or "-" in text:
        hex_runs += [_HEX_GAP.sub("", run) for run in _SPACED_HEX.findall(text)]
    for start in range(2 if hex_runs else 0):
        yield "hex", "\n".join([_from_hex(run[start:]) for run in hex_runs]), True
    runs = _BASE64_RUN.findall(text)
    for start in range(4 if runs else 0):
        yield "base64", "\n".join([_from_base64(run[start:]) for run in runs]), True


def _unescaped(found: re.Match[str]) -> str:
    code = found.group(1) or found.group(2)
    if code:
        return chr(int(code, 16))
    return _ESCAPED.get(found.group(3), found.group(3))


def _without_space(text: str) -> str:
    return "".join(text.split())


def _joined_pairs(text: str) -> str:
    """The text with each surrogate pair as the one character that it writes."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _from_hex(run: str) -> str:
    return bytes.fromhex(run[: len(run) // 2 * 2]).decode("latin-1")


def _from_base64(run: str) -> str:
    length = len(run) - (len(run) % 4 == 1)
    padded = run[:length] + "=" * (-length % 4)
    return base64.b64decode(padded.translate(_STANDARD)).decode("latin-1")


class SecretScanner:
    """Says whether a text holds a secret.

    Args:
        secrets: known values; those shorter than 8 characters are left out, for they occur by chance.
        shapes: whether text that looks like a provider's key counts too.
    """

    def __init__(self, secrets: Iterable[str] = (), *, shapes: bool) -> None:
        known = {secret.strip() for secret in secrets}
        self._texts = sorted(secret for secret in known if len(secret) >= MIN_SECRET)
        self._bytes = [text.encode("utf-8", "surrogatepass").decode("latin-1") for text in self._texts]
        # Where a text is split, white space of the secret itself goes with the breaks, and so does what looks
        # like the mark of a continued line before a break of its own.
        joined = {
            _without_space(form) for text in self._texts for form in (text, _MARKED_BREAK.sub("", text))
        }
        self._joined = sorted(text for text in joined if len(text) >= MIN_SECRET)
        self._shapes = shapes
        self._results: dict[str, str | None] = {}

    def finds(self, value: Any) -> str | None:
        """What a string holds, in words that don't repeat it; None for nothing and for other values."""
        if not isinstance(value, str) or not (self._shapes or self._texts):
            return None
        if value not in self._results:
            if self._texts or value not in _SHAPELESS:
                self._results[value] = self._search(value)
            else:
                self._results[value] = None
        return self._results[value]

    def _search(self, text: str) -> str | None:
        for view in views(text):
            kind = self._kind(view)
            if kind is not None:
                return f"{kind} ({view.form})" if view.form else kind
        if self._shapes:
            if len(_SHAPELESS) >= _MAX_SHAPELESS:
                _SHAPELESS.clear()
            _SHAPELESS.add(text)
        return None

    def _kind(self, view: View) -> str | None:
        for needles in (self._texts, self._bytes, self._joined):
            if any(needle in view.text for needle in needles):
                return "a secret of this run"
        shape = key_shape(view.text, guarded=not view.binary) if self._shapes else None
        return f"text shaped like a key: {shape.provider}" if shape else None

    def check(self, value: Any, where: str) -> None:
        """Search every string of a JSON value, names of fields included.

        Raises:
            RefusedError: names the place and the kind of secret, never the secret.
        """
        if not self._anything(value):
            return
        stack: list[tuple[str, Any]] = [(where, value)]
        while stack:
            path, item = stack.pop()
            if isinstance(item, dict):
                for name, child in item.items():
                    if self.finds(name):
                        raise RefusedError(f"has a field whose name holds {self.finds(name)}", where=path)
                    stack.append((f"{path}.{name}", child))
            elif isinstance(item, list):
                stack.extend((f"{path}[{index}]", child) for index, child in enumerate(item))
            elif kind := self.finds(item):
                raise RefusedError(
                    f"holds {kind}",
                    where=path,
                    fix="take it out at its source and revoke it; a public record would give it away",
                )

    def _anything(self, value: Any) -> bool:
        """Whether a JSON value holds a secret anywhere, without saying where."""
        stack = [value]
        while stack:
            item = stack.pop()
            if isinstance(item, dict):
                stack += item
                stack += item.values()
            elif isinstance(item, list):
                stack += item
            elif (not isinstance(item, str) or self._results.get(item, "") is not None) and self.finds(item):
                return True
        return False
