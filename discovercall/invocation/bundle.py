"""Publishes a report as a whole: both files are on disk before their folder has its name."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from discovercall.foundation.errors import DiscovercallError
from discovercall.foundation.files import sync_folder, write_atomic


class BundleError(DiscovercallError):
    """The reports cannot be written (exit 2)."""


class Bundle:
    """A private folder that one symbolic link makes public, in one step and without overwriting.

    A process that is killed leaves no bundle, or a whole one; at most the hidden folder stays behind.

    Args:
        out: the folder of all bundles, made when absent.

    Raises:
        BundleError: the folder can't be made or written to.
    """

    def __init__(self, out: Path) -> None:
        self._out = out
        self._published = False
        try:
            out.mkdir(parents=True, exist_ok=True)
            self._private = Path(tempfile.mkdtemp(prefix=".bundle-", dir=out))
        except OSError as error:
            raise _failed(out, error) from None

    def publish(self, name: str, files: Mapping[str, bytes]) -> Path:
        """Write the files and make them public; returns the public path.

        Args:
            name: of the bundle; when taken, `-2`, `-3` … is added.
            files: content by file name.

        Raises:
            BundleError: a file or the link can't be written.
        """
        try:
            for file, data in files.items():
                write_atomic(self._private / file, data, mode=0o644)
            self._private.chmod(0o755)
            sync_folder(self._private)
            sync_folder(self._out)
            public = self._link(name)
            self._published = True
            sync_folder(self._out)
        except OSError as error:
            raise _failed(self._out, error) from None
        return public

    def _link(self, name: str) -> Path:
        number = 1
        while True:
            public = self._out / (name if number == 1 else f"{name}-{number}")
            try:
                os.symlink(self._private.name, public)
            except FileExistsError:
                number += 1
            else:
                return public

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._published:
            shutil.rmtree(self._private, ignore_errors=True)


def _failed(out: Path, error: OSError) -> BundleError:
    return BundleError(f"the reports cannot be written ({error.strerror or error})", where=str(out))
