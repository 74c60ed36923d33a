"""What a build wrote of its commit is believed only where it is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from discovercall.foundation import revision
from discovercall.foundation.revision import UNKNOWN_REVISION, ToolkitRevision, installed_revision

COMMIT = "c0ffee" + "0" * 34


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (None, UNKNOWN_REVISION),
        ("{", UNKNOWN_REVISION),
        ("[]", UNKNOWN_REVISION),
        ("{}", UNKNOWN_REVISION),
        ('{"commit": "HEAD"}', UNKNOWN_REVISION),
        (f'{{"commit": "{COMMIT}"}}', ToolkitRevision(COMMIT, "build", dirty=False)),
        (f'{{"commit": "{COMMIT}", "dirty": true}}', ToolkitRevision(None, "build", dirty=True)),
    ],
)
def test_an_installed_build_says_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str | None, expected: ToolkitRevision
) -> None:
    if written is not None:
        (tmp_path / "_build.json").write_text(written)
    monkeypatch.setattr(revision, "PACKAGE_ROOT", tmp_path)
    monkeypatch.setattr(revision, "checkout_root", lambda: None)
    assert installed_revision() == expected


def test_a_checkout_that_git_cannot_read_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revision, "checkout_root", lambda: tmp_path)
    assert installed_revision() == UNKNOWN_REVISION
