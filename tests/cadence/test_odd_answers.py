"""What GitHub says of a failure, how long it asks to wait, and folders that are no bundles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discovercall.cadence.bundle import MANIFEST, read_bundle
from discovercall.cadence.outputs import append, summary_text
from discovercall.cadence.problems import LONGEST_WAIT_SECONDS, Failure, explain_write, text_of
from discovercall.foundation.errors import DiscovercallError, InputError

NOON = "Tue, 01 Dec 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("no JSON", "HTTP 500"),
        ({}, "HTTP 500"),
        ({"message": "Not Found", "errors": "none"}, "Not Found"),
        ({"message": "Bad", "errors": ["first", {"message": "second"}, {"code": "x"}]}, "Bad first second"),
        ({"message": "m" * 600}, "m" * 500),
    ],
)
def test_all_texts_of_an_error_are_one_line(body: Any, text: str) -> None:
    assert text_of(body, "HTTP 500") == text


@pytest.mark.parametrize(
    ("status", "headers", "message", "seconds"),
    [
        (429, {"retry-after": "7"}, "", 7.0),
        (429, {"retry-after": "Thu, 01 Jan 1970 00:17:07 GMT"}, "", 27.0),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1030"}, "", 30.0),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "900"}, "", 0.0),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, "", LONGEST_WAIT_SECONDS),
        (403, {}, "You have exceeded a secondary rate limit", LONGEST_WAIT_SECONDS),
        (429, {"retry-after": "soon"}, "", LONGEST_WAIT_SECONDS),
        (502, {}, "", 2.0),
        (None, {}, "", 2.0),
    ],
)
def test_how_long_to_wait(status: int | None, headers: dict[str, str], message: str, seconds: float) -> None:
    failure = Failure(status, message, headers)
    assert failure.seconds_to_wait(1000.0, 2.0) == seconds
    assert failure.is_transient
    assert failure.is_rate_limit == (status in (403, 429))
    assert failure.may_have_happened == (status in (None, 502))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "7200"}, 3600.0),
        ({"date": NOON, "retry-after": "Tue, 01 Dec 2026 12:02:00 GMT"}, 120.0),
        ({"date": NOON, "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1796126430"}, 30.0),
        ({"retry-after": "Tue, 01 Dec 2026 12:02:00 GMT"}, 3600.0),
        ({}, LONGEST_WAIT_SECONDS),
    ],
)
def test_how_long_a_person_is_told_to_wait(headers: dict[str, str], seconds: float) -> None:
    failure = Failure(429, "slow down", headers)
    assert failure.seconds_told == seconds
    problem = explain_write(failure, doing="make x", permission="contents: write", branch="b")
    assert f"GitHub asks to wait {seconds:.0f} s" in problem.what


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (422, "Validation Failed A pull request already exists for acme:x."),
        (422, "Validation Failed"),
        (404, "A pull request already exists"),
    ],
)
def test_a_pull_request_that_exists_is_no_passing_trouble(status: int, message: str) -> None:
    assert not Failure(status, message, {}).is_transient


def test_a_short_summary_is_whole_and_a_long_one_is_cut() -> None:
    assert summary_text("short\n") == "short\n"
    cut = summary_text("line\n" * 100, 200)
    assert len(cut.encode()) <= 200
    assert cut.startswith("line\nline")
    assert "*Truncated here" in cut


def test_what_cannot_be_appended_to_is_named(tmp_path: Path) -> None:
    append(tmp_path / "out", "a\n")
    append(tmp_path / "out", "ä\n")
    assert (tmp_path / "out").read_bytes() == "a\nä\n".encode()
    with pytest.raises(InputError) as error:
        append(tmp_path, "x")
    assert str(error.value) == f"{tmp_path}: cannot be written (Is a directory)"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (None, f"FOLDER: {MANIFEST} is missing"),
        ("{", rf"FOLDER/{MANIFEST}: not valid JSON \(.+\)"),
        ('{"a": 1, "a": 2}', rf"FOLDER/{MANIFEST}: not valid JSON \(.+\)"),
        ("[]", f"FOLDER/{MANIFEST}: must be a JSON object"),
    ],
)
def test_a_folder_without_a_readable_manifest_is_no_bundle(
    tmp_path: Path, content: str | None, line: str
) -> None:
    if content is not None:
        (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(DiscovercallError, match=f"^{line.replace('FOLDER', str(tmp_path))}$"):
        read_bundle(tmp_path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_bundle(tmp_path / "none")
    assert str(error.value) == f"{tmp_path / 'none'}: cannot be read (No such file or directory)"
