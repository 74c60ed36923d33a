"""The adapter revision of a finished run, with what the adapter found out on the way."""

from __future__ import annotations

from typing import Any

import pytest

from discovercall.contract.record import settled_adapter_revision


def records(revision: str, *versions: str | None) -> list[dict[str, Any]]:
    return [
        {
            "metadata": {"adapter_revision": revision},
            **({"adapter_notes": {"select": {"cli": version}}} if version is not None else {}),
        }
        for version in versions
    ]


@pytest.mark.parametrize(
    ("revision", "versions", "settled"),
    [
        ("a/codex", ("1.0",), "a/codex"),
        ("a/cli=auto", (None, "1.0", "1.0"), "a/cli=1.0"),
        ("a/cli=auto", ("2.0", "1.0", None), "a/cli=mixed:1.0,2.0"),
        ("a/cli=auto", (None, None), "a/cli=auto"),
        ("a/other=auto", ("1.0",), "a/other=auto"),
        ("a/=auto", ("1.0",), "a/=auto"),
        ("a/cli=auto", ("\x07",), "a/cli=auto"),
    ],
)
def test_what_was_noted_takes_the_place_of_auto(
    revision: str, versions: tuple[str | None, ...], settled: str
) -> None:
    assert settled_adapter_revision(records(revision, *versions)) == settled
