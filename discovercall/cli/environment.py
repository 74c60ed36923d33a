"""What the environment may hold that no output must repeat."""

from __future__ import annotations

import os

_SECRET_WORDS = frozenset(
    ("KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PAT", "CREDENTIAL", "CREDENTIALS")
)


def secret_values() -> list[str]:
    """Values of variables whose names have a word such as KEY or TOKEN; nothing published may hold one."""
    return [
        value for name, value in os.environ.items() if value and _SECRET_WORDS & set(name.upper().split("_"))
    ]


def publication_key() -> bytes:
    """The key of keyed digests: from the environment, else 32 random bytes that nobody keeps.

    Raises:
        InputError: the variable holds no key.
    """
    import secrets

    from discovercall.publication.digesting import KEY_BYTES, KEY_VARIABLE, parse_key

    given = os.environ.get(KEY_VARIABLE)
    return parse_key(given) if given else secrets.token_bytes(KEY_BYTES)
