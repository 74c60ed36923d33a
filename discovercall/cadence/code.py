"""Which code a run will execute, as one digest: the image's, or that of the files it would be built from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from discovercall.foundation.digests import sha256_hex, sha256_of_json
from discovercall.foundation.errors import InputError
from discovercall.foundation.files import read_input
from discovercall.foundation.resources import PACKAGE_ROOT, resource_path

BUILD_FILES = ("Dockerfile", "requirements/image.txt")
_IMAGE = re.compile(r"(?P<name>[0-9A-Za-z][0-9A-Za-z._/:-]{0,200})@(?P<digest>sha256:[0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Code:
    """The code of a run: `kind` is `image` or `files`."""

    kind: str
    digest: str


def code_of(image: str | None, root: Path) -> Code:
    """The code of an image, or where none is named of the installed package and the checkout."""
    return image_code(image) if image else files_code(root)


def image_code(reference: str) -> Code:
    """The code of an image that is named by digest.

    Raises:
        InputError: no `name@sha256:…`; a tag can be moved, so it names no code.
    """
    found = _IMAGE.fullmatch(reference)
    if not found:
        raise InputError("must name an image by digest: name@sha256:<64 hex digits>", where="--image")
    return Code("image", found["digest"])


def files_code(root: Path) -> Code:
    """The code of the installed package, with the Dockerfile and the lock file of the checkout.

    Args:
        root: the checkout of the release.

    Raises:
        InputError: a file is missing there.
    """
    digests = {name: _digest(root / name) for name in BUILD_FILES}
    digests |= {name: _digest(path) for name, path in _package_files()}
    return Code("files", sha256_of_json(dict(sorted(digests.items()))))


def _package_files() -> Iterator[tuple[str, Path]]:
    adapters = resource_path("adapters")
    for folder, name in ((PACKAGE_ROOT, "discovercall"), (adapters, "adapters")):
        for path in sorted(folder.rglob("*.py")):
            # An installed package holds the adapters inside itself, a checkout beside itself.
            if name == "adapters" or "_data" not in path.relative_to(folder).parts:
                yield f"{name}/{path.relative_to(folder).as_posix()}", path


def _digest(path: Path) -> str:
    try:
        return sha256_hex(read_input(path))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", where=str(path)) from None
