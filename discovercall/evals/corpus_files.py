"""The files of a corpus, from their bytes to checked cases; collects every problem on the way."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from discovercall.evals.cases import Corpus, DiscoveryCase, ErgonomicsCase, Scenario
from discovercall.evals.entries import Known, discovery_case, ergonomics_case, scenario
from discovercall.evals.reading import corpus_text, files_in, parsed_lines
from discovercall.evals.thresholds import Thresholds, load_thresholds
from discovercall.evals.worlds import world_and_problems
from discovercall.foundation.digests import sha256_hex, sha256_of_json
from discovercall.foundation.ecmascript import is_blank
from discovercall.foundation.errors import InputError
from discovercall.foundation.json_file import parse_json
from discovercall.foundation.models import faults_of, unknown_field
from discovercall.gateway.bank import Bank, default_bank, load_bank

HOLDOUT = "holdout-"
SUPPORTED_VERSION = 1
_WORDS = re.compile(r"\w+")
Case = TypeVar("Case", Scenario, ErgonomicsCase)


@dataclass
class Reader:
    """Reads one corpus. After `read`, `problems` has everything that is wrong, in the order of the files."""

    folder: Path

    def __post_init__(self) -> None:
        self.problems: list[InputError] = []
        self._digests: dict[str, str] = {}
        self._holdout_digests: dict[str, str] = {}

    def read(self) -> Corpus | None:
        """The corpus; None where there is a problem."""
        world, refs, faults = world_and_problems(self.folder / "catalog" / "world.json")
        self.problems += faults
        if world is not None:
            self._digests["catalog/world.json"] = world.digest
        known = Known(world, refs)
        discovery, holdout = self._discovery(known)
        invocation = self._calls("invocation", "scenarios", scenario, known)
        ergonomics = self._calls("ergonomics", "cases", ergonomics_case, known)
        thresholds = self._thresholds()
        bank = self._bank()
        if self.problems or world is None or bank is None:
            return None
        return Corpus(
            folder=self.folder,
            version=world.version,
            world=world,
            discovery=discovery,
            holdout=holdout,
            invocation=invocation,
            ergonomics=ergonomics,
            thresholds=thresholds,
            sha256=sha256_of_json(self._digests),
            bank=bank,
            holdout_sha256=sha256_of_json(self._holdout_digests) if self._holdout_digests else None,
        )

    def _text(self, path: Path) -> str | None:
        try:
            text, data = corpus_text(path)
        except InputError as error:
            self._keep(error)
            return None
        digests = self._holdout_digests if path.name.startswith(HOLDOUT) else self._digests
        digests[path.relative_to(self.folder).as_posix()] = sha256_hex(data)
        return text

    def _discovery(self, known: Known) -> tuple[tuple[DiscoveryCase, ...], tuple[DiscoveryCase, ...]]:
        folder = self.folder / "discovery"
        if not folder.is_dir():
            self._note("the folder is missing", folder, "a corpus has discovery/*.jsonl")
            return (), ()
        before = len(self.problems)
        found: dict[bool, list[DiscoveryCase]] = {False: [], True: []}
        seen: dict[str, str] = {}
        for path in self._files(folder, ".jsonl"):
            for number, value in self._lines(path):
                where = f"{path}:{number}"
                try:
                    case = discovery_case(
                        value, where, path.relative_to(self.folder).as_posix() + f":{number}", known
                    )
                except InputError as error:
                    self._keep(error)
                else:
                    found[path.name.startswith(HOLDOUT)].append(case)
                self._once(seen, value, "intent", where)
        if not found[False] and len(self.problems) == before:
            self._note("no discovery case at all", folder, "add a line to a .jsonl file")
        return tuple(found[False]), tuple(found[True])

    def _lines(self, path: Path) -> Iterator[tuple[int, Any]]:
        for number, value in parsed_lines(self._text(path) or "", path):
            if isinstance(value, InputError):
                self._keep(value)
            else:
                yield number, value

    def _files(self, folder: Path, ending: str) -> list[Path]:
        try:
            return files_in(folder, ending)
        except InputError as error:
            self._keep(error)
            return []

    def _calls(
        self, family: str, member: str, parse: Callable[[Any, str, Known], Case], known: Known
    ) -> tuple[Case, ...]:
        found: list[Case] = []
        seen: dict[str, str] = {}
        for path in self._files(self.folder / family, ".json"):
            if path.name.startswith(HOLDOUT):
                self._note("only intents are set aside", path, "give the file another name, or take it out")
                continue
            for index, value in enumerate(self._entries(path, member)):
                where = f"{path}: {member}[{index}]{_named(value)}"
                try:
                    case = parse(value, where, known)
                except InputError as error:
                    self._keep(error)
                else:
                    found.append(case)
                self._once(seen, value, "name", where)
        return tuple(found)

    def _entries(self, path: Path, member: str) -> list[Any]:
        text = self._text(path)
        if text is None:
            return []
        try:
            value = parse_json(text, str(path))
        except InputError as error:
            self._keep(error)
            return []
        if not isinstance(value, dict):
            self._note("must be a JSON object", path)
            return []
        known = ("version", "_note", member)
        unknown = sorted(value.keys() - set(known))
        if unknown:
            self.problems.append(unknown_field(unknown[:1], known, str(path)))
        version = value.get("version")
        if version != SUPPORTED_VERSION or isinstance(version, bool):
            self._note(f"version: {version!r} is not supported", path, f"use {SUPPORTED_VERSION}")
        entries = value.get(member)
        if not isinstance(entries, list):
            self._note(f"{member}: must be a list", path)
            return []
        return entries

    def _thresholds(self) -> Thresholds | None:
        path = self.folder / "thresholds.json"
        try:
            return load_thresholds(path) if os.path.lexists(path) else None
        except InputError as error:
            self._keep(error)
            return None

    def _bank(self) -> Bank | None:
        path = self.folder / "capability-bank.jsonl"
        try:
            if not os.path.lexists(path):
                return default_bank()
            for _, value in parsed_lines(corpus_text(path)[0], path):
                if isinstance(value, InputError):
                    raise value
            return load_bank(path)
        except InputError as error:
            self._keep(error)
            return None

    def _once(self, seen: dict[str, str], value: Any, field: str, where: str) -> None:
        """Note it where an entry's field says the same as an earlier one's; a faulty field says nothing."""
        text = value.get(field) if isinstance(value, dict) else None
        if not isinstance(text, str) or is_blank(text):
            return
        key = " ".join(_WORDS.findall(text.lower())) if field == "intent" else text
        if key in seen:
            self._note(f"{field}: the same as in {seen[key]}", where, "keep one of them")
        else:
            seen[key] = where

    def _keep(self, error: InputError) -> None:
        self.problems += faults_of(error)

    def _note(self, what: str, where: object, fix: str | None = None) -> None:
        self.problems.append(InputError(what, where=str(where), fix=fix))


def _named(value: Any) -> str:
    name = value.get("name") if isinstance(value, dict) else None
    return f" ({name})" if isinstance(name, str) and not is_blank(name) else ""
