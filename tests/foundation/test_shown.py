"""Foreign text on a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovercall.foundation.ecma_json import loads
from discovercall.foundation.errors import InputError
from discovercall.foundation.json_text import pretty
from discovercall.foundation.models import StrictModel, check
from discovercall.foundation.shown import (
    LINE_LIMIT,
    NAME_LIMIT,
    escaped_json,
    plain_tree,
    shown_line,
    shown_name,
)


class Small(StrictModel):
    a: int = 0


@given(st.text(st.characters(), max_size=200))
def test_a_shown_line_can_be_written_and_steers_nothing(text):
    line = shown_line(text)
    assert line.isprintable() or all(sign.isprintable() or ord(sign) > 0x7F for sign in line)
    assert not any(sign < " " or "\x7f" <= sign <= "\x9f" or sign in "\u202e\u2066\u200b" for sign in line)
    line.encode()


def test_escapes_and_what_turns_text_round_are_replaced():
    assert shown_line("a\x1b]0;x\x07\u202eb\n c\ud800\U0001343a") == "a\ufffd]0;x\ufffd\ufffdb c\ufffd\ufffd"
    assert shown_line("café 漢") == "café 漢"
    assert len(shown_line("x" * 50_000)) == LINE_LIMIT
    assert plain_tree({"a": ["\x1b", 1, None]}) == {"a": ["\ufffd", 1, None]}


@given(
    st.recursive(
        st.text(st.characters(), max_size=20),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=5,
    )
)
def test_json_for_a_terminal_says_the_same_and_steers_nothing(value):
    shown = escaped_json(pretty(value))
    assert loads(shown) == value
    assert not any(sign in "\x1b\x7f\x85\x9b\u202e\u2066\u200b\U000e0001" for sign in shown)


def test_json_for_a_terminal_keeps_plain_text_and_lines():
    assert escaped_json('{\n  "café": "a\u202eb\x7f\U0001343a 漢"\n}') == (
        '{\n  "café": "a\\u202eb\\u007f\\ud80d\\udc3a 漢"\n}'
    )


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("extra_field", "extra_field"),
        ("workflow_success_task_cluster_bootstrap_95", "workflow_success_task_cluster_bootstrap_95"),
        ("runs_sha256", "runs_sha256"),
        ("AKIAIOSFODNNEXAMPLE", "[redacted]"),
        ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "[redacted]"),
        ("x" * 50_000, "x" * (NAME_LIMIT - 1) + "…"),
        ("sk-proj-Ab12Cd34Ef56Gh78Ij90", "[redacted]"),
        ("\x1b[2J", "\ufffd[2J"),
    ],
)
def test_the_name_of_an_unknown_field_is_cut_and_masked(name, shown):
    assert shown_name(name) == shown
    with pytest.raises(InputError) as caught:
        check(Small, {name: 1}, "f.json")
    assert caught.value.where == f"f.json: {shown}"
