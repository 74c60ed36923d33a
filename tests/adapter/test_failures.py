from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovercall.adapter.failures import REPORTED_CODES, reported_code

OURS = "DISCOVERCALL_ADAPTER_ERROR="
OLD = "QVERIS_BENCHMARK_ADAPTER_ERROR="


@pytest.mark.parametrize("code", sorted(REPORTED_CODES))
@pytest.mark.parametrize("marker", [OURS, OLD])
def test_every_known_code_is_recognised_whole(code, marker):
    assert reported_code(f"noise\n{marker}{code}\n") == code
    assert reported_code(f"{marker}{code}\r\n") == code
    assert reported_code(f"{marker}{code}") == code


@pytest.mark.parametrize(
    ("stderr", "code"),
    [
        (f"{OLD}cli_failed_badly\n", "process_exit"),
        (f"x{OLD}model_failed tail", "process_exit"),
        (f"x{OLD}model_failed\n", "process_exit"),
        (f"{OLD} model_failed\n", "process_exit"),
        (f"{OLD}model_failed \n", "process_exit"),
        (f"{OLD.lower()}model_failed\n", "process_exit"),
        (f"{OURS}{OLD}model_failed\n", "process_exit"),
        (f"a\x0b{OURS}model_failed\x0bb\n", "process_exit"),
        (f"{OURS}timeout\n", "process_exit"),
        (f"{OLD}nope\n{OLD}invalid_output\n", "invalid_output"),
        (f"{OLD}model_failed\n{OURS}cli_failed\n", "model_failed"),
        ("", "process_exit"),
    ],
)
def test_only_a_whole_line_with_a_known_code_counts_and_the_first_wins(stderr, code):
    assert reported_code(stderr) == code


@given(st.text())
def test_any_text_gives_a_closed_code(stderr):
    assert reported_code(stderr) in REPORTED_CODES | {"process_exit"}
