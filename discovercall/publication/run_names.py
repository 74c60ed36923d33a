"""The names that a release's runs are published under, and whether records are what such a name says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from typing import Any

from discovercall.foundation.errors import RefusedError

LANES = ("reference", "configured-model")
MOST_DAYS = 62
"""Days that may lie between a plan and its first trial: an approval can wait for 30 of them."""
_NOT_IN_STEMS = re.compile(r"[^0-9A-Za-z.-]")
_STEM = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})-(?P<model>.+?)(?P<configured>-configured)?"
    r"-release-(?P<sha12>[0-9a-f]{12})(?P<rehearsal>-rehearsal)?-(?P<version>v[1-9][0-9]*)"
)


@dataclass(frozen=True, slots=True)
class Stem:
    """The parts of a result stem."""

    date: str
    model: str
    configured: bool
    sha12: str
    rehearsal: bool
    version: str

    @property
    def release(self) -> tuple[str, str, str, bool]:
        """What the stems of one run share; newer runs sort later."""
        return self.date, self.sha12, self.version, self.rehearsal


def parse_stem(stem: str) -> Stem | None:
    """The parts of a stem that a cadence run made, else None."""
    found = _STEM.fullmatch(stem)
    if not found:
        return None
    return Stem(
        date=found["date"],
        model=found["model"],
        configured=found["configured"] is not None,
        sha12=found["sha12"],
        rehearsal=found["rehearsal"] is not None,
        version=found["version"],
    )


def model_in_stem(model: str) -> str:
    """A model's name as a stem has it."""
    return _NOT_IN_STEMS.sub("-", model)


def days_between(earlier: str, later: str) -> int:
    """Whole days from one day to another, both written YYYY-MM-DD."""
    return (Date.fromisoformat(later) - Date.fromisoformat(earlier)).days


def check_named(stem: str, records: Sequence[Mapping[str, Any]]) -> None:
    """Refuse records under a cadence run's name that is another run's; other names say nothing of a run.

    Args:
        records: validated public records of one pair, at least one.

    Raises:
        RefusedError: names what the stem says and what the records say.
    """
    named = parse_stem(stem)
    if named is None:
        return
    lane = LANES[named.configured]
    for record in records:
        metadata = record["metadata"]
        found = [
            ("lane", lane, metadata["lane"]),
            ("model", named.model, model_in_stem(str(record["model"]))),
        ]
        if not named.rehearsal:  # a rehearsal may be made by other code than the release's
            found.append(("release", named.sha12, str(metadata["toolkit_revision"])[:12]))
        for what, wanted, is_ in found:
            if wanted != is_:
                raise RefusedError(
                    f"names the {what} {wanted}, its records are of {is_}",
                    where=f"stem {stem}",
                    fix="give the pair the name back that it was published under",
                )
    day = min(str(record["started_at"]) for record in records)[:10]
    try:
        possible = 0 <= days_between(named.date, day) <= MOST_DAYS
    except ValueError:  # no such day
        possible = False
    if not possible:
        raise RefusedError(
            f"names the day {named.date}, its first trial was on {day}",
            where=f"stem {stem}",
            fix="give the pair the name back that it was published under",
        )
