"""The whole way, command by command, against a stateful GitHub."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cadence.checkout import DATE, IMAGE, Checkout
from tests.cadence.conftest import Outcome
from tests.support.github.fake_github import FakeGitHub, Fault

Cadence = Callable[..., Outcome]
WRITES_OF_A_PROPOSAL = [
    "git/create-tree",
    "git/create-commit",
    "git/create-ref",
    "pulls/create",
    "issues/add-labels",
]


@pytest.fixture
def said(measured: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((measured / "run.json").read_text())
    return found


@pytest.fixture
def propose(cadence: Cadence, checkout: Checkout, measured: Path, said: dict[str, Any]) -> Cadence:
    def invoke(*more: Any, **env: str) -> Outcome:
        return cadence(
            "propose", "--release-sha", checkout.sha, "--rehearsal", "--image", IMAGE,
            "--bundle", measured / "bundle", "--bundle-sha256", said["bundle_sha256"],
            "--plan-digest", said["plan_digest"], "--format", "json", *more, **env,
        )  # fmt: skip

    return invoke


@pytest.fixture
def guard(cadence: Cadence, checkout: Checkout) -> Cadence:
    return lambda *more: cadence("guard", "--release-sha", checkout.sha, "--rehearsal", *more)


def branch_of(checkout: Checkout) -> str:
    return f"benchmark/rehearsal-{checkout.sha[:12]}"


def test_plan_prints_what_a_person_approves(cadence: Cadence, checkout: Checkout) -> None:
    done = cadence("plan", "--release-sha", checkout.sha, "--date", DATE, "--image", IMAGE)
    assert done.code == 0, done.error
    plan = json.loads(done.outputs["plan"])
    assert plan["plan_digest"] == done.outputs["plan_digest"]
    assert done.outputs["branch"] == f"benchmark/cadence-{checkout.sha[:12]}"
    assert done.outputs["most_billed_calls"] == "12"
    for needed in (
        "12 billed catalog calls", "2 tasks × 3 trials × 2 lanes", done.outputs["plan_digest"], checkout.sha,
        "attempt 1", "`v1.0.0`", "Reject", "no published result yet", "adapters/codex_cli.py", "max_credits",
    ):  # fmt: skip
        assert needed in done.summary, needed


def test_the_summary_names_earlier_attempts_and_runs(
    cadence: Cadence, checkout: Checkout, gh: FakeGitHub
) -> None:
    gh.seed_run("discover-call-cadence.yml", title=f"Benchmark of {checkout.sha}", conclusion="failure")
    done = cadence(
        "plan", "--release-sha", checkout.sha, "--image", IMAGE, "--accept-spent-attempts", 1,
        GITHUB_RUN_ATTEMPT="2", GITHUB_RUN_ID="7999",
        GITHUB_WORKFLOW_REF="acme/benchmark/.github/workflows/discover-call-cadence.yml@refs/heads/main",
    )  # fmt: skip
    assert done.code == 0, done.error
    assert "attempt 2" in done.summary
    assert "24 billed calls" in done.summary
    assert "ended with failure: https://github.com/acme/benchmark/actions/runs/7001" in done.summary


def test_a_run_beside_another_for_the_same_release_is_refused(
    cadence: Cadence, checkout: Checkout, gh: FakeGitHub
) -> None:
    gh.seed_run("discover-call-cadence.yml", title=f"Benchmark of {checkout.sha}", status="waiting")
    done = cadence(
        "plan", "--release-sha", checkout.sha, "--image", IMAGE, GITHUB_RUN_ID="7999",
        GITHUB_WORKFLOW_REF="acme/benchmark/.github/workflows/discover-call-cadence.yml@refs/heads/main",
    )  # fmt: skip
    assert done.code == 1
    assert "under way" in done.error


def test_the_whole_way(guard: Cadence, propose: Cadence, gh: FakeGitHub, checkout: Checkout) -> None:
    before = dict(gh.refs)
    assert guard().outputs == {"skip": "false"}

    first = propose()
    assert first.code == 0, first.error
    assert first.json["made"] is True
    assert [x.op for x in gh.writes()] == WRITES_OF_A_PROPOSAL
    pull = gh.pulls[0]
    assert pull["draft"] is True
    assert pull["title"].startswith("Rehearsal")
    assert gh.labels[1] == ["benchmark-rehearsal"]
    new = {ref: sha for ref, sha in gh.refs.items() if before.get(ref) != sha}
    assert list(new) == [f"refs/heads/{branch_of(checkout)}"]
    commit = gh.commits[next(iter(new.values()))]
    assert commit["parents"] == [before["refs/heads/main"]]
    base = gh.trees[gh.commits[before["refs/heads/main"]]["tree"]]
    added = {path for path, entry in gh.trees[commit["tree"]].items() if base.get(path) != entry}
    assert {path.split("/")[0] for path in added} == {"results"}
    assert len(added) == 5  # two pairs and the section: a rehearsal leaves the headline pages alone

    again = propose()
    assert again.json["made"] is False
    assert [x.op for x in gh.writes()] == WRITES_OF_A_PROPOSAL

    skipped = guard()
    assert (skipped.code, skipped.outputs) == (0, {"skip": "true"})

    pull["state"] = "closed"
    refused = guard()
    assert refused.code == 1
    assert "closed without being merged" in refused.error
    assert propose().code == 1

    pull["merged"] = True
    assert guard().outputs == {"skip": "true"}
    assert propose().json["made"] is False
    assert [x.op for x in gh.writes()] == WRITES_OF_A_PROPOSAL


def test_an_orphan_is_an_error_and_can_be_recovered(
    guard: Cadence, propose: Cadence, cadence: Cadence, gh: FakeGitHub, checkout: Checkout
) -> None:
    gh.allow_actions_prs = False
    assert propose().code == 2
    orphan = guard()
    assert orphan.code == 1
    assert f"cadence recover --branch {branch_of(checkout)}" in orphan.error

    gh.allow_actions_prs = True
    recovered = cadence("recover", "--branch", branch_of(checkout), "--format", "json")
    assert recovered.code == 0, recovered.error
    assert recovered.json["made"] is True
    assert gh.pulls[0]["draft"] is True
    assert cadence("recover", "--branch", branch_of(checkout), "--format", "json").json["made"] is False
    assert len(gh.pulls) == 1
    assert guard().outputs == {"skip": "true"}


def test_the_recovered_body_is_the_proposed_one(
    propose: Cadence, cadence: Cadence, gh: FakeGitHub, checkout: Checkout
) -> None:
    propose()
    proposed = gh.pulls.pop()["body"]
    cadence("recover", "--branch", branch_of(checkout))
    note, _, rest = gh.pulls[0]["body"].partition("\n\n")
    assert rest == proposed
    assert note.startswith("> **Recovered from the branch alone.**")


@pytest.mark.parametrize("path", ["README.md", "results/other.md", ".github/workflows/x.yml"])
def test_recover_takes_no_branch_with_anything_else_on_it(
    propose: Cadence, cadence: Cadence, gh: FakeGitHub, checkout: Checkout, path: str
) -> None:
    propose()
    gh.pulls.clear()
    ref = f"refs/heads/{branch_of(checkout)}"
    commit = gh.commits[gh.refs[ref]]
    flat = {**gh.trees[commit["tree"]], path: ("100644", "blob", gh.put_blob(b"changed"))}
    gh.refs[ref] = gh.put_commit(gh.put_tree(flat), commit["parents"], commit["message"])
    done = cadence("recover", "--branch", branch_of(checkout))
    assert done.code == 1
    assert path in done.error
    assert not gh.pulls


def test_forks_with_the_same_branch_name_do_not_count(
    guard: Cadence, gh: FakeGitHub, checkout: Checkout
) -> None:
    gh.seed_pull(branch_of(checkout), checkout.sha, head_repo="stranger/benchmark")
    gh.seed_pull(branch_of(checkout), checkout.sha, head_repo="acme/another-fork")
    assert guard().outputs == {"skip": "false"}


def test_a_null_head_repository_is_an_error(guard: Cadence, gh: FakeGitHub, checkout: Checkout) -> None:
    gh.seed_pull(branch_of(checkout), checkout.sha, head_repo=None)
    done = guard()
    assert done.code == 1
    assert "#1" in done.error
    assert done.outputs == {}


def test_a_null_head_repository_is_found_though_the_filter_hides_it(
    guard: Cadence, gh: FakeGitHub, checkout: Checkout
) -> None:
    gh.seed_pull(branch_of(checkout), checkout.sha, head_repo=None)["head_owner"] = "ghost"
    assert guard().code == 1


def test_a_rerun_of_the_measuring_job_is_refused(
    cadence: Cadence, measured: Path, tmp_path: Path, gh: FakeGitHub
) -> None:
    done = cadence(
        "run", "--plan", measured / "plan.json", "--private", tmp_path / "p", "--bundle", tmp_path / "b",
        "--image", IMAGE, GITHUB_RUN_ATTEMPT="2",
    )  # fmt: skip
    assert done.code == 1
    assert "accept_spent_attempts = 1" in done.error
    assert not (tmp_path / "p").exists()


def test_run_asks_the_guard_again_right_before_the_first_call(
    cadence: Cadence, measured: Path, tmp_path: Path, gh: FakeGitHub, checkout: Checkout
) -> None:
    gh.seed_pull(branch_of(checkout), checkout.sha)
    done = cadence(
        "run", "--plan", measured / "plan.json", "--private", tmp_path / "p", "--bundle", tmp_path / "b",
        "--image", IMAGE,
    )  # fmt: skip
    assert done.code == 1
    assert "pull request #1 is open" in done.error
    assert not list((tmp_path / "p").iterdir())


def test_run_refuses_another_plan(cadence: Cadence, measured: Path, tmp_path: Path, gh: FakeGitHub) -> None:
    other = IMAGE.replace("a" * 64, "b" * 64)
    folders = ("--private", tmp_path / "p", "--bundle", tmp_path / "b")
    plan = measured / "plan.json"
    done = cadence("run", "--plan", plan, *folders, "--image", other)
    assert done.code == 1
    assert "code: approved" in done.error
    done = cadence("run", "--plan", plan, *folders, "--image", IMAGE, "--plan-digest", "0" * 64)
    assert done.code == 1


def test_propose_refuses_what_was_not_handed_over(
    cadence: Cadence, propose: Cadence, measured: Path, checkout: Checkout, gh: FakeGitHub
) -> None:
    start = ("propose", "--release-sha", checkout.sha, "--image", IMAGE, "--bundle", measured / "bundle")
    wrong = cadence(*start, "--rehearsal", "--bundle-sha256", "0" * 64)
    assert (wrong.code, "the measuring job made" in wrong.error) == (1, True)
    real = cadence(*start)
    assert (real.code, "rehearsal" in real.error) == (1, True)
    bare = cadence(*start, "--rehearsal", GITHUB_ACTIONS="true")
    assert (bare.code, "--bundle-sha256" in bare.error) == (2, True)
    assert not gh.writes()


def test_dispatch_with_a_dropped_answer_starts_exactly_one_run(
    cadence: Cadence, checkout: Checkout, gh: FakeGitHub
) -> None:
    gh.seed_run("release.yml", head_sha=checkout.sha)
    gh.faults.append(Fault("actions/create-workflow-dispatch", "drop", when="after"))
    done = cadence("dispatch", "--release-sha", checkout.sha, "--format", "json")
    assert done.code == 0, done.error
    assert done.json["dispatched"] is True
    assert len(gh.dispatches) == 1
    again = cadence("dispatch", "--release-sha", checkout.sha, "--format", "json")
    assert again.json["dispatched"] is False
    assert len(gh.dispatches) == 1
    assert len(gh.calls("actions/create-workflow-dispatch")) == 1


@pytest.mark.parametrize(
    "given",
    [("rehearsal=false",), ("release_sha=" + "9" * 40,), ("image=a", "image=b"), ("Rehearsal=false",)],
)
def test_dispatch_takes_no_input_that_says_otherwise(
    cadence: Cadence, checkout: Checkout, gh: FakeGitHub, given: tuple[str, ...]
) -> None:
    gh.seed_run("release.yml", head_sha=checkout.sha)
    more = [part for value in given for part in ("--input", value)]
    done = cadence("dispatch", "--release-sha", checkout.sha, "--rehearsal", *more)
    assert (done.code, "--input" in done.error) == (2, True)
    assert not gh.dispatches


@pytest.mark.parametrize("url", ["http://192.0.2.2:18777", "ftp://x", "https://user:pw@host", "nonsense"])
def test_the_token_goes_over_https_or_nowhere(cadence: Cadence, checkout: Checkout, url: str) -> None:
    done = cadence("guard", "--release-sha", checkout.sha, GITHUB_API_URL=url)
    assert (done.code, "GITHUB_API_URL" in done.error) == (2, True)
    assert "pw" not in done.error


def test_plan_and_guard_print_what_their_schemas_say(cadence: Cadence, checkout: Checkout) -> None:
    done = cadence("plan", "--release-sha", checkout.sha, "--image", IMAGE, "--format", "json")
    assert done.json["plan_digest"] == done.outputs["plan_digest"]
    assert done.json["approval"]
    assert cadence("guard", "--release-sha", checkout.sha, "--format", "json").json["verdict"] == "go"
