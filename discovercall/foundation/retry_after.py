"""The Retry-After header: seconds, or a date."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime

from discovercall.foundation.ecmascript import trim

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


def retry_after_s(header: str | None, now: float) -> float | None:
    """The wait that a Retry-After header asks for (RFC 9110, 10.2.3), in seconds.

    Args:
        header: seconds, or one of the three forms of an HTTP date.
        now: seconds since the Unix epoch.

    Returns:
        Seconds from 0; None where the header is missing or malformed.
    """
    text = trim(header or "")
    if _SECONDS.fullmatch(text):
        return float(text)
    moment = http_date(text, now)
    return None if moment is None else max(0.0, moment - now)


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
