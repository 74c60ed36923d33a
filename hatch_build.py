"""Build hook: writes the commit into what is built, and adds the data files that travel with the code.

A wheel holds the package, the tracked data files as `discovercall/_data/` and the commit as
`discovercall/_build.json`. An sdist holds every tracked file and the commit, which a wheel made from it
keeps. Nothing is written into the source tree.
"""

from __future__ import annotations

import json
import os
import runpy
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

DATA = ("adapters", "cadence.json", "publication-policy.json", "schemas", "tasks")
BUILD_RECORD = "discovercall/_build.json"


class BuildHook(BuildHookInterface[BuilderConfig]):
    """Adds forced files to wheels and sdists; an editable install reads the checkout itself."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before each build; `build_data["force_include"]` maps sources to targets."""
        if version == "editable":
            return
        root = Path(self.root)
        # Loaded by path: in an isolated build nothing but hatchling can be imported.
        checkout = runpy.run_path(str(root / "discovercall" / "foundation" / "checkout.py"))
        tracked: list[str] | None = checkout["tracked_files"](root)
        files = sorted(_unpacked_files(root)) if tracked is None else tracked
        if self.target_name == "sdist":
            added = {name: name for name in files}
        else:
            added = {name: f"discovercall/_data/{name}" for name in files if name.split("/")[0] in DATA}
        added.pop(BUILD_RECORD, None)
        # Only files that git tracks: a private record lying about in the tree never goes into a package.
        forced: dict[str, str] = build_data["force_include"]
        forced.update({str(root / name): target for name, target in added.items()})

        self._scratch = TemporaryDirectory()
        record = Path(self._scratch.name) / "_build.json"
        record.write_text(
            json.dumps(_revision(root, checkout["checkout_state"](root))) + "\n", encoding="utf-8"
        )
        forced[str(record)] = BUILD_RECORD

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called by hatchling after each build."""
        if version != "editable":
            self._scratch.cleanup()


def _revision(root: Path, state: Any) -> dict[str, Any]:
    if state is not None:
        return {"commit": "" if state.dirty else state.commit, "dirty": state.dirty}
    carried = root / BUILD_RECORD
    if (root / "PKG-INFO").is_file() and carried.is_file():
        return dict(json.loads(carried.read_bytes()))
    return {"commit": "", "dirty": False}


def _unpacked_files(root: Path) -> Iterator[str]:
    """Files of an unpacked sdist or archive without git: all but PKG-INFO, which each build writes anew."""
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != "__pycache__" and not name.startswith(".venv")]
        for name in names:
            path = Path(folder, name).relative_to(root).as_posix()
            if path != "PKG-INFO":
                yield path
