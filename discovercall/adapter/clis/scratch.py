"""The folder of one decision: a home that nothing was in before and of which nothing is left."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from discovercall.adapter.authoring import Refusal


class Scratch:
    """Folders of one decision, removed on leaving.

    They lie in the working folder when it is empty, as the harness gives it and removes it, even if this
    process is killed; elsewhere in the folder for temporary files.

    Attributes:
        home: HOME of the command line.
        config: its configuration folder.
        work: its working folder, empty.
        temporary: TMPDIR of the command line.
    """

    def __enter__(self) -> Self:
        with os.scandir() as entries:
            own = next(entries, None) is None
        self._root = Path(tempfile.mkdtemp(prefix="model-cli-", dir=os.getcwd() if own else None))
        self._links: list[tuple[Path, Path]] = []
        self.home, self.config, self.work, self.temporary = (
            self._root / name for name in ("home", "config", "work", "tmp")
        )
        for folder in (self.home, self.config, self.work, self.temporary):
            folder.mkdir(mode=0o700)
        return self

    def write(self, name: str, text: str) -> Path:
        """A private file outside the command line's own folders.

        Raises:
            Refusal: `start_failed`; the text can't be encoded.
        """
        path = self._root / name
        try:
            path.write_bytes(text.encode("utf-8"))
        except UnicodeEncodeError:
            raise Refusal("start_failed", "the request has a lone surrogate") from None
        return path

    def link_login(self, credential: Path) -> None:
        """Link in the file of an existing login, and nothing else of the person's configuration."""
        link = self.config / credential.name
        link.symlink_to(credential)
        self._links.append((link, credential))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for link, credential in self._links:
            _keep_renewed(link, credential)
        shutil.rmtree(self._root, ignore_errors=True)


def _keep_renewed(link: Path, credential: Path) -> None:
    """A login whose tokens were renewed by replacing the file, not by writing through the link, is put back:
    the old tokens may be void."""
    if link.is_symlink() or not link.is_file():
        return
    with contextlib.suppress(OSError):
        descriptor, name = tempfile.mkstemp(dir=credential.parent, prefix=f"{credential.name}.")
        try:
            with open(descriptor, "wb") as stream:
                stream.write(link.read_bytes())
            os.replace(name, credential)
        except OSError:
            os.unlink(name)
            raise
