"""Nothing that the API answers makes a run unpublishable: real requests to an API that answers anything."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discovercall.contract.journal import Journal
from discovercall.contract.record import settle
from discovercall.contract.runner import Runner, RunState, Surroundings
from discovercall.contract.spend import Spend
from discovercall.foundation.redaction import Redactor
from discovercall.publication.pair import Pair
from discovercall.publication.publishing import prepare_pair
from discovercall.publication.verification import verify_pair
from tests.capability.loopback import Reply, Seen, serving
from tests.publication.runs import APPROVED, GENERATED_AT, KEY, plan, policy, task_set

pytestmark = [pytest.mark.slow, pytest.mark.part("whatever an API answers can be published")]

TASK_SET = replace(task_set(), tasks=task_set().tasks[:1])
STEM = "2026-11-30-x-rehearsal-v4"
GITHUB = "gh" + "p_" + "a1B2" * 9

texts = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["\ud800", "\x00", "x" * 5000, "\u202e", " ", "__proto__", "constructor", GITHUB, APPROVED]
    ),
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), texts, st.sampled_from([2**63, 10**400, 1e308])
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=8,
)
definitions = st.fixed_dictionaries(
    {},
    optional={
        "name": st.one_of(texts, st.just("location")),
        "type": st.one_of(scalars, st.sampled_from(["string", "object", "array", "number"])),
        "required": values,
        "enum": values,
        "items": values,
        "properties": values,
    },
)
tools = st.one_of(
    values,
    st.fixed_dictionaries(
        {
            "tool_id": st.sampled_from(
                [APPROVED, f" {APPROVED}", "hidden.tool", "\ud800", "t" * 3000, "\u200b", GITHUB]
            )
        },
        optional={
            "params": st.one_of(values, st.lists(definitions, max_size=3)),
            "one_of_required": values,
            "x": values,
        },
    ),
)
listings = st.one_of(
    values,
    st.fixed_dictionaries(
        {
            "search_id": st.one_of(st.just("s-1"), values),
            "results": st.one_of(st.lists(tools, max_size=14), values),
        },
        optional={"data": values, "status": values, "message": values},
    ),
)
calls = st.one_of(
    values,
    st.fixed_dictionaries(
        {"success": st.one_of(st.just(True), values)},
        optional={"result": values, "data": values, "cost": values},
    ),
)
HUGE = [
    b"[" * 100_000 + b"]" * 100_000,
    b'{"success":true,"result":' + b'{"data":' * 50_000 + b"1" + b"}" * 50_000 + b"}",
    json.dumps({"success": True, "result": {f"k{n}": n for n in range(50_000)}}).encode(),
    json.dumps({"search_id": "s", "results": [{"tool_id": f"t{n}"} for n in range(20_000)]}).encode(),
    json.dumps(
        {
            "search_id": "s",
            "results": [
                {
                    "tool_id": APPROVED,
                    "params": [{"name": f"p{n}", "type": "string", "required": True} for n in range(3_000)],
                }
            ],
        }
    ).encode(),
    b'{"search_id":"s","results":[{"tool_id":"'
    + APPROVED.encode()
    + b'","params":'
    + b'[{"name":"p","type":"array","required":true,"items":' * 3_000
    + b"{}"
    + b"}]" * 3_000
    + b"}]}",
    b"\xff\xfe",
    b"",
]
bodies = st.one_of(listings, calls).map(lambda value: json.dumps(value).encode())
revisions = st.one_of(
    st.none(),
    st.sampled_from(
        [
            "2026-11-01",
            "x" * 300,
            GITHUB,
            "pending",
            "mixed:",
            "mixed:a,b",
            "unreported",
            "\xad\xa0",
            "a,b",
            "\x7f",
            " ",
        ]
    ),
    st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=40),
)


def good(what: str) -> bytes:
    """An answer that lets the trial go on."""
    tool = {"tool_id": APPROVED, "params": [{"name": "location", "type": "string", "required": True}]}
    if what == "execute":
        return json.dumps({"success": True, "result": {"data": 1}}).encode()
    return json.dumps({"search_id": "s-1", "results": [tool]}).encode()


async def decide(request: dict[str, Any]) -> Any:
    if request["stage"] == "select":
        results = request["input"]["discovery"]["results"]
        ids = [r.get("tool_id") for r in results if isinstance(r, dict)]
        return {"tool_id": ids[0] if ids else None}
    names = request["response_schema"]["properties"]["parameters"]["properties"]
    return {"parameters": dict.fromkeys(names, "London"), "usage": {"prompt_tokens": 5}}


class Silent:
    """An observer that says nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments, **named: None


async def run(
    folder: Path, reply: Callable[[Seen], Reply], clock: Callable[[], float] = lambda: 1_790_000_000.0
) -> list[dict[str, Any]]:
    """A whole run of three trials against the API; its settled private records."""
    async with serving(reply) as api, api.client() as client:
        run_plan = plan(
            task_set=TASK_SET,
            api_base_url=api.base_url,
            journal=folder / f"{time.monotonic_ns()}.journal.jsonl",
        )
        journal = Journal.create(run_plan.journal, run_plan.header(), run_plan.limits(), run_plan.digest)
        ids = iter(f"id-{number}" for number in range(100))
        surroundings = Surroundings(
            client=client,
            decide=[decide],
            new_id=lambda: next(ids),
            clock=clock,
            runtime={"python": "3.11.7", "platform": "linux", "arch": "x86_64"},
            isolation="none",
            redact=Redactor(),
            observer=Silent(),
        )
        runner = Runner(run_plan, surroundings, journal, RunState(Spend(99)), 1)
        await runner.run()
        records = runner.lane_records(0)
        seen = client.revisions
        return settle(records, api_revision=seen.api_revision, catalog_revision=seen.catalog_revision)


def publish(folder: Path, records: list[dict[str, Any]]) -> None:
    """Publish records as a rehearsal, for the API was on loopback, and verify the pair."""
    files = prepare_pair(
        Pair(folder, STEM),
        records,
        policy(2),
        TASK_SET,
        key=KEY,
        secrets=["catalog-key"],
        generated_at=GENERATED_AT,
    )
    verified = verify_pair(files, policy(2), TASK_SET)
    assert verified.rehearsal
    assert not verified.differences


cases = {
    "where": st.sampled_from(["search", "by-ids", "execute", "all"]),
    "answers": st.lists(bodies, min_size=1, max_size=3),
    "api_revision": revisions,
    "catalog_revision": revisions,
    "status": st.sampled_from([200, 200, 200, 302, 400, 418, 500]),
}
unhurried = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@settings(unhurried, max_examples=12)
@given(**cases)
def test_no_answer_makes_a_run_unpublishable(tmp_path: Path, **case: Any) -> None:
    check(tmp_path, **case)


@pytest.mark.slow
@settings(unhurried, max_examples=500)
@given(**cases)
def test_no_answer_of_many_makes_a_run_unpublishable(tmp_path: Path, **case: Any) -> None:
    check(tmp_path, **case)


@pytest.mark.parametrize("number", range(len(HUGE)))
def test_no_huge_answer_makes_a_run_unpublishable(tmp_path: Path, number: int) -> None:
    check(tmp_path, "all", [HUGE[number]], None, None, 200)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["search", "by-ids", "execute"])
@pytest.mark.parametrize("number", range(len(HUGE)))
def test_no_huge_answer_at_one_step_makes_a_run_unpublishable(
    tmp_path: Path, where: str, number: int
) -> None:
    check(tmp_path, where, [HUGE[number]], None, None, 200)


def check(
    folder: Path, where: str, answers: list[bytes], api_revision: Any, catalog_revision: Any, status: int
) -> None:
    headers = [("x-qveris-api-version", api_revision), ("x-qveris-catalog-version", catalog_revision)]
    sent = tuple((name, value) for name, value in headers if value is not None)
    count = 0

    def reply(request: Seen) -> Reply:
        nonlocal count
        what = request.target.split("?")[0].rsplit("/", 1)[1]
        if where not in (what, "all"):
            return Reply(good(what), headers=sent)
        count += 1
        return Reply(answers[count % len(answers)], status=status, headers=sent)

    publish(folder, asyncio.run(run(folder, reply)))
