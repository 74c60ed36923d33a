"""What each command prints as JSON is what its schema says."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.publication.runs import ROOT
from tests.support.bench import Bench, Done
from tests.support.output_schemas import checked, validator

STEM = ROOT / "results" / "2026-11-30-reference-rehearsal-v4"
SANDBOX = ["--sandbox", "--model", "m", "--lane", "configured-model", "--adapter", "first-result"]
Command = Callable[..., Done]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("adapters", ["adapters"]),
        ("adapter-revision", ["adapters", "--revision", "first-result"]),
        ("doctor", ["doctor", "reference", "first-result"]),
        ("plan", ["run", *SANDBOX, "--plan-only", "--output", "x.jsonl"]),
        ("validate", ["validate", "--tasks", ROOT / "tasks" / "v1.jsonl"]),
        ("compare", ["compare", STEM, STEM]),
        ("summary", ["score", "--tasks", ROOT / "tasks" / "v4.jsonl", "--runs", f"{STEM}.runs.jsonl"]),
        ("gateway-find", ["gateway", "find", "track a parcel by number"]),
        ("gateway-find", ["gateway", "find", "send an email to Ana with the minutes"]),
        ("gateway-find", ["gateway", "find", "apply for a mortgage of 200,000 euros"]),
        ("gateway-describe", ["gateway", "describe", "parcelwise.track_parcel"]),
        ("gateway-call", ["gateway", "call", "stripe.get_balance"]),
        ("gateway-list", ["gateway", "list"]),
    ],
)
def test_an_output_fits_its_schema(command: Command, schema: str, words: list[object]) -> None:
    done = command(*words, "--format", "json")
    assert done.code == 0, done.err
    checked(schema, done.out)


@pytest.mark.parametrize(
    "words",
    [
        ["describe", "no.such_tool"],
        ["call", "no.such_tool"],
        ["call", "parcelwise.track_parcel", "--json", '{"number": 5}'],
        ["call", "parcelwise.track_parcel", "--json", "[]"],
    ],
)
def test_a_failure_of_the_gateway_fits_its_schema(command: Command, words: list[str]) -> None:
    done = command("gateway", *words, "--format", "json")
    assert done.code == 1
    checked("gateway-failure", done.out)


def test_a_ledger_fits_its_schema(command: Command, bench: Bench) -> None:
    assert bench.run().code == 0
    checked("ledger", command("ledger", bench.output, "--format", "json").out)


def test_a_member_that_is_missing_or_of_another_type_is_no_output(command: Command) -> None:
    document = json.loads(command("gateway", "list", "--format", "json").out)
    assert validator("gateway-list").is_valid(document)
    document["catalogStats"]["staleTools"] = "none"
    assert not validator("gateway-list").is_valid(document)
    del document["catalogStats"]
    assert not validator("gateway-list").is_valid(document)
