"""What a run's branch, artifacts and pull request are called, all derived from its plan."""

from __future__ import annotations

import re
from datetime import date as Date

from discovercall.foundation.errors import InputError
from discovercall.publication.run_names import MOST_DAYS, days_between, model_in_stem

LABEL = "benchmark"
REHEARSAL_LABEL = "benchmark-rehearsal"
RELEASE_SHA = re.compile(r"[0-9a-f]{40}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_BRANCH = re.compile(r"benchmark/(?P<kind>cadence|rehearsal)-(?P<sha12>[0-9a-f]{12})")


def check_release_sha(sha: str) -> str:
    """The SHA as it is.

    Raises:
        InputError: not 40 lower-case hex digits.
    """
    if not RELEASE_SHA.fullmatch(sha):
        raise InputError("must be the full commit: 40 lower-case hex digits", where="--release-sha")
    return sha


def check_date(text: str) -> str:
    """The date as it is.

    Raises:
        InputError: not written YYYY-MM-DD, or a day that does not exist.
    """
    if _DATE.fullmatch(text):
        try:
            Date.fromisoformat(text)
        except ValueError:
            pass
        else:
            return text
    raise InputError("must be a day that exists, written YYYY-MM-DD", where="--date")


def check_day(date: str, today: str) -> None:
    """Refuse a plan's day that results measured today could not be named by.

    Args:
        date: of the plan, a day that exists.
        today: in UTC.

    Raises:
        InputError: it is still to come, or long past.
    """
    if not 0 <= days_between(date, today) <= MOST_DAYS:
        raise InputError(
            f"{date} is none of the last {MOST_DAYS} days up to {today} (UTC), so it cannot name what is"
            " measured now",
            where="plan: date",
            fix="plan again with today's date",
        )


def branch_name(release_sha: str, *, rehearsal: bool) -> str:
    """The only branch that a run of this release may make."""
    return f"benchmark/{'rehearsal' if rehearsal else 'cadence'}-{release_sha[:12]}"


def parse_branch(branch: str) -> tuple[str, bool]:
    """First 12 digits of the release commit, and whether it is a rehearsal's branch.

    Raises:
        InputError: not a branch that a cadence run makes.
    """
    found = _BRANCH.fullmatch(branch)
    if not found:
        raise InputError(
            "is no branch of the cadence", where="--branch", fix="it is benchmark/cadence-<12 hex digits>"
        )
    return found["sha12"], found["kind"] == "rehearsal"


def result_stem(
    date: str, model: str, release_sha: str, version: str, *, configured: bool, rehearsal: bool
) -> str:
    """File stem of one lane's pair."""
    middle = "-configured" if configured else ""
    end = "-rehearsal" if rehearsal else ""
    return f"{date}-{model_in_stem(model)}{middle}-release-{release_sha[:12]}{end}-{version}"


def section_name(date: str, release_sha: str, version: str, *, rehearsal: bool) -> str:
    """File name of the results section of a run."""
    return f"{date}-release-{release_sha[:12]}{'-rehearsal' if rehearsal else ''}-{version}.md"


def pull_title(release_sha: str, date: str, version: str, *, rehearsal: bool) -> str:
    """Title of the pull request."""
    what = "Rehearsal, not results" if rehearsal else "Benchmark results"
    return f"{what}: release {release_sha[:12]}, task set {version}, {date}"
