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
