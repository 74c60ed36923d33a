"""What would keep results from being published is told by the plan, before anything is paid."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discovercall.cadence.foresight import check_foreseeable
from discovercall.cadence.plan import CadencePlan
from discovercall.foundation.errors import DiscovercallError, InputError, RefusedError
from discovercall.publication.policy import plain_name
from tests.cadence.checkout import IMAGE, Checkout
from tests.cadence.conftest import Outcome


def with_model(plan: CadencePlan, **changes: Any) -> CadencePlan:
    config = plan.inputs.config
    model = config.configured_model.model_copy(update=changes)
    return replace(
        plan,
        rehearsal=False,
        inputs=replace(plan.inputs, config=config.model_copy(update={"configured_model": model})),
    )


def test_what_can_be_published_passes(plan: CadencePlan) -> None:
    check_foreseeable(plan, ["a-secret-of-the-job"])
    check_foreseeable(with_model(plan, model="m" * 90))
    check_foreseeable(with_model(plan, model="vendor/x-configured-release-aaaaaaaaaaaa-v9"))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"model": "m" * 120}, r"configured_model\.model"),
        ({"model": "m" * 256}, r"configured_model\.model"),
        ({"reasoning_effort": "e" * 256}, r"configured_model\.cli_version"),
        ({"cli_version": "1.2.3-" + "a" * 240}, r"configured_model\.cli_version"),
    ],
)
def test_names_too_long_for_a_public_pair_are_refused(
    plan: CadencePlan, changes: dict[str, str], field: str
) -> None:
    with pytest.raises(InputError, match=field):
        check_foreseeable(with_model(plan, **changes))


@pytest.mark.parametrize("adapter", ["reference.py", "oracle.py", "no_such.py", "codex-cli.py"])
def test_an_adapter_that_is_none_of_the_lane_is_refused(plan: CadencePlan, adapter: str) -> None:
    with pytest.raises(InputError, match=r"configured_model\.adapter"):
        check_foreseeable(with_model(plan, adapter=adapter))


def test_the_reference_lane_takes_no_models_adapter(plan: CadencePlan) -> None:
    config = plan.inputs.config
    other = config.reference.model_copy(update={"adapter": "codex_cli.py"})
    inputs = replace(plan.inputs, config=config.model_copy(update={"reference": other}))
    with pytest.raises(InputError, match=r"reference\.adapter"):
        check_foreseeable(replace(plan, inputs=inputs))


@pytest.mark.parametrize("adapter", ["openai_compatible.py", "first_result.py"])
def test_a_configured_adapter_that_has_no_version_to_hold_it_to_is_refused(
    plan: CadencePlan, adapter: str
) -> None:
    with pytest.raises(InputError, match=rf"configured_model\.adapter: {adapter} starts no model command"):
        check_foreseeable(with_model(plan, adapter=adapter))


@pytest.mark.parametrize("name", ["model", "model_revision", "reasoning_effort"])
def test_what_the_scan_would_refuse_later_is_refused_now(plan: CadencePlan, name: str) -> None:
    with pytest.raises(RefusedError, match="shaped like a key"):
        check_foreseeable(with_model(plan, **{name: "sk-proj-" + "Ab1" * 16}))
    with pytest.raises(RefusedError, match="a secret of this run") as refusal:
        check_foreseeable(with_model(plan, **{name: "hushhush-1"}), ["hushhush-1"])
    assert "hushhush" not in str(refusal.value)


@pytest.mark.parametrize("name", ["model", "Tool-ID", "toolkit_revision", "methodology", "runs"])
def test_a_policy_that_forbids_what_every_result_has_is_refused(plan: CadencePlan, name: str) -> None:
    policy = plan.inputs.policy
    forbidding = replace(policy, forbidden=policy.forbidden | {plain_name(name)})
    with pytest.raises(InputError, match="forbidden_fields"):
        check_foreseeable(replace(plan, inputs=replace(plan.inputs, policy=forbidding)))


def test_an_api_that_the_policy_does_not_approve_is_refused(plan: CadencePlan) -> None:
    elsewhere = replace(plan, rehearsal=False, catalog_url="https://api.example.com/v1")
    with pytest.raises(DiscovercallError, match="not approved"):
        check_foreseeable(elsewhere)


def test_the_plan_command_refuses_such_a_plan(
    cadence: Callable[..., Outcome], checkout: Checkout, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(checkout.root, tmp_path / "root", ignore=shutil.ignore_patterns(".git")))
    config = json.loads((root / "cadence.json").read_text())
    config["configured_model"]["model"] = "m" * 120
    (root / "cadence.json").write_text(json.dumps(config))
    done = cadence(
        "plan", "--release-sha", checkout.sha, "--root", root, "--image", IMAGE, "--out", tmp_path / "plan"
    )
    assert (done.code, "configured_model.model" in done.error) == (2, True)
    assert "fewer characters" in done.error
    assert not (tmp_path / "plan").exists()
