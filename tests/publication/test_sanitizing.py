"""From private records to public ones: a projection, and nothing that the API says can stop it."""

from __future__ import annotations

import base64
import copy
import hashlib
import hmac
import json
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discovercall import sanitize_records, score_records, validate_public_records
from discovercall.contract.plan import Lane
from discovercall.contract.record import Evidence
from discovercall.foundation.errors import InputError, RefusedError
from discovercall.foundation.json_text import compact_bytes
from discovercall.foundation.jsonl import dump_lines
from tests.publication.runs import (
    APPROVED,
    KEY,
    LOOPBACK_URL,
    PRIVATE_TOOL,
    SANDBOX_URL,
    outcomes,
    plan,
    policy_json,
    private_run,
    success,
    task_set,
)

RECORD_KEYS = [
    "schema_version",
    "benchmark_version",
    "run_id",
    "model",
    "metadata",
    "task_id",
    "trial",
    "started_at",
    "status",
    "discovery",
    "selection",
    "inspection",
    "parameterization",
    "call",
    "finished_at",
    "source_record_sha256",
]


def sanitize(records: Any, version: int = 2, **options: Any) -> list[dict[str, Any]]:
    changes = options.pop("policy", {})
    options = {"key": KEY, **options} if version == 2 else options
    return sanitize_records(records, policy_json(version, **changes), task_set().raw, **options)


@pytest.mark.parametrize("version", [1, 2])
def test_every_kind_of_outcome_can_be_public_and_scores_the_same(version: int) -> None:
    private = private_run()
    public = sanitize(private, version)
    validate_public_records(public, policy_json(version))
    of_private, of_public = (score_records(task_set().raw, records) for records in (private, public))
    for (model,) in (of_private["models"], of_public["models"]):
        model["failures_by_reason"].pop("unclassified", None)  # which a private record writes as null
    assert of_public["models"] == of_private["models"]
    assert len(of_public["models"][0]["failures_by_stage"]) >= 8
    assert 0 < of_public["models"][0]["workflow_success_rate"] < 1


def test_the_fields_and_their_order_are_the_contracts() -> None:
    first = sanitize(private_run(), 1)[0]
    assert list(first) == RECORD_KEYS
    assert list(first["metadata"])[-1] == "publication_policy"
    failed = sanitize(private_run(), 1)[5]
    assert list(failed) == [*RECORD_KEYS[:14], "error", *RECORD_KEYS[14:]]
    assert list(failed["error"]) == ["stage", "reason_code"]
    assert list(sanitize(private_run(), 2)[0]) == [*RECORD_KEYS, "durations_ms", "usage"]


def test_plain_digests_are_those_that_anybody_can_compute() -> None:
    private = private_run()
    public = sanitize(private, 1)
    assert public[1]["selection"] == {
        "tool_id": None,
        "tool_id_sha256": hashlib.sha256(PRIVATE_TOOL.encode()).hexdigest(),
    }
    assert public[1]["source_record_sha256"] == hashlib.sha256(compact_bytes(private[1])).hexdigest()


def test_keyed_digests_depend_on_the_key_and_agree_between_lanes() -> None:
    lane = Lane("current-model", "model-b", "unreported", "b", ("b",), plan().lanes[0].output)
    ours, theirs = sanitize(private_run()), sanitize(private_run(lanes=(lane,)))
    digest = ours[1]["selection"]["tool_id_sha256"]
    assert digest == theirs[1]["selection"]["tool_id_sha256"]
    assert digest != sanitize(private_run(), key=bytes(32))[1]["selection"]["tool_id_sha256"]
    plain = hashlib.sha256(PRIVATE_TOOL.encode()).hexdigest()
    bare = hmac.new(KEY, PRIVATE_TOOL.encode(), hashlib.sha256).hexdigest()
    assert digest not in (plain, bare)  # a tool id and a record never share a digest


def test_without_a_key_every_run_has_its_own() -> None:
    one, other = (sanitize(private_run(), key=None)[1]["source_record_sha256"] for _ in range(2))
    assert one != other
    with pytest.raises(InputError, match="32 bytes"):
        sanitize(private_run(), key=b"short")


def test_only_version_2_publishes_usage_and_durations() -> None:
    private = private_run()
    public = sanitize(private)
    assert public[0]["durations_ms"] == private[0]["durations_ms"]
    assert public[0]["usage"] == {"select": {"prompt_tokens": 900, "completion_tokens": 12}}
    assert not {"usage", "durations_ms"} & set(sanitize(private, 1)[0])
    with pytest.raises(RefusedError, match=r"records\[0\]\.durations_ms"):
        validate_public_records(sanitize(private), policy_json(2) | policy_json(1))


def test_only_counts_get_out_of_usage_and_durations() -> None:
    private = private_run()
    private[0]["usage"] = {
        "select": {"prompt_tokens": -1, "note": "x", "completion_tokens": 7.0},
        "other": {},
    }
    private[0]["durations_ms"] = {"discover": True, "call": 1.5, "select": 12, "lunch": 3}
    public = sanitize(private)[0]
    assert public["usage"] == {"select": {"completion_tokens": 7}}
    assert public["durations_ms"] == {"select": 12}


def test_attestations_are_never_taken_over() -> None:
    private = private_run()
    private[8]["discovery"]["selection_grounded"] = True
    private[8]["inspection"]["selection_grounded"] = True
    private[8]["parameterization"] = {"required_parameter_accuracy": 1, "constraint_accuracy": 1}
    del private[8]["parameters"]
    public = sanitize(private)[8]
    assert public["inspection"] == {"selection_grounded": False}
    assert public["parameterization"] == {"required_parameter_accuracy": 0, "constraint_accuracy": 0}


def test_missing_evidence_scores_nothing() -> None:
    private = private_run()
    del private[0]["inspection"]["required_parameters"]
    assert sanitize(private)[0]["parameterization"]["required_parameter_accuracy"] == 0


@pytest.mark.parametrize(
    ("lane", "revision", "public"),
    [
        (None, None, "model"),
        ("oracle", None, "reference"),
        ("pinned-model", None, "configured-model"),
        ("pinned-model", "snapshot-1", "pinned-model"),
        ("current-model", None, "current-model"),
    ],
)
def test_old_lanes_are_rewritten_as_the_policy_says(lane: Any, revision: Any, public: str) -> None:
    private = private_run()
    for record in private:
        record["metadata"] |= {"lane": lane, "model_revision": revision}
    rewrites = {"oracle": "reference", "pinned-model": "configured-model"}
    found = sanitize(private, policy={"legacy_lane_rewrites": rewrites})[0]["metadata"]
    assert (found["lane"], found["model_revision"]) == (public, revision or "unreported")


def test_missing_provenance_is_unreported_and_other_keys_are_dropped() -> None:
    private = private_run()
    for record in private:
        record["metadata"] = {
            name: record["metadata"][name]
            for name in ("task_set_sha256", "api_base_url", "discovery_limit", "execute")
        } | {"hostname": "build-7", "runtime": {"uptime": 5}}
    metadata = sanitize(private)[0]["metadata"]
    assert metadata["runtime"] == {"node": "unreported", "platform": "unreported", "arch": "unreported"}
    assert metadata["toolkit_revision"] == metadata["catalog_revision"] == "unreported"
    assert "build-7" not in json.dumps(metadata)


def test_an_unsafe_reason_is_unclassified_and_messages_stay_private() -> None:
    private = private_run()
    private[5]["error"]["reason_code"] = "Bearer abc"
    assert sanitize(private)[5]["error"] == {"stage": "discover", "reason_code": "unclassified"}


def test_the_observed_catalog_must_be_that_of_the_records() -> None:
    private = private_run()
    with pytest.raises(RefusedError, match="catalog_observation_sha256"):
        sanitize(private[:-1])
    private[3]["metadata"]["catalog_observation_sha256"] = "pending"
    assert sanitize(private)[3]["metadata"] == sanitize(private)[0]["metadata"]


def test_an_interrupted_run_is_refused_for_what_is_pending() -> None:
    private = private_run(api_revision="pending")
    with pytest.raises(RefusedError, match=r"metadata\.api_revision: is still pending"):
        sanitize(private)


def test_a_url_that_is_not_approved_is_refused() -> None:
    for url in (LOOPBACK_URL, "https://elsewhere.example", None):
        private = private_run()
        private[0]["metadata"]["api_base_url"] = url
        with pytest.raises(RefusedError, match=r"records\[0\]\.metadata\.api_base_url"):
            sanitize(private)


def test_a_rehearsal_may_be_on_loopback_and_on_the_sandbox_under_version_2_only() -> None:
    loopback, sandbox = private_run(api_base_url=LOOPBACK_URL), private_run(api_base_url=SANDBOX_URL)
    assert sanitize(loopback, 1, rehearsal=True)
    assert sanitize(loopback, 2, rehearsal=True)
    assert sanitize(sandbox, 2)
    with pytest.raises(RefusedError, match="api_base_url"):
        sanitize(sandbox, 1, rehearsal=True)


def test_no_records_are_no_public_records() -> None:
    assert sanitize([]) == []


@pytest.mark.parametrize("records", [None, "x", 5, {}])
def test_what_is_no_list_is_refused(records: Any) -> None:
    with pytest.raises(RefusedError, match="list of records"):
        sanitize(records)


@pytest.mark.parametrize("record", [None, "x", 1, [], {}, {"model": "m", "trial": 1}])
def test_what_is_no_record_is_refused(record: Any) -> None:
    with pytest.raises(RefusedError, match=r"records\[0\]"):
        sanitize([record])


def test_revisions_that_the_api_chose_never_stop_a_publication() -> None:
    github = "ghp_" + "a1B2" * 9
    private = private_run(api_revision=github, catalog_revision="mixed:" + ",".join("r" * 90 for _ in "abc"))
    metadata = sanitize(private)[0]["metadata"]
    assert (metadata["api_revision"], metadata["catalog_revision"]) == ("invalid", "mixed:many")
    secret = "correct-horse-battery"
    private = private_run(catalog_revision=base64.b64encode(secret.encode()).decode())
    assert sanitize(private, secrets=[secret])[0]["metadata"]["catalog_revision"] == "invalid"


def test_provenance_that_the_user_chose_is_refused_where_it_holds_a_secret() -> None:
    private = private_run()
    for record in private:
        record["metadata"]["adapter_revision"] = "build sk-proj-" + "Ab1" * 12
    with pytest.raises(RefusedError) as error:
        sanitize(private)
    assert "records[0].metadata.adapter_revision" in str(error.value)
    assert "Ab1Ab1" not in str(error.value)
    assert sanitize(private, 1)  # version 1 has no scan for shapes
    with pytest.raises(RefusedError, match="a secret of this run"):
        sanitize(private, 1, secrets=["sk-proj-" + "Ab1" * 12])


# Marked alphabets: no character of one occurs in anything that is public by right.
MARKS = "ЖШЩЪЫЬЭЮЯФЦЧ" + "жшщъыьэюяфцч"
marked = st.text(MARKS, min_size=12, max_size=40)


def pieces(text: str, size: int = 8) -> set[str]:
    return {text[at : at + size] for at in range(len(text) - size + 1)}


def forms(text: str) -> set[str]:
    """A marked text as it could get out: whole, cased, cut, encoded."""
    raw = text.encode()
    shapes = [text, text.upper(), text.lower(), text[2:], text[:-3], quote(text), raw.hex(), json.dumps(text)]
    shapes += [base64.b64encode(b"\0" * pad + raw).decode() for pad in range(3)]
    return set(shapes)


@st.composite
def marked_runs(draw: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """A run whose private texts are all marked, and these texts."""
    texts = draw(st.lists(marked, min_size=5, max_size=5, unique=True))
    parameter, session, search, hidden, other = texts
    value: Any = draw(st.sampled_from([parameter, parameter[:-3], parameter.upper(), quote(parameter)]))
    value = draw(st.sampled_from([value, [value], {"nested": {"deep": value}, value: 1}]))
    kinds = []
    for evidence, failure in outcomes().values():
        swap = {PRIVATE_TOOL: hidden, "other.tool": other, "made.up": hidden[:8] + other}
        evidence = replace(
            evidence,
            result_tool_ids=tuple(swap.get(t, t) for t in evidence.result_tool_ids),
            returned_tool_ids=tuple(swap.get(t, t) for t in evidence.returned_tool_ids),
            tool_id=swap.get(evidence.tool_id or "", evidence.tool_id),
            parameters={"city": value, parameter: 2} if evidence.parameters else evidence.parameters,
            required_parameters=(*evidence.required_parameters, parameter) if evidence.parameters else (),
        )
        failure = failure and replace(failure, message=f"{session} {value}")
        kinds.append((evidence, failure))
    private = private_run((kind for _ in range(2) for kind in kinds), trials=1)
    for record in private:
        record |= {"session_id": session, "search_id": search, "debug": {"api_key": texts}}
        record["metadata"] |= {"search_id": search, session: session}
        record["discovery"] |= {"search_id": search, "results": texts}
        record["call"] |= {"execution_id": session, "result": value}
    return private, texts


@settings(max_examples=20, deadline=None)
@given(marked_runs(), st.sampled_from([1, 2]))
def test_nothing_private_occurs_in_any_public_byte(
    run: tuple[list[dict[str, Any]], list[str]], version: int
) -> None:
    private, texts = run
    public = sanitize(private, version)
    validate_public_records(public, policy_json(version))
    written = dump_lines(public).decode()
    found = [p for text in texts for form in forms(text) for p in pieces(form) if p in written]
    assert not found


PUBLIC = {version: sanitize(private_run(trials=1), version) for version in (1, 2)}


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["", "metadata", "metadata.runtime", "discovery", "selection", "inspection", "call"]),
    st.sampled_from(policy_json(2)["forbidden_fields"]),
    st.sampled_from([str.upper, str.title, lambda n: n.replace("_", ""), lambda n: n.replace("_", "-")]),
    st.sampled_from([1, 2]),
)
def test_a_forbidden_field_is_refused_at_any_depth(path: str, name: str, spelled: Any, version: int) -> None:
    public = copy.deepcopy(PUBLIC[version])
    target = public[2]
    for part in path.split(".") if path else ():
        target = target[part]
    target[spelled(name)] = "value"
    with pytest.raises(RefusedError, match=r"records\[2\]"):
        validate_public_records(public, policy_json(version))


def test_lone_surrogates_are_hashed_as_encoders_write_them() -> None:
    kinds = iter([(success("\ud800bad"), None)] * 54)
    digest = sanitize(private_run(kinds), 1)[0]["selection"]["tool_id_sha256"]
    assert digest == hashlib.sha256(b"\xef\xbf\xbdbad").hexdigest()


def test_a_blank_selection_is_none() -> None:
    private = private_run(
        iter([(Evidence(result_tool_ids=(APPROVED,), tool_id=" "), outcomes()["nothing selected"][1])] * 54)
    )
    assert sanitize(private)[0]["selection"] == {"tool_id": None}
