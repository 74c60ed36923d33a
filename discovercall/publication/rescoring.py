"""What a published summary says and its records don't, field by field."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from discovercall.foundation.ecmascript import is_number, strictly_equal
from discovercall.foundation.shown import shown_name
from discovercall.publication.summary import EXTRAS, RUNS_DIGEST, SELF_DIGEST, summary_digest

_RELATIVE_TOLERANCE = 1e-9
_SHOWN = 100
_MISSING = object()


def differences(published: Any, recomputed: Any, *, digests_required: bool) -> Iterator[str]:
    """Every field in which a published summary differs from the one recomputed from its records.

    `generated_at` is left out. `discovercall` counts where the published summary has it; its floating-point
    figures may differ by a relative 1e-9, and it may lack figures that a later version added, for its own
    digest tells whether one was removed.

    Args:
        published: the parsed summary file.
        recomputed: what `publication_summary` gives for the records.
        digests_required: whether a summary without `discovercall` is refused, which otherwise stands for
            one of another harness.
    """
    if not isinstance(published, dict):
        yield f"the summary: published {_text(published)}, must be a JSON object"
        return
    own = {name: value for name, value in published.items() if name not in ("generated_at", EXTRAS)}
    wanted = {name: value for name, value in recomputed.items() if name not in ("generated_at", EXTRAS)}
    yield from _compare(own, wanted, "")
    extras = published.get(EXTRAS, _MISSING)
    if extras is not _MISSING:
        yield from _compare_extras(published, extras, recomputed[EXTRAS])
    elif digests_required:
        yield f"{EXTRAS}.{RUNS_DIGEST}: not published, recomputed {_text(recomputed[EXTRAS][RUNS_DIGEST])}"


def _compare_extras(published: Mapping[str, Any], extras: Any, recomputed: dict[str, Any]) -> Iterator[str]:
    if not isinstance(extras, dict):
        yield f"{EXTRAS}: published {_text(extras)}, must be a JSON object"
        return
    required = {name: recomputed[name] for name in ("models", "rehearsal", RUNS_DIGEST)}
    own = {name: value for name, value in extras.items() if name != SELF_DIGEST}
    yield from _compare(own, {**required, **_known(recomputed, own)}, EXTRAS, lenient=True)
    stated, actual = extras.get(SELF_DIGEST, _MISSING), summary_digest(published)
    if stated != actual:
        yield f"{EXTRAS}.{SELF_DIGEST}: {_published(stated)}, recomputed {_text(actual)}"


def _known(recomputed: Mapping[str, Any], published: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in recomputed.items() if name in published and name != SELF_DIGEST}


def _compare(published: Any, recomputed: Any, path: str, *, lenient: bool = False) -> Iterator[str]:
    if isinstance(published, dict) and isinstance(recomputed, Mapping):
        names = dict.fromkeys([*published, *recomputed])
        for name in names:
            shown = name if name in recomputed else shown_name(name)
            at = f"{path}.{shown}" if path else shown
            ours, theirs = published.get(name, _MISSING), recomputed.get(name, _MISSING)
            if lenient and ours is _MISSING and path != EXTRAS:
                continue
            yield from _compare(ours, theirs, at, lenient=lenient)
    elif isinstance(published, list) and isinstance(recomputed, Sequence) and not isinstance(recomputed, str):
        for index in range(max(len(published), len(recomputed))):
            yield from _compare(
                published[index] if index < len(published) else _MISSING,
                recomputed[index] if index < len(recomputed) else _MISSING,
                f"{path}[{index}]",
                lenient=lenient,
            )
    elif not _equal(published, recomputed, lenient=lenient):
        yield f"{path}: {_published(published)}, {_recomputed(recomputed)}"


def _equal(published: Any, recomputed: Any, *, lenient: bool) -> bool:
    if published is _MISSING or recomputed is _MISSING:
        return False
    if lenient and is_number(published) and isinstance(recomputed, float):
        return math.isclose(published, recomputed, rel_tol=_RELATIVE_TOLERANCE, abs_tol=1e-12)
    return strictly_equal(published, recomputed)


def _published(value: Any) -> str:
    return "not published" if value is _MISSING else f"published {_text(value)}"


def _recomputed(value: Any) -> str:
    return "not recomputed" if value is _MISSING else f"recomputed {_text(value)}"


def _text(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
