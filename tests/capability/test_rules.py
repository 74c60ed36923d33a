"""The pure rules: envelopes, emptiness, waits, revisions."""

from email.utils import formatdate
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovercall.capability.emptiness import result_is_nonempty
from discovercall.capability.envelope import Answer, FailureEnvelope, Operation, unwrap
from discovercall.capability.retry import is_retried, retry_wait
from discovercall.capability.revisions import RevisionCollector

NOW = 1786579200.0  # 2026-08-13 00:00:00 UTC
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just(" \n"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["data", "truncated_content", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)
OPERATIONS = get_args(Operation)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"data": 1}, Answer({"data": 1})),
        ({"data": 1, "message": None}, Answer(1)),
        ({"data": 1, "status": "errors"}, Answer(1)),
        ({"data": 1, "status": " failure "}, Answer(1)),
        ({"data": 1, "status": "400"}, Answer(1)),
        ({"data": 1, "status": 399.9}, Answer(1)),
        ({"data": 1, "status": True, "status_code": True}, Answer(1)),
        ({"data": 1, "status": {}}, Answer(1)),
        ({"status": "failure", "message": "m"}, Answer({"status": "failure", "message": "m"})),
        (
            {"data": {"status": "failure", "data": 1}, "status": "ok"},
            Answer({"status": "failure", "data": 1}),
        ),
        ({"data": 1, "status": "FAILED"}, FailureEnvelope()),
        ({"data": 1, "status": "Error"}, FailureEnvelope()),
        ({"data": 1, "status": 400}, FailureEnvelope()),
        ({"data": 1, "status": "success", "status_code": 500}, FailureEnvelope()),
        ({"data": 1, "status": 0, "status_code": 400.0}, FailureEnvelope()),
        ({"data": 1, "status": float("inf")}, FailureEnvelope()),
        ({"data": 1, "status": "failure", "success": 1}, FailureEnvelope()),
    ],
)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_envelopes(operation: Operation, body: Any, expected: Answer | FailureEnvelope) -> None:
    assert unwrap(operation, body) == expected


@pytest.mark.parametrize("success", [True, False])
def test_a_calls_own_answer_is_no_envelope(success: bool) -> None:
    body = {"data": None, "message": "m", "status": "failed", "success": success}
    assert unwrap("call", body) == Answer(body)
    assert unwrap("discover", body) == FailureEnvelope()


@given(st.sampled_from(OPERATIONS), JSON)
def test_whatever_has_no_mark_of_an_envelope_is_passed_on(operation: Operation, body: Any) -> None:
    answer = unwrap(operation, body)
    assert isinstance(answer, Answer)
    assert answer.value is body


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"data": {"x": 1}}, True),
        ({"data": {}}, False),
        ({"data": []}, False),
        ({"data": [None]}, True),
        ({"data": [[]]}, True),
        ({"data": ""}, False),
        ({"data": " \n"}, False),
        ("\u00a0\ufeff", False),
        ("\u200b", True),
        ("\u0085", True),
        (0, True),
        (False, True),
        (None, False),
        ({}, False),
        ([], False),
        ({"message": ""}, True),
        ({"status": 204}, True),
        ({"truncated_content": "  "}, True),
        ({"data": None}, False),
        ({"data": None, "truncated_content": '{"a":1'}, True),
        ({"data": {}, "full_content_file_url": "https://x/y"}, True),
        ({"data": {}, "truncated_content": " ", "full_content_file_url": 5}, False),
        ({"data": [], "truncated_content": "x"}, False),
        ({"data": {"data": {}}}, False),
        ({"data": {"data": {}, "truncated_content": "x"}}, True),
        ({"data": {"data": {"x": 1}}}, True),
        ({"data": {"items": []}}, True),
    ],
)
def test_emptiness(result: Any, expected: bool) -> None:
    assert result_is_nonempty(result) is expected


@given(JSON, st.integers(0, 5))
def test_wrapping_in_data_changes_nothing_unless_it_is_empty(result: Any, times: int) -> None:
    wrapped = result
    for _ in range(times):
        wrapped = {"data": wrapped}
    assert result_is_nonempty(wrapped) is result_is_nonempty(result)


def test_emptiness_has_no_limit_of_depth() -> None:
    for inner, expected in (({}, False), ({"x": 1}, True), ([[]], True)):
        result: Any = inner
        for _ in range(200_000):
            result = {"data": result}
        assert result_is_nonempty(result) is expected


@pytest.mark.parametrize(
    "reason_code", ["http_500", "http_404", "http_302", "invalid_response", "failure_envelope"]
)
def test_what_is_never_retried(reason_code: str) -> None:
    assert not any(is_retried(operation, reason_code) for operation in OPERATIONS)


def test_a_call_is_retried_on_429_alone() -> None:
    transient = ["http_429", "http_503", "network_failure", "request_timeout", "response_timeout"]
    assert [code for code in transient if is_retried("call", code)] == ["http_429"]
    assert all(is_retried(operation, code) for operation in ("discover", "inspect") for code in transient)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0),
        ("1", 1),
        (" 3 ", 3),
        ("00005", 5),
        ("1.5", 1.5),
        ("0.0", 0),
        ("60", 60),
        ("61", 60),
        ("9" * 400, 60),
        ("Thu, 13 Aug 2026 00:00:05 GMT", 5),
        ("Thursday, 13-Aug-26 00:00:05 GMT", 5),
        ("Thu Aug 13 00:00:05 2026", 5),
        ("Thu, 13 Aug 2026 01:00:00 GMT", 60),
        ("Wed, 12 Aug 2026 00:00:00 GMT", 0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 0),
        ("Sun Nov  6 08:49:37 1994", 0),
    ],
)
def test_a_valid_retry_after_is_the_wait(header: str, seconds: float) -> None:
    assert [retry_wait(header, attempt, NOW) for attempt in (0, 3)] == [seconds, seconds]


@pytest.mark.parametrize(
    "header",
    [
        None, "", "later", "soon 5", "5 seconds", "-1", "+1", "1e3", "1.", ".5", "1,5", "٥", "NaN",
        "infinity", "0x5",
        "2026-08-13", "2026-08-13T00:00:05Z", "Thu, 13 Aug 2026 00:00:05", "Thu, 13 Aug 2026 00:00:05 UTC",
        "Thu, 13 Aug 2026 00:00:05 +0000", "Thu, 31 Feb 2026 00:00:05 GMT", "Thu, 13 Aug 2026 24:00:00 GMT",
        "thu, 13 aug 2026 00:00:05 gmt", "Thu, 3 Aug 2026 00:00:05 GMT", "Thu, 13 Aug 0000 00:00:05 GMT",
        "Thu Aug 3 00:00:05 2026", "Thu, 13 Aug 2026 00:00:05 GMT, 5", "5, 5",
    ],
)  # fmt: skip
def test_any_other_retry_after_counts_as_absent(header: str | None) -> None:
    assert [retry_wait(header, attempt, NOW) for attempt in range(8)] == [0.5, 1, 2, 4, 8, 16, 32, 60]


@given(st.none() | st.text() | st.from_regex(r"[0-9]*\.?[0-9]*"), st.integers(0, 10_000), st.floats(0, 4e9))
def test_a_wait_is_never_out_of_bounds(header: str | None, attempt: int, now: float) -> None:
    assert 0 <= retry_wait(header, attempt, now) <= 60


@given(st.integers(0, 4_000_000_000), st.integers(-100, 100))
def test_the_wait_for_a_date_is_bounded(moment: int, ahead: int) -> None:
    header = formatdate(moment, usegmt=True)
    assert retry_wait(header, 0, moment - ahead) == min(max(ahead, 0), 60)


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        ([], "unreported"),
        ([None, "", " \t"], "unreported"),
        ([" 1 ", "1"], "1"),
        (["b", None, "a", "b"], "mixed:a,b"),
        (["x" * 256], "x" * 256),
        (["x" * 257], "invalid"),
        (["a\x07b"], "invalid"),
        (["a\u200bb", "a"], "mixed:a,invalid"),
    ],
)
def test_revisions(observed: list[str | None], expected: str) -> None:
    collector = RevisionCollector()
    for value in observed:
        collector.observe(value, None)
        collector.observe(None, value)
    assert (collector.api_revision, collector.catalog_revision) == (expected, expected)


@given(st.lists(st.tuples(st.none() | st.text(), st.none() | st.text())))
def test_revisions_can_be_restored(observed: list[tuple[str | None, str | None]]) -> None:
    collector = RevisionCollector(observed)
    restored = RevisionCollector(collector.observations())
    assert restored.observations() == collector.observations()
    assert (restored.api_revision, restored.catalog_revision) == (
        collector.api_revision,
        collector.catalog_revision,
    )
