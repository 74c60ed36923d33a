"""The measuring job before its first request: what it would run, and what it refuses to start."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from discovercall.cadence.measure import Workplace, prepare, run_options, uses_stand_in
from discovercall.cadence.plan import CadencePlan
from discovercall.foundation.errors import DiscovercallError, InputError, RefusedError
from discovercall.foundation.revision import ToolkitRevision


@pytest.fixture
def place(plan: CadencePlan, tmp_path: Path) -> Workplace:
    """A job with a `codex` of the pinned version on PATH, and both keys."""
    programs = tmp_path / "bin"
    programs.mkdir()
    version = plan.inputs.config.configured_model.cli_version
    (programs / "codex").write_text(f"#!/bin/sh\necho codex-cli {version}\n")
    (programs / "codex").chmod(0o755)
    return Workplace(
        private=tmp_path / "private",
        bundle=tmp_path / "bundle",
        environment={
            "PATH": f"{programs}:{os.environ['PATH']}",
            "QVERIS_API_KEY": "catalog-key",
            "CODEX_API_KEY": "model-key",
            "GITHUB_SHA": "f" * 40,
        },
        installed=ToolkitRevision(plan.toolkit_revision, "build", dirty=False),
    )


def without(place: Workplace, name: str) -> Workplace:
    return replace(place, environment={n: v for n, v in place.environment.items() if n != name})


def test_a_real_run_takes_the_configured_model_and_the_plans_bound(
    plan: CadencePlan, place: Workplace
) -> None:
    real = replace(plan, rehearsal=False)
    prepared, options = prepare(real, place)
    reference, configured = prepared.plan.lanes
    model = real.inputs.config.configured_model
    assert (reference.lane, reference.model) == ("reference", "reference-v1")
    assert (configured.lane, configured.model) == ("configured-model", model.model)
    assert configured.adapter_revision == (
        f"{real.toolkit_revision}/codex-{model.cli_version}/{model.reasoning_effort}"
    )
    assert prepared.plan.max_billed_calls == real.most_billed_calls == 12
    assert prepared.plan.execute
    assert not options.sandbox
    assert prepared.plan.toolkit_revision == real.release_sha  # not GITHUB_SHA, which is the workflow's
    assert "catalog-key" not in str(prepared.environments)


@pytest.mark.parametrize(("name", "stands_in"), [("", False), ("CODEX_API_KEY", True)])
def test_first_result_stands_in_where_a_rehearsal_has_no_model_key(
    plan: CadencePlan, place: Workplace, name: str, stands_in: bool
) -> None:
    where = without(place, name)
    assert uses_stand_in(plan, where.environment) is stands_in
    assert uses_stand_in(replace(plan, rehearsal=False), where.environment) is False
    expected = "first-result" if stands_in else "codex-cli"
    assert run_options(plan, where).lanes[1].adapter == expected
    assert prepare(plan, where)[0].base_url == "sandbox://embedded"


def test_another_version_of_the_program_is_refused(
    plan: CadencePlan, place: Workplace, tmp_path: Path
) -> None:
    (tmp_path / "bin" / "codex").write_text("#!/bin/sh\necho codex-cli 9.9.9\n")
    with pytest.raises(DiscovercallError, match=r"9\.9\.9"):
        prepare(replace(plan, rehearsal=False), place)


def test_an_api_that_the_policy_does_not_approve_is_refused(plan: CadencePlan, place: Workplace) -> None:
    elsewhere = replace(plan, rehearsal=False, catalog_url="https://api.example.com/v1")
    with pytest.raises(RefusedError, match="not approved"):
        prepare(elsewhere, place)


def test_raw_records_stay_outside_the_checkout(plan: CadencePlan, place: Workplace) -> None:
    inside = replace(place, private=plan.inputs.root / "runs")
    with pytest.raises(InputError, match="inside the checkout"):
        prepare(plan, inside)
    assert not inside.private.exists()


@pytest.mark.parametrize("name", ["private", "bundle"])
def test_folders_that_can_not_be_written_are_told_before(
    plan: CadencePlan, place: Workplace, tmp_path: Path, name: str
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written to"):
        prepare(plan, replace(place, **{name: tmp_path / "file" / "folder"}))  # type: ignore[arg-type]


def test_a_bundle_is_new(plan: CadencePlan, place: Workplace) -> None:
    place.bundle.mkdir()
    (place.bundle / "x").touch()
    with pytest.raises(InputError, match="isn't empty"):
        prepare(plan, place)
