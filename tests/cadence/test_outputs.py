"""Step outputs and summaries: no value breaks out, and nothing is dropped whole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall.cadence.outputs import output_text, summary_text
from discovercall.foundation.errors import InputError
from tests.cadence.conftest import parse_outputs


@settings(deadline=None)
@given(
    st.text(
        st.characters(exclude_characters="\r\0", exclude_categories=("Cs", "Zl", "Zp", "Cc")) | st.just("\n")
    )
)
def test_a_value_comes_back_as_it_was(value: str) -> None:
    delimiters: Iterator[str] = iter(("delimiter-of-a-test-1", "delimiter-of-a-test-2"))
    text = output_text({"title": value, "after": "x"}, lambda: next(delimiters))
    found = parse_outputs(text)
    assert set(found) == {"title", "after"}
    assert found["title"].split("\n") == value.split("\n")


@pytest.mark.parametrize("value", ["a\nD\nadmin=true", "D", "a\rb", "a\0b"])
def test_a_value_that_could_break_out_is_refused(value: str) -> None:
    with pytest.raises(InputError):
        output_text({"title": value}, lambda: "D")


def test_a_name_is_a_name() -> None:
    with pytest.raises(InputError):
        output_text({"a=b": "x"}, lambda: "D")


@settings(deadline=None)
@given(st.text(max_size=300), st.integers(150, 250))
def test_a_long_summary_is_cut_at_a_line_and_says_so(text: str, limit: int) -> None:
    cut = summary_text(text, limit)
    assert len(cut.encode()) <= max(limit, len(text.encode()) if cut == text else limit)
    assert cut == text or "Truncated" in cut
