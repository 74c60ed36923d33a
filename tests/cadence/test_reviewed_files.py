"""What people review is what counts: no name twice, no pipe that is waited for, no device without an end."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from discovercall.cadence.bundle import MANIFEST, read_bundle
from discovercall.cadence.config import load_config
from discovercall.cadence.history import report_of_pairs
from discovercall.cadence.plan import CadencePlan, read_plan_file
from discovercall.foundation.errors import InputError
from tests.cadence.checkout import ROOT


def twice(text: str, member: str, other: str) -> str:
    """The JSON text with a member in front of itself, so that its own value is the last."""
    assert text.count(member) == 1
    return text.replace(member, f"{other}, {member}")


def test_a_name_twice_in_cadence_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cadence.json"
    path.write_text(twice((ROOT / "cadence.json").read_text(), '"trials": 3', '"trials": 100'))
    with pytest.raises(InputError, match="'trials' twice"):
        load_config(path)


def test_a_name_twice_in_a_plan_or_a_manifest_is_refused(
    plan: CadencePlan, measured: Path, tmp_path: Path
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(twice(json.dumps(plan.file()), '"trials": 3', '"trials": 100'))
    with pytest.raises(InputError, match="'trials' twice"):
        read_plan_file(path)
    bundle = Path(shutil.copytree(measured / "bundle", tmp_path / "bundle"))
    manifest = bundle / MANIFEST
    manifest.write_text(twice(manifest.read_text(), '"schema_version": 1,\n  "kind"', '"schema_version": 1'))
    with pytest.raises(InputError, match="'schema_version' twice"):
        read_bundle(bundle)


READERS: dict[str, Callable[[Path], object]] = {"cadence.json": load_config, "plan": read_plan_file}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "huge"])
def test_only_regular_files_are_read(reader: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "input"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    else:
        with path.open("wb") as stream:
            stream.truncate(1 << 40)
    with pytest.raises(InputError, match="cannot be read"):
        READERS[reader](path)


def test_a_pair_that_is_a_pipe_is_not_waited_for(plan: CadencePlan, tmp_path: Path) -> None:
    for stem in plan.stems:
        os.mkfifo(tmp_path / f"{stem}.runs.jsonl")
        os.mkfifo(tmp_path / f"{stem}.summary.json")
    with pytest.raises(InputError, match="cannot be read"):
        report_of_pairs((tmp_path / plan.stems[0], tmp_path / plan.stems[1]), plan.inputs)
