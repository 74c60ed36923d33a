"""A real release's results: the headline pages travel with them, and an orphan is recovered the same way."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from discovercall.cadence.bundle import Spent
from discovercall.cadence.document import RunFacts
from discovercall.cadence.evidence import check_provenance, configured_revision, pair_names, read_results
from discovercall.cadence.github import GitHub
from discovercall.cadence.names import LABEL
from discovercall.cadence.plan import CadencePlan
from discovercall.cadence.proposal import Proposal, make_proposal, propose
from discovercall.foundation.errors import RefusedError
from discovercall.foundation.jsonl import read_objects
from discovercall.publication.pair import Pair
from discovercall.publication.publishing import prepare_pair, publish
from tests.cadence.checkout import DATE, Checkout
from tests.cadence.conftest import Outcome
from tests.support.github.fake_github import FakeGitHub

API = "https://qveris.ai/api/v1"


@pytest.fixture(scope="module")
def real(plan: CadencePlan) -> CadencePlan:
    return replace(plan, rehearsal=False)


@pytest.fixture(scope="module")
def files(measured: Path, real: CadencePlan, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Pairs of the measured records as if a real API and the configured model had been behind them."""
    return publish_as_real(measured, real, tmp_path_factory.mktemp("real"), (API, API))


def publish_as_real(
    measured: Path, real: CadencePlan, folder: Path, apis: tuple[str, str]
) -> dict[str, bytes]:
    model = configured_revision(real.inputs.config.configured_model, real.toolkit_revision)
    lanes = ("reference.jsonl", "configured-model.jsonl")
    for name, stem, api in zip(lanes, real.stems, apis, strict=True):
        records = read_objects(measured / "private" / name)
        for record in records:
            record["metadata"]["api_base_url"] = api
            if name.startswith("configured"):
                record["metadata"]["adapter_revision"] = model
        policy, tasks = real.inputs.policy, real.inputs.task_set
        prepared = prepare_pair(
            Pair(folder, stem), records, policy, tasks, key=b"k" * 32, secrets=(),
            generated_at="9999-12-31T00:00:00.000Z",
        )  # fmt: skip
        publish(prepared, policy, tasks)
    return {name: (folder / name).read_bytes() for name in pair_names(real.stems)}


@pytest.fixture(scope="module")
def proposal(files: dict[str, bytes], real: CadencePlan) -> Proposal:
    results = read_results(files, real.stems, real.inputs)
    check_provenance(results, real)
    facts = RunFacts(
        real.release_sha, real.date, "v99", real.branch, real.digest, "b" * 64, Spent(1, 0, 12, 7.5),
    )  # fmt: skip
    return make_proposal(results, real, facts, secrets=())


def test_the_pages_are_proposed_with_the_results(
    gh: FakeGitHub, client: GitHub, proposal: Proposal, checkout: Checkout
) -> None:
    assert propose(client, proposal).made
    commit = gh.commits[gh.refs[f"refs/heads/benchmark/cadence-{checkout.sha[:12]}"]]
    committed = {path for path in gh.trees[commit["tree"]] if path != "README.md"}
    assert committed == set(proposal.files)
    assert {path for path in committed if not path.startswith("results/")} == {
        "docs/headline.en.md", "docs/headline.zh.md",
    }  # fmt: skip
    (pull,) = gh.pulls
    assert pull["title"].startswith("Benchmark results: release ")
    assert gh.labels[pull["number"]] == [LABEL]
    assert "rehearsal" not in pull["body"].lower()
    assert "7.5 credits" in pull["body"]


def test_an_orphan_of_a_real_run_is_recovered(
    gh: FakeGitHub, client: GitHub, proposal: Proposal, cadence: Callable[..., Outcome]
) -> None:
    propose(client, proposal)
    body = gh.pulls.pop()["body"]
    done = cadence("recover", "--branch", proposal.branch)
    assert done.code == 0, done.error
    note, _, rest = gh.pulls[0]["body"].partition("\n\n")
    assert rest == body
    assert "only what the commit's message says" in note


@pytest.mark.parametrize("before", ["on the default branch", "nowhere"])
def test_an_orphan_that_lacks_a_page_is_refused(
    gh: FakeGitHub, client: GitHub, proposal: Proposal, cadence: Callable[..., Outcome], before: str
) -> None:
    pages = [path for path in proposal.files if path.startswith("docs/")]
    if before == "on the default branch":
        files = {"README.md": b"x", **dict.fromkeys(pages, b"old")}
        gh.refs["refs/heads/main"] = gh.seed_commit(files, [gh.refs["refs/heads/main"]])
    propose(client, proposal)
    gh.pulls.clear()
    ref = f"refs/heads/{proposal.branch}"
    commit = gh.commits[gh.refs[ref]]
    tree = {path: entry for path, entry in gh.trees[commit["tree"]].items() if path != pages[1]}
    gh.refs[ref] = gh.put_commit(gh.put_tree(tree), commit["parents"], commit["message"])
    done = cadence("recover", "--branch", proposal.branch)
    assert (done.code, f"lacks {pages[1]}" in done.error) == (1, True)
    assert not gh.pulls


def test_committed_results_and_pages_agree(
    files: dict[str, bytes],
    proposal: Proposal,
    checkout: Checkout,
    tmp_path: Path,
    cadence: Callable[..., Outcome],
) -> None:
    root = Path(shutil.copytree(checkout.root, tmp_path / "root", ignore=shutil.ignore_patterns(".git")))
    for path, text in proposal.files.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    assert cadence("headline", "--check", "--root", root).code == 0
    planned = cadence(
        "plan", "--release-sha", checkout.sha, "--root", root, "--image", f"x@sha256:{'a' * 64}"
    )
    assert planned.code == 0, planned.error
    assert f"Compared with `{DATE}-gpt-5.5-configured-release-" in planned.summary
    assert "Nothing that the pair names differs" in planned.summary


@pytest.mark.parametrize("content", [b"", b"{}\n", b'{"model":"x"\n', b"\xff", None])
def test_the_approver_is_told_of_a_last_result_that_does_not_validate(
    files: dict[str, bytes],
    real: CadencePlan,
    checkout: Checkout,
    tmp_path: Path,
    cadence: Callable[..., Outcome],
    content: bytes | None,
) -> None:
    root = Path(shutil.copytree(checkout.root, tmp_path / "root", ignore=shutil.ignore_patterns(".git")))
    (root / "results").mkdir(exist_ok=True)
    for name, data in files.items():
        (root / "results" / name).write_bytes(data)
    broken = root / "results" / f"{real.stems[1]}.summary.json"
    if content is None:
        broken.unlink()
    else:
        broken.with_name(f"{real.stems[1]}.runs.jsonl").write_bytes(content)
    planned = cadence(
        "plan", "--release-sha", checkout.sha, "--root", root, "--image", f"x@sha256:{'a' * 64}"
    )
    assert planned.code == 0, planned.error
    assert "does not validate, so nothing is compared with it" in planned.summary
    assert "Published |" not in planned.summary


OTHER = "https://other.example/v1"


@pytest.mark.parametrize(("apis", "says"), [((OTHER, OTHER), "api_base_url"), ((API, OTHER), "two APIs")])
def test_results_of_another_api_than_the_plans_are_refused(
    measured: Path, real: CadencePlan, tmp_path: Path, apis: tuple[str, str], says: str
) -> None:
    policy = replace(real.inputs.policy, approved_urls=real.inputs.policy.approved_urls | {OTHER})
    approving = replace(real, inputs=replace(real.inputs, policy=policy))
    found = publish_as_real(measured, approving, tmp_path, apis)
    with pytest.raises(RefusedError, match=says):
        check_provenance(read_results(found, approving.stems, approving.inputs), approving)


def test_a_real_bundle_is_no_rehearsal(files: dict[str, bytes], real: CadencePlan, plan: CadencePlan) -> None:
    results = read_results(files, real.stems, real.inputs)
    with pytest.raises(RefusedError, match="rehearsal"):
        check_provenance(results, plan)
