"""`cadence run` around the measurement: what is paid, where the key goes, and what is handed over."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discovercall.cadence.bundle import read_bundle
from discovercall.cadence.evidence import configured_revision
from discovercall.cadence.plan import CadencePlan
from discovercall.capability.client import RequestCounts
from discovercall.cli import cadence_run
from discovercall.cli import run as plain_run
from discovercall.cli.sandbox import connected
from discovercall.contract import execution
from discovercall.contract.execution import RunResult
from discovercall.contract.options import RunOptions
from discovercall.foundation.errors import SpendLimitError
from discovercall.foundation.jsonl import read_objects
from tests.cadence.checkout import DATE, IMAGE, Checkout
from tests.cadence.conftest import Outcome

API = "https://qveris.ai/api/v1"
KEY = "Catalogkey0123456789xyz"
LIMIT = SpendLimitError("the limit of 4 billed calls is reached")
INTERRUPTED = RunResult(
    finished=5, planned=12, billed=4, credits=0.0, requests=RequestCounts(), limit=None, interrupted=True
)
Run = Callable[..., Outcome]


class Finished:
    """What a run that came to its end says of itself."""

    interrupted = False
    finished = planned = billed = 12
    credits = 1.0


@pytest.fixture
def paid() -> list[Any]:
    """The options of every run that was carried out, with the key it got."""
    return []


@pytest.fixture
def run(
    cadence: Callable[..., Outcome],
    plan: CadencePlan,
    measured: Path,
    paid: list[Any],
    checkout: Checkout,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """`cadence run` of a real plan, where the measured rehearsal's records stand for the paid ones."""
    model = plan.inputs.config.configured_model

    def carry_out(prepared: Any, options: Any, *, key: str | None) -> type[Finished]:
        paid.append((prepared, key))
        for name, lane in zip(("reference.jsonl", "configured-model.jsonl"), options.lanes, strict=True):
            records = read_objects(measured / "private" / name)
            for record in records:
                record["metadata"]["api_base_url"] = prepared.base_url
                record["metadata"]["api_revision"] = "v1-" + base64.b64encode(KEY.encode()).decode()
                if name.startswith("configured"):
                    record["metadata"]["adapter_revision"] = configured_revision(model, checkout.sha)
            lane.output.write_text("".join(json.dumps(record) + "\n" for record in records))
        return Finished

    monkeypatch.setattr(cadence_run, "_carry_out", carry_out)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "codex").write_text(f"#!/bin/sh\necho codex-cli {model.cli_version}\n")
    (programs / "codex").chmod(0o755)
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "CODEX_API_KEY": "model-key-123456"}
    made = cadence(
        "plan", "--release-sha", checkout.sha, "--date", DATE, "--image", IMAGE, "--out", tmp_path / "plan"
    )
    assert made.code == 0, made.error

    def invoke(*more: Any, **further: str) -> Outcome:
        return cadence(
            "run", "--plan", tmp_path / "plan", "--private", tmp_path / "private",
            "--bundle", tmp_path / "bundle", "--image", IMAGE, *more, **env, **further,
        )  # fmt: skip

    return invoke


def key_file(folder: Path) -> Path:
    path = folder / "key"
    path.write_text(KEY)
    path.chmod(0o600)
    return path


def test_a_key_from_a_file_is_kept_out_of_the_bundle_as_one_from_the_environment(
    run: Run, paid: list[Any], tmp_path: Path
) -> None:
    done = run("--api-key-file", key_file(tmp_path))
    assert done.code == 0, done.error
    assert [key for _, key in paid] == [KEY]
    encoded = base64.b64encode(KEY.encode()).decode()
    for name, data in read_bundle(tmp_path / "bundle").files.items():
        assert encoded.encode() not in data, name
    assert "invalid" in next(iter(read_bundle(tmp_path / "bundle").files.values())).decode()


def test_a_key_from_a_pipe_is_read_once_and_reaches_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reader, writer = os.pipe()
    os.write(writer, KEY.encode())
    os.close(writer)
    path = f"/dev/fd/{reader}"
    key = cadence_run._key_in_file(path)
    os.close(reader)
    seen = []

    def carry_out(prepared: Any, options: Any, key: str | None) -> type[Finished]:
        with connected(prepared, options, {}, key) as connection:
            seen.append(connection.api_key)
        return Finished

    monkeypatch.setattr(plain_run, "carry_out", carry_out)
    prepared: Any = SimpleNamespace(base_url="https://catalog.example")
    cadence_run._carry_out(prepared, RunOptions((), api_key_file=path), key=key)
    assert seen == [KEY]
    assert KEY not in os.environ.values()


def test_a_key_file_that_another_process_names_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "catalog.key"
    path.write_text(KEY)
    path.chmod(0o600)
    key = cadence_run._key_in_file(str(path))
    seen = []

    def carry_out(prepared: Any, options: Any, key: str | None) -> type[Finished]:
        with connected(prepared, options, {}, key) as connection:
            seen.append(connection.exposure)
        return Finished

    monkeypatch.setattr(plain_run, "carry_out", carry_out)
    prepared: Any = SimpleNamespace(base_url="https://catalog.example")
    with subprocess.Popen(["/bin/sh", "-c", "read -r _", path], stdin=subprocess.PIPE) as other:
        cadence_run._carry_out(prepared, RunOptions((), api_key_file=str(path)), key=key)
        other.communicate()
    assert [(found.pid, found.place) for found in seen if found] == [(other.pid, "command line")]


@pytest.mark.parametrize(
    ("ending", "code"), [(INTERRUPTED, 130), (replace(INTERRUPTED, interrupted=False, limit=LIMIT), 3)]
)
def test_a_run_that_ended_early_says_so_by_its_exit_code_and_hands_nothing_over(
    cadence: Callable[..., Outcome],
    measured: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ending: RunResult,
    code: int,
) -> None:
    monkeypatch.setattr(execution, "execute_run", lambda *_, **__: ending)
    done = cadence(
        "run", "--plan", measured / "plan.json", "--private", tmp_path / "private",
        "--bundle", tmp_path / "bundle", "--image", IMAGE,
    )  # fmt: skip
    assert done.code == code, done.error
    assert "5 of 12 trials; 4 billed calls" in done.error
    assert ("Interrupted. What is finished is kept" in done.error) == ending.interrupted
    assert (done.out, done.outputs, done.summary) == ("", {}, "")
    assert list((tmp_path / "bundle").iterdir()) == []


def test_a_summary_that_can_not_be_made_is_a_warning(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> str:
        raise NameError("lane_json")

    monkeypatch.setattr(cadence_run, "_run_summary", broken)
    done = run(QVERIS_API_KEY=KEY)
    assert done.code == 0, done.error
    assert "Warning: the step summary could not be written" in done.error
    assert done.outputs["bundle_sha256"] == read_bundle(tmp_path / "bundle").sha256


def test_outputs_that_can_not_be_written_are_a_warning_with_the_digest(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cadence_run, "set_outputs", full)
    done = run(QVERIS_API_KEY=KEY)
    assert done.code == 0, done.error
    assert read_bundle(tmp_path / "bundle").sha256 in done.error


def test_another_api_than_the_approved_one_is_never_paid(run: Run, paid: list[Any]) -> None:
    for elsewhere in (
        run(QVERIS_API_KEY=KEY, QVERIS_BASE_URL="https://other.example/v1"),
        run("--api-base-url", "https://other.example/v1", QVERIS_API_KEY=KEY),
    ):
        assert elsewhere.code == 1
        assert "api_base_url: approved 'https://qveris.ai/api/v1'" in elsewhere.error
    assert not paid
    assert run(QVERIS_API_KEY=KEY, QVERIS_BASE_URL=API).code == 0
    assert [prepared.base_url for prepared, _ in paid] == [API]


@pytest.mark.parametrize(("private", "bundle"), [("x", "x"), ("x", "x/y"), ("x/y", "x"), ("x", "link/y")])
def test_the_bundle_lies_apart_from_the_raw_records(
    run: Run, paid: list[Any], tmp_path: Path, private: str, bundle: str
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "x")
    done = run("--private", tmp_path / private, "--bundle", tmp_path / bundle, QVERIS_API_KEY=KEY)
    assert (done.code, "apart" in done.error) == (2, True)
    assert not paid
    assert not (tmp_path / "x").exists()


def test_a_name_that_holds_the_key_is_refused_before_it_is_paid(run: Run, paid: list[Any]) -> None:
    done = run(QVERIS_API_KEY="deterministic-reference-v1")
    assert (done.code, "a secret of this run" in done.error) == (1, True)
    assert not paid


def test_the_summary_of_the_plan_names_the_catalog(
    cadence: Callable[..., Outcome], checkout: Checkout, plan: CadencePlan
) -> None:
    start = ("plan", "--release-sha", checkout.sha, "--image", IMAGE)
    done = cadence(*start)
    assert f"`{API}`" in done.summary
    assert json.loads(done.outputs["plan"])["plan"]["api_base_url"] == API
    refused = cadence(*start, QVERIS_BASE_URL="https://other.example/v1")
    assert (refused.code, "not approved" in refused.error) == (1, True)
    rehearsed = cadence(*start, "--rehearsal", QVERIS_BASE_URL="https://other.example/v1")
    assert json.loads(rehearsed.outputs["plan"])["plan"]["api_base_url"] == "sandbox://embedded"
    other = replace(plan, rehearsal=False, catalog_url="https://other.example/v1")
    assert other.digest != replace(other, catalog_url=API).digest
