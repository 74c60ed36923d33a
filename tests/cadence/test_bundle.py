"""The bundle: one digest over exactly five plain files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from discovercall.cadence.bundle import MANIFEST, read_bundle
from discovercall.foundation.digests import sha256_hex
from discovercall.foundation.errors import DiscovercallError


@pytest.fixture
def bundle(measured: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(measured / "bundle", tmp_path / "bundle"))


def test_it_holds_both_pairs_and_a_manifest_and_nothing_private(measured: Path, bundle: Path) -> None:
    said = json.loads((measured / "run.json").read_text())
    found = read_bundle(bundle, expected_sha256=said["bundle_sha256"])
    assert len(found.files) == 4
    assert sorted(path.name for path in bundle.iterdir()) == sorted([*found.files, MANIFEST])
    assert all("-rehearsal-v99." in name for name in found.files)
    assert found.plan_digest == said["plan_digest"]
    assert found.spent.billed_calls == said["billed_calls"]
    text = b"".join(found.files.values()) + (bundle / MANIFEST).read_bytes()
    for private in ("session_id", "search_id", '"parameters"', "result_tool_ids", "message"):
        assert private.encode() not in text


def _first(bundle: Path) -> Path:
    return next(path for path in sorted(bundle.iterdir()) if path.name != MANIFEST)


def _changed_file(bundle: Path) -> None:
    _first(bundle).write_bytes(_first(bundle).read_bytes().replace(b"completed", b"Completed", 1) + b" ")


def _changed_manifest(bundle: Path) -> None:
    (bundle / MANIFEST).write_bytes((bundle / MANIFEST).read_bytes() + b"\n")


def _missing(bundle: Path) -> None:
    _first(bundle).unlink()


def _one_too_many(bundle: Path) -> None:
    (bundle / "private.jsonl").write_text("{}\n")


def _hidden(bundle: Path) -> None:
    (bundle / ".git").mkdir()


def _link(bundle: Path) -> None:
    path = _first(bundle)
    path.rename(bundle.parent / "elsewhere")
    path.symlink_to(bundle.parent / "elsewhere")


@pytest.mark.parametrize(
    "change", [_changed_file, _changed_manifest, _missing, _one_too_many, _hidden, _link]
)
def test_any_change_is_refused(measured: Path, bundle: Path, change: Callable[[Path], None]) -> None:
    said = json.loads((measured / "run.json").read_text())
    change(bundle)
    with pytest.raises(DiscovercallError):
        read_bundle(bundle, expected_sha256=said["bundle_sha256"])


def test_a_manifest_that_names_a_path_is_refused(bundle: Path) -> None:
    manifest = json.loads((bundle / MANIFEST).read_text())
    secret = bundle.parent / "secret"
    secret.write_text("x")
    manifest["files"][0] = {"name": "../secret", "sha256": sha256_hex(b"x")}
    (bundle / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(DiscovercallError, match="name"):
        read_bundle(bundle)


def test_a_plan_that_was_changed_in_the_manifest_is_refused(bundle: Path) -> None:
    manifest = json.loads((bundle / MANIFEST).read_text())
    manifest["plan"]["rehearsal"] = False
    (bundle / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(DiscovercallError, match="digest"):
        read_bundle(bundle)
