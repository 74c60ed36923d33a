"""Which failures are tried again, and how long to wait before."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime

from discovercall.capability.envelope import Operation
from discovercall.foundation.ecmascript import trim

LONGEST_WAIT_S = 60.0
_FIRST_WAIT_S = 0.5
_DOUBLINGS = 16  # beyond any wait that is not cut to the longest

_TRANSIENT = frozenset({"http_429", "http_503", "network_failure", "request_timeout", "response_timeout"})
# A 429 says that the call was not carried out. After any other failure it may have happened, and been billed.
_NOT_CARRIED_OUT = frozenset({"http_429"})

_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = "(?P<month>" + "|".join(_MONTHS) + ")"
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_HTTP_DATES = (
    re.compile(
        rf"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} GMT"
    ),
    re.compile(
        r"(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday), "
        rf"(?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT"
    ),
    re.compile(
        rf"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) {_MONTH} (?P<day>[0-9]{{2}}| [0-9]) {_TIME} (?P<year>[0-9]{{4}})"
    ),
)


def is_retried(operation: Operation, reason_code: str) -> bool:
    """True when a request that failed so may be sent again."""
    return reason_code in (_NOT_CARRIED_OUT if operation == "call" else _TRANSIENT)


def retry_wait(retry_after: str | None, attempt: int, now: float) -> float:
    """Seconds to wait before the next try, 0 to 60.

    Args:
        retry_after: the Retry-After header: seconds, or one of the three dates of RFC 9110, 5.6.7; anything
            else counts as absent, and then the wait is 0.5 * 2^attempt.
        attempt: number of tries that failed before this one, from 0.
        now: seconds since the Unix epoch.
    """
    value = trim(retry_after) if retry_after is not None else ""
    if _SECONDS.fullmatch(value):
        return min(float(value), LONGEST_WAIT_S)
    moment = http_date(value, now)
    if moment is not None:
        return min(max(moment - now, 0.0), LONGEST_WAIT_S)
    return min(_FIRST_WAIT_S * 2.0 ** min(attempt, _DOUBLINGS), LONGEST_WAIT_S)


def http_date(text: str, now: float) -> float | None:
    """The moment of an HTTP date (RFC 9110, 5.6.7) in seconds since the Unix epoch; None when it is none.

    Args:
        text: the date; the day's name is not checked against the date.
        now: seconds since the Unix epoch; tells the century of a two-digit year.
    """
    found = next((match for form in _HTTP_DATES if (match := form.fullmatch(text))), None)
    if found is None:
        return None
    part = found.groupdict()
    year = int(part["year"])
    if len(part["year"]) == 2:
        earliest = datetime.fromtimestamp(now, UTC).year - 49
        year = earliest + (year - earliest) % 100
    second = min(int(part["second"]), 59) if part["second"] == "60" else int(part["second"])
    try:
        moment = datetime(
            year,
            _MONTHS.index(part["month"]) + 1,
            int(part["day"]),
            int(part["hour"]),
            int(part["minute"]),
            second,
            tzinfo=UTC,
        )
    except ValueError:
        return None
    return float(calendar.timegm(moment.utctimetuple()))
