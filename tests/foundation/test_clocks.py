import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall.foundation.clocks import iso_milliseconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (0.0009, "1970-01-01T00:00:00.000Z"),
        (1.5, "1970-01-01T00:00:01.500Z"),
        (951782399.999, "2000-02-28T23:59:59.999Z"),
        (951782400, "2000-02-29T00:00:00.000Z"),
        (1767225599.9996, "2025-12-31T23:59:59.999Z"),
    ],
)
def test_times_are_utc_with_milliseconds(seconds, text):
    assert iso_milliseconds(seconds) == text


@settings(deadline=None)
@given(st.floats(0, 4e9), st.floats(0, 1e6))
def test_a_later_moment_never_has_an_earlier_text(moment, later):
    texts = [iso_milliseconds(moment), iso_milliseconds(moment + later)]
    assert texts == sorted(texts)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text) for text in texts)
