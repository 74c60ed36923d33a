"""What a pair's files are refused for, each with its whole line: not JSON, not as published, not in order."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from discovercall import sanitize_records
from discovercall.foundation.ecma_json import decode, loads
from discovercall.foundation.errors import DiscovercallError, InputError, RefusedError
from discovercall.foundation.json_text import pretty
from discovercall.publication.consistency import EMPTY_SNAPSHOT
from discovercall.publication.pair import Pair
from discovercall.publication.policy import is_rehearsal_url
from discovercall.publication.validation import check_public_records, validate_public_records
from discovercall.publication.verification import PairFiles, read_pair, verify_pair
from tests.publication.runs import KEY, one_task, policy, policy_json, private_run, small_pair, task_set

EDITED = "published files are not edited"
Change = Callable[[PairFiles], PairFiles]


def runs(change: Callable[[bytes], bytes]) -> Change:
    return lambda files: replace(files, runs=change(files.runs))


def summary(change: Callable[[bytes], bytes]) -> Change:
    return lambda files: replace(files, summary=change(files.summary))


def generated_at(value: object) -> Change:
    def change(text: bytes) -> bytes:
        return pretty(decode(text) | {"generated_at": value}).encode() + b"\n"

    return summary(change)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> PairFiles:
    return small_pair(tmp_path_factory.mktemp("pair"), 2)


@pytest.mark.parametrize(
    ("change", "kind", "line"),
    [
        (runs(lambda text: text.replace(b"model-a", b"\xff")), InputError, "RUNS: not valid UTF-8"),
        (runs(lambda text: text + b"[]\n"), RefusedError, "RUNS:4: must be a JSON object"),
        (
            runs(lambda text: text.replace(b",", b", ", 1)),
            RefusedError,
            "RUNS: is not written as compact JSON, one record a line; publish it with `discovercall publish`;"
            f" {EDITED}",
        ),
        (summary(lambda text: text.replace(b"model-a", b"\xff")), InputError, "SUMMARY: not valid UTF-8"),
        (
            summary(lambda text: text.rstrip()[:-1]),
            InputError,
            r"SUMMARY: not valid JSON \(.+\)",
        ),
        (
            summary(lambda text: text.replace(b"{", b'{"schema_version": 1,', 1)),
            RefusedError,
            "SUMMARY: names a field twice, or writes values as no summary does",
        ),
        (generated_at("yesterday"), RefusedError, "SUMMARY: generated_at: is no time"),
        (generated_at(None), RefusedError, "SUMMARY: generated_at: is no time"),
        (
            generated_at("2026-11-30T10:59:59.999Z"),
            RefusedError,
            "SUMMARY: generated_at: is before a record was finished",
        ),
        (runs(lambda text: b""), RefusedError, "RUNS: holds no record"),
    ],
)
def test_a_file_that_is_not_as_it_was_published_is_refused(
    whole: PairFiles, change: Change, kind: type[DiscovercallError], line: str
) -> None:
    with pytest.raises(kind) as error:
        verify_pair(change(whole), policy(2), one_task())
    names = {"RUNS": str(whole.pair.runs), "SUMMARY": str(whole.pair.summary)}
    said = str(error.value)
    for name, path in names.items():
        said = said.replace(path, name)
    assert re.fullmatch(line, said), said


def test_a_pair_that_is_not_there_is_told_by_its_folder_or_its_file(tmp_path: Path) -> None:
    stem = "2026-11-30-model-a-configured-v4"
    with pytest.raises(InputError) as error:
        read_pair(Pair(tmp_path / "none", stem))
    assert str(error.value) == f"{tmp_path / 'none'}: cannot be read (No such file or directory)"
    pair = Pair(tmp_path, stem)
    with pytest.raises(InputError) as error:
        read_pair(pair)
    assert str(error.value) == f"{pair.runs}: cannot be read (No such file or directory)"


@pytest.fixture(scope="module")
def public(whole: PairFiles) -> list[dict[str, object]]:
    return [loads(line) for line in whole.runs.decode().splitlines()]


def test_a_forbidden_name_is_found_in_a_list_of_objects_too(public: list[dict[str, object]]) -> None:
    first = {**public[0], "notes": ["text", {"API-Key": "x"}]}
    with pytest.raises(RefusedError) as error:
        validate_public_records([first], policy_json(2))
    assert str(error.value) == "records[0]: holds the forbidden field 'API-Key'"


def test_an_ungrounded_selection_has_to_be_there() -> None:
    """`missing_tool_id` without a selection is what a run writes; the other reason needs one."""
    records = sanitize_records(private_run(), policy_json(2), task_set().raw, key=KEY)
    missing = next(r for r in records if r.get("error", {}).get("reason_code") == "missing_tool_id")
    check_public_records([missing], policy(2))
    missing["error"]["reason_code"] = "ungrounded_tool_id"
    with pytest.raises(RefusedError) as error:
        check_public_records([missing], policy(2))
    assert str(error.value) == "records[0].selection: is missing although the reason is ungrounded_tool_id"


def test_a_selection_out_of_no_results_is_refused() -> None:
    records = sanitize_records(private_run(), policy_json(2), task_set().raw, key=KEY)
    found = next(r for r in records if r["status"] == "failed" and r["discovery"]["selection_grounded"])
    found["discovery"] |= {"result_count": 0, "snapshot_sha256": EMPTY_SNAPSHOT}
    with pytest.raises(RefusedError) as error:
        check_public_records([found], policy(2))
    assert str(error.value) == "records[0].discovery.selection_grounded: is true without results"


@pytest.mark.parametrize("value", [5, None, "text", []])
def test_a_public_record_is_an_object(value: object) -> None:
    with pytest.raises(RefusedError) as error:
        validate_public_records([value], policy_json(2))
    assert str(error.value) == "records[0]: must be a JSON object"


def test_more_results_than_the_limit_allows_are_refused(public: list[dict[str, object]]) -> None:
    first = {**public[0], "metadata": {**public[0]["metadata"], "discovery_limit": 1}}  # type: ignore[dict-item]
    with pytest.raises(RefusedError) as error:
        check_public_records([first], policy(2))
    assert str(error.value) == "records[0].discovery.result_count: is above the discovery limit of 1"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sandbox://embedded", True),
        ("http://127.0.0.1:8765/api/v1", True),
        ("http://[::1]:8765/api/v1", True),
        ("http://LOCALHOST:8765/api/v1", False),  # not in normal form
        ("https://qveris.ai/api/v1", False),
        ("http://", False),
        (None, False),
    ],
)
def test_a_rehearsal_is_known_by_its_url(url: object, expected: bool) -> None:
    assert is_rehearsal_url(url) is expected


@pytest.mark.parametrize("tool_id", [5, ["a"], True])
def test_a_private_record_selects_by_text_or_not_at_all(tool_id: object) -> None:
    records = private_run()
    records[1]["selection"]["tool_id"] = tool_id
    with pytest.raises(RefusedError) as error:
        sanitize_records(records, policy_json(2), task_set().raw, key=KEY)
    assert str(error.value) == "records[1].selection.tool_id: must be a string or null"
