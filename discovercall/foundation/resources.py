"""Where the data files that travel with the code are: task sets, adapters, schemas, reviewed inputs."""

from __future__ import annotations

from pathlib import Path

from discovercall.foundation.checkout import is_checkout

PACKAGE_ROOT = Path(__file__).resolve().parents[1]
"""The folder of the `discovercall` package itself."""


def checkout_root() -> Path | None:
    """Top of the sources that this code runs from (in place or editable); None for an installed package."""
    root = PACKAGE_ROOT.parent
    return root if is_checkout(root) else None


def resource_path(*parts: str) -> Path:
    """Path of a data file by its place in the repository, for instance `resource_path("tasks", "v4.jsonl")`.

    The file need not exist. From a checkout it is the checkout's own file, else the copy in the package.
    """
    return (checkout_root() or PACKAGE_ROOT / "_data").joinpath(*parts)
