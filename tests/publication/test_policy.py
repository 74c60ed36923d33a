"""Publication policies of both versions."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from discovercall import validate_policy
from discovercall.foundation.errors import InputError
from discovercall.publication.policy import (
    FILE_LIMIT,
    PROTECTED_FIELDS,
    Policy,
    _spelled_freely,
    is_loopback_url,
    is_rehearsal_url,
    load_policy,
    plain_name,
    read_policy,
)
from tests.publication.runs import ROOT, policy_json


@pytest.mark.parametrize("version", [1, 2])
def test_both_versions_are_read(version: int) -> None:
    policy = read_policy(policy_json(version))
    assert (policy.version, policy.keyed) == (version, version == 2)
    assert "apikey" in policy.forbidden


SAFE_ID = "must be 1 to 128 safe characters"
TOOL = "must be a string of 1 to 512 characters, not blank, without control or format characters"
LANES = "should be 'reference', 'configured-model', 'pinned-model', 'current-model' or 'model'"
CHANGES: list[tuple[str, Any, str]] = [
    ("schema_version", 3, ": must be 1 or 2"),
    ("schema_version", True, ": must be 1 or 2"),
    ("policy_id", "", f": {SAFE_ID}"),
    ("policy_id", "p" * 129, f": {SAFE_ID}"),
    ("policy_id", "p\u200b", f": {SAFE_ID}"),
    ("catalog_visibility_default", "public", ": should be 'private'"),
    ("publish_parameters", True, ": must be false"),
    ("publish_parameters", 0, ": must be false"),
    ("approved_api_base_urls", [], ": should have at least 1 item, not 0"),
    ("approved_api_base_urls", ["http://127.0.0.1/api"], "[0]: must be an https base URL"),
    (
        "approved_api_base_urls",
        ["https://key@host/api"],
        "[0]: must be an https base URL (not usable as a base URL: it has credentials)",
    ),
    (
        "approved_api_base_urls",
        ["https://host", "https://host/api?key=1"],
        "[1]: must be an https base URL (not usable as a base URL: it has a query or a fragment)",
    ),
    ("approved_selected_tool_ids", ["t" * 513], f"[0]: {TOOL}"),
    ("approved_selected_tool_ids", [" "], f"[0]: {TOOL}"),
    ("approved_selected_tool_ids", "all", ": should be a valid list"),
    ("forbidden_fields", "all", ": must be a list of field names"),
    ("forbidden_fields", [*PROTECTED_FIELDS, 5], ": must be a list of field names"),
    ("forbidden_fields", [*PROTECTED_FIELDS[2:]], ": must contain execution_id, search_id"),
    ("legacy_lane_rewrites", None, ": must be a JSON object"),
    ("legacy_lane_rewrites", {"oracle": "best"}, f".oracle: {LANES}"),
    ("legacy_lane_rewrites", [], ": must be a JSON object"),
]


def refusal(value: Any) -> str:
    """What is said of a policy that is none."""
    with pytest.raises(InputError) as error:
        validate_policy(value)
    return str(error.value)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("field", "value", "said"), CHANGES)
def test_a_broken_rule_is_named_by_its_field(version: int, field: str, value: Any, said: str) -> None:
    assert refusal(policy_json(version, **{field: value})) == f"policy: {field}{said}"


@pytest.mark.parametrize(("version", "handling"), [(1, "hash"), (2, "hmac")])
def test_each_version_has_its_own_digests(version: int, handling: str) -> None:
    for other in {"hash", "hmac", "omit"} - {handling}:
        said = refusal(policy_json(version, unapproved_selected_tool_handling=other))
        assert said == f"policy: unapproved_selected_tool_handling: should be '{handling}'"


@pytest.mark.parametrize("version", [1, 2])
def test_what_a_policy_says_is_taken_over(version: int) -> None:
    names = [*PROTECTED_FIELDS, "Trace-Id"]
    found = read_policy(
        policy_json(
            version,
            policy_id="p" * 128,
            approved_api_base_urls=["https://host/api/"],
            approved_selected_tool_ids=["a.tool"],
            forbidden_fields=names,
            legacy_lane_rewrites={"oracle": "reference"},
        )
    )
    assert found == Policy(
        version=version,
        policy_id="p" * 128,
        approved_urls=frozenset({"https://host/api"}),
        approved_tools=frozenset({"a.tool"}),
        forbidden=frozenset({name.replace("_", "") for name in PROTECTED_FIELDS} | {"traceid"}),
        lane_rewrites={"oracle": "reference"},
    )


def test_a_policy_without_rewrites_has_none() -> None:
    for version in (1, 2):
        policy = policy_json(version)
        policy.pop("legacy_lane_rewrites", None)
        assert read_policy(policy).lane_rewrites == {}


def test_errors_name_the_policy_by_where_it_is_from() -> None:
    with pytest.raises(InputError) as error:
        read_policy([], "my policy")
    assert str(error.value) == "my policy: must be a JSON object"
    with pytest.raises(InputError) as error:
        read_policy({}, "my policy")
    assert str(error.value) == "my policy: schema_version: must be 1 or 2"
    with pytest.raises(InputError) as error:
        read_policy(policy_json(2, value_scan=False), "my policy")
    assert str(error.value) == "my policy: value_scan: must be true"
    with pytest.raises(InputError) as error:
        read_policy(policy_json(1, publish_parameters=True), "my policy")
    assert str(error.value) == "my policy: publish_parameters: must be false"


@pytest.mark.parametrize("name", PROTECTED_FIELDS)
def test_every_protected_field_must_be_forbidden(name: str) -> None:
    names = [other for other in PROTECTED_FIELDS if other != name]
    assert refusal(policy_json(2, forbidden_fields=names)) == f"policy: forbidden_fields: must contain {name}"
    validate_policy(policy_json(2, forbidden_fields=[*names, name.upper().replace("_", "-")]))


def test_field_names_are_compared_without_case_and_punctuation() -> None:
    assert {plain_name(n) for n in ("Session-ID", "session_id", "sessionId", " SESSION id")} == {"sessionid"}
    assert plain_name("Ä" * 200 + "-B_2") == plain_name("B2") == "b2"


@pytest.mark.parametrize("name", ["api_key", "parameters"])
def test_a_schema_finds_a_field_name_however_it_is_spelled(name: str) -> None:
    pattern = re.compile(_spelled_freely(name))
    bare = name.replace("_", "")
    for spelled in (name, name.upper(), name.title(), bare, f"-{name}-", " ".join(name), bare.swapcase()):
        assert pattern.search(spelled), spelled
    inside = f"{name[:3]}X{name[3:]}"
    for other in (name[:-1], f"{name}s", f"x{name}", f"X{name}", inside, name.replace("a", "b"), ""):
        assert not pattern.search(other), other


@pytest.mark.parametrize(
    "changes",
    [{"unapproved_selected_tool_handling": "hash"}, {"value_scan": False}, {"note": "x"}],
)
def test_version_2_knows_keyed_digests_and_the_scan_only(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        validate_policy(policy_json(2, **changes))


def test_only_version_2_may_approve_the_sandbox() -> None:
    urls = ["https://qveris.ai/api/v1", "sandbox://embedded"]
    validate_policy(policy_json(2, approved_api_base_urls=urls))
    with pytest.raises(InputError, match="approved_api_base_urls"):
        validate_policy(policy_json(1, approved_api_base_urls=urls))


def test_an_approved_url_counts_in_its_normal_form() -> None:
    policy = read_policy(policy_json(2, approved_api_base_urls=["HTTPS://Host.example:443/a/../b/"]))
    assert policy.approves_url("https://host.example/b", rehearsal=False)
    assert not policy.approves_url("https://host.example/b/", rehearsal=False)
    assert not policy.approves_url("http://127.0.0.1:9/b", rehearsal=False)
    assert policy.approves_url("http://127.0.0.1:9/b", rehearsal=True)
    assert not policy.approves_url("http://127.0.0.2:9/b", rehearsal=True)
    assert not policy.approves_url(None, rehearsal=True)


@pytest.mark.parametrize(
    ("url", "loopback", "rehearsal"),
    [
        ("http://localhost:9/api", True, True),
        ("http://127.0.0.1", True, True),
        ("https://[::1]:8/x", True, True),
        ("http://localhost/", False, False),  # not the normal form
        ("https://host", False, False),
        ("no url", False, False),
        ("sandbox://embedded", False, True),
        (None, False, False),
        (5, False, False),
    ],
)
def test_which_urls_make_a_rehearsal(url: Any, loopback: bool, rehearsal: bool) -> None:
    assert is_loopback_url(url) is loopback
    assert is_rehearsal_url(url) is rehearsal


@pytest.mark.parametrize("value", [None, [], "x", 1])
def test_what_is_no_object_is_refused(value: Any) -> None:
    assert refusal(value) == "policy: must be a JSON object"


def test_files_that_are_no_json_are_refused_by_name(tmp_path: Any) -> None:
    path = tmp_path / "policy.json"
    with pytest.raises(InputError) as error:
        load_policy(path)
    assert str(error.value) == f"{path}: cannot be read (No such file or directory)"
    path.write_text("{")
    with pytest.raises(InputError) as error:
        load_policy(path)
    assert str(error.value).startswith(f"{path}:1: not valid JSON (")
    path.write_text("[]")
    with pytest.raises(InputError) as error:
        load_policy(path)
    assert str(error.value) == f"{path}: must be a JSON object"


def test_a_policy_file_has_a_largest_size(tmp_path: Any) -> None:
    path = tmp_path / "policy.json"
    text = json.dumps(policy_json(2))
    path.write_text(text + " " * (FILE_LIMIT - len(text.encode())))
    assert load_policy(path).version == 2
    with path.open("a") as file:
        file.write(" ")
    with pytest.raises(InputError) as error:
        load_policy(path)
    assert str(error.value).startswith(f"{path}: cannot be read (")


def test_a_name_twice_in_one_object_is_refused_for_a_reviewer_may_see_the_other(tmp_path: Any) -> None:
    path = tmp_path / "policy.json"
    text = json.dumps(policy_json(2) | {"legacy_lane_rewrites": {"a": "model"}})
    path.write_text(text)
    assert load_policy(path).lane_rewrites == {"a": "model"}
    for once, twice in (
        ('"policy_id":', '"policy_id": "another", "policy_id":'),
        ('"a": "model"', '"a": "reference", "\\u0061": "model"'),
    ):
        path.write_text(text.replace(once, twice))
        with pytest.raises(InputError, match="twice in one object"):
            load_policy(path)
    path.write_text(text.replace('"a": "model"', '"a": ' + "[" * 5000 + "]" * 5000))
    with pytest.raises(InputError, match="nested too deeply"):
        load_policy(path)


def test_the_repositorys_policy_approves_what_the_reference_lane_may_select() -> None:
    policy = load_policy(ROOT / "publication-policy.json")
    lines = (ROOT / "tasks" / "v4.jsonl").read_text("utf-8").splitlines()
    candidates = [
        c for line in lines for c in (json.loads(line).get("reference") or {"candidates": []})["candidates"]
    ]
    assert {candidate["tool_id"] for candidate in candidates} <= policy.approved_tools
