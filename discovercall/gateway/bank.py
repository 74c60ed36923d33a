"""The capability bank: what people ask of tools, by capability, with typical requests.

Tools of a catalog adopt capabilities at index time. What no tool adopts stays as a decoy: a request that is
closer to a decoy than to anything adopted asks for something that the catalog does not offer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from discovercall.foundation.digests import sha256_hex
from discovercall.foundation.errors import InputError
from discovercall.foundation.json_file import unique_json
from discovercall.foundation.jsonl import read_text
from discovercall.foundation.models import NotBlank, StrictModel, UniqueTexts, check
from discovercall.foundation.resources import resource_path


class _ArchetypeFile(StrictModel):
    id: NotBlank
    capability: NotBlank
    requests: Annotated[UniqueTexts, Field(min_length=2)]


@dataclass(frozen=True, slots=True)
class Archetype:
    """One capability: a line that says what it is, and typical requests for it."""

    id: str
    capability: str
    requests: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """The line and the requests."""
        return (self.capability, *self.requests)


@dataclass(frozen=True, slots=True)
class Bank:
    """All capabilities, and SHA-256 of the file that they are from."""

    archetypes: tuple[Archetype, ...]
    digest: str

    @property
    def version(self) -> str:
        """Size and digest, for provenance."""
        return f"{len(self.archetypes)}-{self.digest[:12]}"


def bank_path() -> Path:
    """Where the bank that comes with the toolkit lies."""
    return resource_path("tasks", "gateway", "capability-bank.jsonl")


@cache
def default_bank() -> Bank:
    """The bank that comes with the toolkit."""
    return load_bank(bank_path())


def load_bank(path: Path) -> Bank:
    """Read and check a bank: JSON Lines of {id, capability, requests}.

    Raises:
        InputError: names the file, the line, the field and what is right.
    """
    text, data = read_text(path)
    archetypes: dict[str, Archetype] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        entry = check(_ArchetypeFile, unique_json(line, where), where)
        if entry.id in archetypes:
            raise InputError(f"id: {entry.id} is used twice", where=where, fix="give it its own")
        archetypes[entry.id] = Archetype(entry.id, entry.capability, tuple(entry.requests))
    if not archetypes:
        raise InputError("holds no capability", where=str(path))
    return Bank(tuple(archetypes.values()), sha256_hex(data))
