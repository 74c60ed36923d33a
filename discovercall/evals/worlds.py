"""Every problem of a world file, where its own reader stops at the first."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from discovercall.evals.reading import corpus_text
from discovercall.foundation.digests import sha256_hex
from discovercall.foundation.errors import InputError
from discovercall.foundation.json_file import parse_json
from discovercall.foundation.models import faults_of
from discovercall.gateway.catalog import World, parse_world

_PLACE = re.compile(r"\b(tools|servers)\[(\d+)\]")


def world_and_problems(path: Path) -> tuple[World | None, frozenset[str], list[InputError]]:
    """The world, all references that the file names, and what is wrong with it.

    The references include those of faulty tools, so that a case is not blamed for its tool's fault. The
    world is None where anything is wrong.
    """
    try:
        text, data = corpus_text(path)
        value = parse_json(text, str(path))
    except InputError as error:
        return None, frozenset(), [error]
    digest = sha256_hex(data)
    problems: list[InputError] = []
    places = {member: list(range(len(_list(value, member)))) for member in ("tools", "servers")}
    remaining = value
    while True:
        try:
            world = parse_world(remaining, where=str(path), digest=digest)
        except InputError as error:
            found = [_in_original_places(fault, places) for fault in faults_of(error)]
            problems += [problem for problem, _ in found]
            at = found[0][1]  # all of them are of one entry, or of none
            # Without servers the others' state can't be told: what follows would only repeat it.
            if at is None or at[0] == "servers" or len(places["tools"]) == 1:
                return None, _refs(value), problems
            remaining = {**remaining, "tools": [t for i, t in enumerate(remaining["tools"]) if i != at[1]]}
            del places["tools"][at[1]]
        else:
            return (None if problems else world), _refs(value), problems


def _in_original_places(
    error: InputError, places: dict[str, list[int]]
) -> tuple[InputError, tuple[str, int] | None]:
    """The problem with the place that the entry has in the file, and its place in what is left."""
    where = error.where or ""
    found = list(_PLACE.finditer(where))
    if not found:
        return error, None
    match = found[-1]
    member, place = match.group(1), int(match.group(2))
    start, end = match.span(2)
    where = f"{where[:start]}{places[member][place]}{where[end:]}"
    return InputError(error.what, where=where, fix=error.fix), (member, place)


def _list(value: Any, member: str) -> list[Any]:
    entries = value.get(member) if isinstance(value, dict) else None
    return entries if isinstance(entries, list) else []


def _refs(value: Any) -> frozenset[str]:
    refs = (tool.get("toolRef") for tool in _list(value, "tools") if isinstance(tool, dict))
    return frozenset(ref for ref in refs if isinstance(ref, str))
