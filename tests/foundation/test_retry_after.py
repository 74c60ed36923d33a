"""Retry-After: seconds or a date, and nothing else."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovercall.foundation.retry_after import http_date, retry_after_s

NOW = 1_800_000_000.0  # 2027-01-15 08:00:00 UTC


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("0", 0),
        (" 1.5 ", 1.5),
        ("-1", None),
        ("1e3", None),
        ("soon 5", None),
        ("NaN", None),
        ("Fri, 15 Jan 2027 08:00:07 GMT", 7),
        ("Friday, 15-Jan-27 08:00:07 GMT", 7),
        ("Fri Jan 15 08:00:07 2027", 7),
        ("Mon, 01 Jan 2001 00:00:00 GMT", 0),
        ("Fri, 32 Jan 2027 08:00:07 GMT", None),
    ],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header, NOW) == seconds


@given(st.text())
def test_any_retry_after_is_a_wait_or_none(header: str) -> None:
    wait = retry_after_s(header, NOW)
    assert wait is None or wait >= 0


@given(st.integers(0, 4_000_000_000))
def test_a_date_is_the_moment_it_names(moment: int) -> None:
    header = formatdate(moment, usegmt=True)
    assert http_date(header, NOW) == moment


@given(st.integers(1_000_000_000, 3_000_000_000), st.integers(-48, 48))
def test_a_two_digit_year_is_the_nearest(moment: int, years: int) -> None:
    named = moment + years * 31_556_952
    header = time.strftime("%A, %d-%b-%y %H:%M:%S GMT", time.gmtime(named))
    assert http_date(header, moment) == named
