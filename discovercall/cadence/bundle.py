"""The one artifact that leaves the measuring job: the sanitized pairs, and a manifest of their digests.

The bundle's digest is the SHA-256 of its manifest, which holds that of every other file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from discovercall.cadence.plan import check_plan_file
from discovercall.foundation.digests import sha256_hex
from discovercall.foundation.ecma_json import JsonError, decode_unique
from discovercall.foundation.errors import InputError, RefusedError
from discovercall.foundation.files import write_atomic
from discovercall.foundation.json_text import pretty
from discovercall.foundation.models import StrictModel, check
from discovercall.publication.fields import SchemaOne

MANIFEST = "manifest.json"
_MOST_BYTES = 64 * 1024 * 1024


class _File(StrictModel):
    name: Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z._-]{0,200}$")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Spent(StrictModel):
    attempt: Annotated[int, Field(ge=1)]
    accepted_attempts: Annotated[int, Field(ge=0)]
    billed_calls: Annotated[int, Field(ge=0)]
    credits: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Manifest(StrictModel):
    schema_version: SchemaOne
    kind: Literal["discovercall-cadence-bundle"]
    plan: dict[str, Any]
    plan_digest: str
    spent: _Spent
    files: Annotated[list[_File], Field(min_length=4, max_length=4)]


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run cost.

    Attributes:
        attempt: of the workflow run, from 1.
        accepted_attempts: earlier attempts that may have billed too, as a person stated.
        billed_calls: calls of this attempt.
        credits: what they cost, as far as the API told.
    """

    attempt: int
    accepted_attempts: int
    billed_calls: int
    credits: float


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle whose digests hold.

    Attributes:
        plan: the plan that was measured, a plain object.
        files: contents by name.
        sha256: the bundle's digest.
    """

    plan: Mapping[str, Any]
    plan_digest: str
    spent: Spent
    files: Mapping[str, bytes]
    sha256: str


def write_manifest(
    folder: Path, plan: Mapping[str, Any], plan_digest: str, spent: Spent, names: Sequence[str]
) -> str:
    """Complete a bundle whose pairs are in place.

    Returns:
        The bundle's digest.
    """
    manifest = {
        "schema_version": 1,
        "kind": "discovercall-cadence-bundle",
        "plan": plan,
        "plan_digest": plan_digest,
        "spent": {
            "attempt": spent.attempt,
            "accepted_attempts": spent.accepted_attempts,
            "billed_calls": spent.billed_calls,
            "credits": float(spent.credits),
        },
        "files": [
            {"name": name, "sha256": sha256_hex((folder / name).read_bytes())} for name in sorted(names)
        ],
    }
    data = pretty(manifest).encode() + b"\n"
    write_atomic(folder / MANIFEST, data, mode=0o644)
    return sha256_hex(data)


def read_bundle(folder: Path, *, expected_sha256: str | None = None) -> Bundle:
    """Read a bundle and trust nothing in it.

    Args:
        folder: the downloaded artifact.
        expected_sha256: what the measuring job said that it made; None where nobody said.

    Raises:
        InputError: no folder, or no readable manifest.
        RefusedError: another digest, a file too many or too few, or anything but plain files.
    """
    names = _plain_files(folder)
    if MANIFEST not in names:
        raise InputError(f"{MANIFEST} is missing", where=str(folder))
    data = _read(folder / MANIFEST)
    digest = sha256_hex(data)
    if expected_sha256 is not None and digest != expected_sha256:
        raise RefusedError(
            f"the bundle has the digest {digest}, the measuring job made {expected_sha256}",
            where=str(folder),
            fix="it was changed on the way: download it again, and look into it if that doesn't help",
        )
    manifest = _manifest(data, folder / MANIFEST)
    listed = {file.name: file.sha256 for file in manifest.files}
    if len(listed) != len(manifest.files) or MANIFEST in listed:
        raise RefusedError("lists a file twice", where=str(folder / MANIFEST))
    _check_same_names(folder, set(names) - {MANIFEST}, set(listed))
    files = {name: _read(folder / name) for name in listed}
    for name, content in files.items():
        if sha256_hex(content) != listed[name]:
            raise RefusedError("isn't what the manifest says", where=str(folder / name))
    plan, plan_digest = check_plan_file(
        {"plan": manifest.plan, "plan_digest": manifest.plan_digest}, str(folder / MANIFEST)
    )
    return Bundle(plan, plan_digest, Spent(**manifest.spent.model_dump()), files, digest)


def _manifest(data: bytes, path: Path) -> _Manifest:
    try:
        return check(_Manifest, decode_unique(data), str(path))
    except JsonError as error:
        raise InputError(f"not valid JSON ({error})", where=str(path)) from None


def _check_same_names(folder: Path, found: set[str], listed: set[str]) -> None:
    for name in sorted(found - listed):
        raise RefusedError("is a file too many", where=str(folder / name))
    for name in sorted(listed - found):
        raise RefusedError("is missing", where=str(folder / name))


def _plain_files(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", where=str(folder)) from None
    for entry in found:
        if not stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
            raise RefusedError("is no plain file", where=entry.path)
    return [entry.name for entry in found]


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as stream:
        data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise RefusedError(f"is larger than {_MOST_BYTES} bytes", where=str(path))
    return data
