"""The plan and its digest: everything that decides what runs and what it costs is covered."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discovercall.cadence.bundle import read_bundle
from discovercall.cadence.code import Code, files_code, image_code
from discovercall.cadence.evidence import check_provenance, read_results
from discovercall.cadence.plan import (
    CadencePlan,
    check_plan_file,
    check_same_plan,
    make_plan,
    read_inputs,
    resolve_code_revision,
)
from discovercall.foundation.errors import InputError, RefusedError
from discovercall.foundation.revision import ToolkitRevision
from tests.cadence.checkout import DATE, IMAGE, Checkout


@pytest.fixture
def root(checkout: Checkout, tmp_path: Path) -> Path:
    return Path(shutil.copytree(checkout.root, tmp_path / "root", ignore=shutil.ignore_patterns(".git")))


def plan_of(root: Path, sha: str, **more: Any) -> CadencePlan:
    options: dict[str, Any] = {
        "release_sha": sha, "date": DATE, "rehearsal": False, "code": image_code(IMAGE),
        "toolkit_revision": sha,
    }  # fmt: skip
    return make_plan(read_inputs(root), **{**options, **more})


def _config(**changes: Any) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        config = json.loads((root / "cadence.json").read_text())
        (root / "cadence.json").write_text(json.dumps(config | changes))

    return change


def _append(name: str, text: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        with (root / name).open("a") as stream:
            stream.write(text)

    return change


@pytest.mark.parametrize(
    "change",
    [
        _config(trials=4),
        _config(discovery_limit=9),
        _config(max_credits=100),
        _config(release_tags=["w*"]),
        _append("cadence.json", "\n"),
        _append("publication-policy.json", "\n"),
        _append("tasks/v99.jsonl", "# a comment\n"),
    ],
)
def test_each_reviewed_file_is_in_the_digest(
    root: Path, checkout: Checkout, change: Callable[[Path], None]
) -> None:
    before = plan_of(root, checkout.sha)
    change(root)
    after = plan_of(root, checkout.sha)
    assert after.digest != before.digest
    with pytest.raises(RefusedError, match="approved"):
        check_same_plan(before.document(), after)


@pytest.mark.parametrize(
    "other",
    [
        {"release_sha": "0" * 40},
        {"date": "2001-05-05"},
        {"rehearsal": True},
        {"code": Code("image", "sha256:" + "b" * 64)},
        {"toolkit_revision": "0" * 40},
        {"catalog_url": "https://other.example/v1"},
    ],
)
def test_so_is_everything_else(root: Path, checkout: Checkout, other: dict[str, Any]) -> None:
    assert plan_of(root, checkout.sha, **other).digest != plan_of(root, checkout.sha).digest


def test_the_digest_is_the_same_wherever_the_checkout_lies(root: Path, checkout: Checkout) -> None:
    assert plan_of(root, checkout.sha).digest == plan_of(checkout.root, checkout.sha).digest


def test_a_plan_file_says_what_its_digest_says(root: Path, checkout: Checkout) -> None:
    content = plan_of(root, checkout.sha).file()
    assert check_plan_file(content, "plan") == (content["plan"], content["plan_digest"])
    content["plan"]["trials"] = 100
    with pytest.raises(InputError):
        check_plan_file(content, "plan")


@pytest.mark.parametrize(
    "image", ["discovercall:latest", "x@sha256:abc", "@sha256:" + "a" * 64, "a b@sha256:" + "a" * 64]
)
def test_an_image_is_named_by_digest(image: str) -> None:
    with pytest.raises(InputError, match="digest"):
        image_code(image)


def test_without_an_image_the_files_decide(root: Path) -> None:
    before = files_code(root)
    assert files_code(root) == before
    _append("Dockerfile", "# changed\n")(root)
    assert files_code(root) != before
    (root / "requirements" / "image.txt").unlink()
    with pytest.raises(InputError, match=r"image\.txt"):
        files_code(root)


def test_a_missing_adapter_is_told_at_once(root: Path) -> None:
    (root / "adapters" / "codex_cli.py").unlink()
    with pytest.raises(InputError, match=r"configured_model\.adapter"):
        read_inputs(root)


def test_real_runs_are_by_the_code_of_the_release() -> None:
    one, other = "1" * 40, "2" * 40
    assert resolve_code_revision(ToolkitRevision(one, "build", dirty=False), one, rehearsal=False) == one
    assert resolve_code_revision(ToolkitRevision(None, "none", dirty=False), one, rehearsal=False) == one
    assert (
        resolve_code_revision(ToolkitRevision(other, "checkout", dirty=False), one, rehearsal=True) == other
    )
    with pytest.raises(InputError, match="release's own"):
        resolve_code_revision(ToolkitRevision(other, "build", dirty=False), one, rehearsal=False)
    with pytest.raises(InputError, match="has changes"):
        resolve_code_revision(ToolkitRevision(one, "checkout", dirty=True), one, rehearsal=True)


def _with_config(plan: CadencePlan, **changes: Any) -> CadencePlan:
    config = plan.inputs.config.model_copy(update=changes)
    return replace(plan, inputs=replace(plan.inputs, config=config))


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("toolkit_revision", lambda plan: replace(plan, toolkit_revision="0" * 40)),
        ("discovery_limit", lambda plan: _with_config(plan, discovery_limit=9)),
        ("trials_per_task", lambda plan: _with_config(plan, trials=4)),
        ("rehearsal", lambda plan: replace(plan, rehearsal=False)),
        (
            "model",
            lambda plan: _with_config(
                plan,
                configured_model=plan.inputs.config.configured_model.model_copy(update={"model": "other"}),
            ),
        ),
        (
            "model_revision",
            lambda plan: _with_config(
                plan,
                configured_model=plan.inputs.config.configured_model.model_copy(
                    update={"model_revision": "r2"}
                ),
            ),
        ),
    ],
)
def test_results_have_to_be_those_of_the_plan(
    measured: Path, plan: CadencePlan, field: str, change: Callable[[CadencePlan], CadencePlan]
) -> None:
    results = read_results(read_bundle(measured / "bundle").files, plan.stems, plan.inputs)
    check_provenance(results, plan)
    with pytest.raises(RefusedError, match=field):
        check_provenance(results, change(plan))
