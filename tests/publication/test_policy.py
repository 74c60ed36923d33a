"""Publication policies of both versions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from discovercall import validate_policy
from discovercall.foundation.errors import InputError
from discovercall.publication.policy import PROTECTED_FIELDS, load_policy, plain_name, read_policy
from tests.publication.runs import ROOT, policy_json


@pytest.mark.parametrize("version", [1, 2])
def test_both_versions_are_read(version: int) -> None:
    policy = read_policy(policy_json(version))
    assert (policy.version, policy.keyed) == (version, version == 2)
    assert "apikey" in policy.forbidden


CHANGES: list[tuple[str, Any]] = [
    ("schema_version", 3),
    ("schema_version", True),
    ("policy_id", ""),
    ("policy_id", "p" * 129),
    ("policy_id", "p\u200b"),
    ("catalog_visibility_default", "public"),
    ("publish_parameters", True),
    ("publish_parameters", 0),
    ("unapproved_selected_tool_handling", "omit"),
    ("approved_api_base_urls", []),
    ("approved_api_base_urls", ["http://127.0.0.1/api"]),
    ("approved_api_base_urls", ["https://key@host/api"]),
    ("approved_api_base_urls", ["https://host/api?key=1"]),
    ("approved_selected_tool_ids", ["t" * 513]),
    ("approved_selected_tool_ids", [" "]),
    ("approved_selected_tool_ids", "all"),
    ("forbidden_fields", "all"),
    ("legacy_lane_rewrites", None),
    ("legacy_lane_rewrites", {"oracle": "best"}),
    ("legacy_lane_rewrites", []),
]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("field", "value"), CHANGES)
def test_a_broken_rule_is_named_by_its_field(version: int, field: str, value: Any) -> None:
    with pytest.raises(InputError) as error:
        validate_policy(policy_json(version, **{field: value}))
    assert field in str(error.value)


@pytest.mark.parametrize("name", PROTECTED_FIELDS)
def test_every_protected_field_must_be_forbidden(name: str) -> None:
    names = [other for other in PROTECTED_FIELDS if other != name]
    with pytest.raises(InputError, match=f"must contain {name}"):
        validate_policy(policy_json(2, forbidden_fields=names))
    validate_policy(policy_json(2, forbidden_fields=[*names, name.upper().replace("_", "-")]))


def test_field_names_are_compared_without_case_and_punctuation() -> None:
    assert {plain_name(n) for n in ("Session-ID", "session_id", "sessionId", " SESSION id")} == {"sessionid"}


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


@pytest.mark.parametrize("value", [None, [], "x", 1])
def test_what_is_no_object_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match="must be a JSON object"):
        validate_policy(value)


def test_files_that_are_no_json_are_refused_by_name(tmp_path: Any) -> None:
    path = tmp_path / "policy.json"
    with pytest.raises(InputError, match=r"policy\.json.*can"):
        load_policy(path)
    path.write_text("{")
    with pytest.raises(InputError, match="not valid JSON"):
        load_policy(path)


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
