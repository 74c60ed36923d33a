"""What the tests of the cadence share: a checkout, a fake GitHub, and one measured rehearsal."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from discovercall.cadence.bundle import read_bundle
from discovercall.cadence.code import Code
from discovercall.cadence.document import RunFacts
from discovercall.cadence.github import GitHub
from discovercall.cadence.github_requests import Access, Surroundings
from discovercall.cadence.plan import CadencePlan, make_plan, read_inputs
from discovercall.cadence.proposal import Proposal, make_proposal, results_of_bundle
from discovercall.foundation.errors import DiscovercallError
from discovercall.foundation.revision import ToolkitRevision
from tests.cadence.checkout import (
    DATE,
    IMAGE,
    REPOSITORY,
    Checkout,
    command,
    environment,
    head,
    make_checkout,
    seed,
)
from tests.support.github.fake_github import FakeGitHub
from tests.support.output_schemas import checked


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all test processes of this session share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "cadence"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def held(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def checkout(shared: Path) -> Checkout:
    root = shared / "release"
    with held(shared):
        return Checkout(root, head(root)) if root.is_dir() else make_checkout(root)


@pytest.fixture
def gh(checkout: Checkout) -> Iterator[FakeGitHub]:
    """A fake that knows the release; every exchange with it has to fit GitHub's description."""
    with FakeGitHub(REPOSITORY) as fake:
        seed(fake, checkout.sha)
        yield fake
    fake.assert_clean()


@dataclass
class Waits:
    """What the client said and how long it slept."""

    slept: list[float]
    said: list[str]


@pytest.fixture
def waits() -> Waits:
    return Waits([], [])


@pytest.fixture
def client(gh: FakeGitHub, waits: Waits) -> GitHub:
    access = Access(base_url=gh.url, repository=REPOSITORY, token=gh.token, paced=False)
    return GitHub(access, Surroundings(lambda: 1_000_000.0, waits.slept.append, waits.said.append))


@pytest.fixture(scope="session")
def measured(checkout: Checkout, shared: Path) -> Path:
    """A bundle that `cadence run` made as a rehearsal: the real runner, gateway and adapters."""
    folder = shared / "measured"
    with held(shared):
        if not folder.is_dir():
            _measure(checkout, folder)
    return folder


def _measure(checkout: Checkout, folder: Path) -> None:
    folder.mkdir()
    with FakeGitHub(REPOSITORY) as fake:
        seed(fake, checkout.sha)
        env = environment(fake)
        plan = command(
            checkout, "cadence", "plan", "--release-sha", checkout.sha, "--rehearsal", "--date", DATE,
            "--image", IMAGE, "--out", folder / "plan.json", env=env,
        )  # fmt: skip
        assert plan.returncode == 0, plan.stderr
        run = command(
            checkout, "cadence", "run", "--plan", folder / "plan.json", "--private", folder / "private",
            "--bundle", folder / "bundle", "--image", IMAGE, "--format", "json", env=env,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
    fake.assert_clean()
    checked("cadence-run", run.stdout)
    (folder / "run.json").write_text(run.stdout)


@pytest.fixture(scope="session")
def plan(checkout: Checkout, measured: Path) -> CadencePlan:
    """The plan of the measured rehearsal, put together on this side."""
    bundle = read_bundle(measured / "bundle")
    return make_plan(
        read_inputs(checkout.root),
        release_sha=checkout.sha,
        date=DATE,
        rehearsal=True,
        code=Code(**bundle.plan["code"]),
        toolkit_revision=checkout.sha,
    )


@dataclass
class Outcome:
    """What a command did."""

    code: int
    out: str
    error: str
    outputs: dict[str, str]
    summary: str

    name: str

    @property
    def json(self) -> Any:
        if self.name == "document":
            return json.loads(self.out)
        schema = {"propose": "pull", "recover": "pull"}.get(self.name, self.name)
        return checked(f"cadence-{schema}", self.out)


@pytest.fixture
def cadence(
    checkout: Checkout,
    gh: FakeGitHub,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Callable[..., Outcome]:
    """Run `discovercall cadence …` in this process, as code of the release's commit."""
    from discovercall.cli.main import app
    from discovercall.foundation import revision

    monkeypatch.setattr(
        revision, "installed_revision", lambda: ToolkitRevision(checkout.sha, "build", dirty=False)
    )

    def invoke(*arguments: Any, **more: str) -> Outcome:
        files = {name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for path in files.values():
            path.write_text("")
        for name in ("GITHUB_RUN_ATTEMPT", "GITHUB_ACTIONS", "GITHUB_RUN_ID", "GITHUB_WORKFLOW_REF"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment(gh, **{n: str(p) for n, p in files.items()}, **more).items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(checkout.root)
        capsys.readouterr()
        error = ""
        try:
            code = app(["cadence", *map(str, arguments)], standalone_mode=False) or 0
        except DiscovercallError as problem:
            code, error = problem.exit_code, str(problem)
        out, err = capsys.readouterr()
        outputs = parse_outputs(files["GITHUB_OUTPUT"].read_text())
        return Outcome(
            code, out, error + err, outputs, files["GITHUB_STEP_SUMMARY"].read_text(), arguments[0]
        )

    return invoke


def parse_outputs(text: str) -> dict[str, str]:
    """Outputs by the runner's grammar, for values between delimiters."""
    outputs, lines = {}, iter(text.splitlines())
    for line in lines:
        name, _, delimiter = line.partition("<<")
        value = []
        for following in lines:
            if following == delimiter:
                break
            value.append(following)
        outputs[name] = "\n".join(value)
    return outputs


@pytest.fixture(scope="module")
def proposal(measured: Path, plan: CadencePlan) -> Proposal:
    """What the measured rehearsal proposes."""
    bundle = read_bundle(measured / "bundle")
    facts = RunFacts(
        plan.release_sha, plan.date, "v99", plan.branch, plan.digest, bundle.sha256, bundle.spent,
    )  # fmt: skip
    return make_proposal(results_of_bundle(bundle, plan), plan, facts, secrets=())
