"""Nothing that is proposed holds a secret or a forbidden field."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discovercall.cadence.bundle import read_bundle
from discovercall.cadence.document import RunFacts
from discovercall.cadence.evidence import Results
from discovercall.cadence.plan import CadencePlan
from discovercall.cadence.proposal import check_publishable, make_proposal, results_of_bundle
from discovercall.foundation.errors import RefusedError

SECRET = "correct-horse-battery-staple"


@pytest.fixture(scope="module")
def results(measured: Path, plan: CadencePlan) -> Results:
    return results_of_bundle(read_bundle(measured / "bundle"), plan)


def facts(plan: CadencePlan, **more: Any) -> RunFacts:
    return RunFacts(plan.release_sha, plan.date, "v99", plan.branch, **{"plan_digest": plan.digest, **more})


def test_a_clean_proposal_passes(results: Results, plan: CadencePlan) -> None:
    assert make_proposal(results, plan, facts(plan), secrets=[SECRET]).files


@pytest.mark.parametrize("text", [SECRET, "ghp_" + "a1B2" * 9, "sk-proj-" + "Ab1" * 16])
@pytest.mark.parametrize("place", ["section", "title", "body", "message"])
def test_a_secret_anywhere_is_refused(results: Results, plan: CadencePlan, text: str, place: str) -> None:
    proposal = make_proposal(results, plan, facts(plan), secrets=[])
    if place == "section":
        changed = replace(proposal, files={**proposal.files, "results/x.md": f"see {text} here"})
    else:
        changed = replace(proposal, **{place: f"see {text} here"})  # type: ignore[arg-type]
    with pytest.raises(RefusedError) as refusal:
        check_publishable(changed, results, plan.inputs.policy, [SECRET])
    assert text not in str(refusal.value)


@pytest.mark.parametrize("name", ["session_id", "Session-ID", "apiKey", "parameters"])
def test_a_forbidden_field_is_refused_at_any_depth(results: Results, plan: CadencePlan, name: str) -> None:
    proposal = make_proposal(results, plan, facts(plan), secrets=[])
    records = [{**results.configured.records[0], "call": {"x": [{name: 1}]}}]
    changed = replace(results, configured=replace(results.configured, records=records))
    with pytest.raises(RefusedError, match="forbidden field"):
        check_publishable(proposal, changed, plan.inputs.policy, [])
