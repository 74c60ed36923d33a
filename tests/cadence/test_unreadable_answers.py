"""Answers that GitHub never gives: a proxy's page, half an answer, other types. None is a traceback."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from discovercall.cadence.bundle import read_bundle
from discovercall.cadence.document import RunFacts
from discovercall.cadence.github import GitHub
from discovercall.cadence.github_requests import READ_TRIES, Access, Surroundings
from discovercall.cadence.plan import CadencePlan
from discovercall.cadence.problems import GitHubProblem
from discovercall.cadence.proposal import Proposal, make_proposal, propose, results_of_bundle
from discovercall.cadence.release import ask_guard, check_release
from tests.cadence.checkout import REPOSITORY, seed
from tests.cadence.conftest import Waits
from tests.support.github.fake_github import FakeGitHub, Fault

ANSWERS = {
    "array": b"[]",
    "null": b"null",
    "text": b'"yes"',
    "page": b"<html>",
    "empty": b"",
    "NaN": b'{"id": NaN}',
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "other types": b'{"id":"1","default_branch":5,"private":"no","html_url":7,"full_name":"a/b","url":"u",'
    b'"name":"b","owner":{"login":"a"}}',
    "long number": b'{"id":' + b"9" * 6000 + b"}",
    "lone surrogate": b'{"id":1,"default_branch":"\\ud800","private":false,"html_url":"https://x",'
    b'"full_name":"a/b","owner":{"login":"a"}}',
    "no UTF-8": b"\xff\xfe{}",
}
Ask = Callable[[GitHub], object]


@pytest.fixture(scope="module")
def proposal(measured: Path, plan: CadencePlan) -> Proposal:
    bundle = read_bundle(measured / "bundle")
    facts = RunFacts(
        plan.release_sha, plan.date, "v99", plan.branch, plan.digest, bundle.sha256, bundle.spent
    )
    return make_proposal(results_of_bundle(bundle, plan), plan, facts, secrets=())


@pytest.fixture
def answering() -> Iterator[Callable[[bytes], str]]:
    """A server that has one answer to everything."""
    answers = [b""]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answers[0])))
            self.end_headers()
            self.wfile.write(answers[0])

        do_POST = do_GET

        def log_message(self, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def answer(content: bytes) -> str:
        answers[0] = content
        return f"http://127.0.0.1:{server.server_port}"

    yield answer
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_the_first_answer_already(answering: Callable[[bytes], str], waits: Waits, answer: bytes) -> None:
    access = Access(base_url=answering(answer), repository=REPOSITORY, token="t0ken", paced=False)
    client = GitHub(access, Surroundings(lambda: 1e6, waits.slept.append, waits.said.append))
    with pytest.raises(GitHubProblem, match="no answer that can be read") as refusal:
        client.repository()
    assert "nothing made" not in str(refusal.value)
    assert refusal.value.number == "M7"
    assert len(waits.slept) == READ_TRIES - 1


@pytest.fixture
def odd() -> Iterator[FakeGitHub]:
    """A fake whose answers may be anything, so they are held to no description."""
    with FakeGitHub(REPOSITORY) as fake:
        seed(fake, "f" * 40)
        yield fake


@pytest.fixture
def asking(odd: FakeGitHub, waits: Waits) -> GitHub:
    access = Access(base_url=odd.url, repository=REPOSITORY, token=odd.token, paced=False)
    return GitHub(access, Surroundings(lambda: 1e6, waits.slept.append, waits.said.append))


READS: dict[str, Ask] = {
    "pulls/list": lambda client: ask_guard(client, "benchmark/cadence-" + "a" * 12),
    "git/list-matching-refs": lambda client: client.branch_commit("main"),
    "git/get-tag": lambda client: check_release(client, "f" * 40, ["v*"]),
    "git/get-commit": lambda client: client.commit("f" * 40),
    "git/get-tree": lambda client: client.files("f" * 40),
    "git/get-blob": lambda client: client.blob("a" * 40),
    "repos/compare-commits": lambda client: client.is_ancestor("f" * 40, "main"),
    "actions/list-workflow-runs": lambda client: client.runs("release.yml"),
}
ODD: list[Any] = [
    None,
    "<html>",
    {"sha": 5, "tree": [1], "id": "x", "status": 3},
    [{"ref": 7, "number": "x"}],
]


@pytest.mark.parametrize("operation", READS)
@pytest.mark.parametrize("answer", ODD, ids=["null", "page", "object", "list"])
def test_every_read(odd: FakeGitHub, asking: GitHub, waits: Waits, operation: str, answer: Any) -> None:
    asking.repository()
    odd.faults.append(Fault(operation, status=200, body=answer, times=1_000))
    with pytest.raises(GitHubProblem, match="no answer that can be read") as refusal:
        READS[operation](asking)
    assert refusal.value.number == "M7"
    assert len(waits.slept) == READ_TRIES - 1


def test_one_odd_answer_is_asked_again(odd: FakeGitHub, asking: GitHub, waits: Waits) -> None:
    odd.faults.append(Fault("git/list-matching-refs", status=200, body="<html>", times=1))
    assert asking.branch_commit("main") == odd.refs["refs/heads/main"]
    assert waits.slept == [1.0]


@pytest.mark.parametrize(
    "location", ["http://example.invalid/x", "https://127.0.0.1:9/x", "{own}", "http://[x"]
)
def test_a_redirect_elsewhere_is_not_followed(
    odd: FakeGitHub, asking: GitHub, waits: Waits, location: str
) -> None:
    asking.repository()
    own = f"{odd.url}/repos/{REPOSITORY}/git/matching-refs/heads%2Fmain"
    headers = {"Location": location.format(own=own)}
    odd.faults.append(Fault("git/list-matching-refs", status=301, body={}, headers=headers, times=10_000))
    with pytest.raises(GitHubProblem, match=r"no answer(:| that can be read)") as refusal:
        asking.branch_commit("main")
    assert refusal.value.number == "M7"
    assert len(waits.slept) == READ_TRIES - 1


def outcome(client: GitHub, proposal: Proposal) -> str:
    try:
        return "made" if propose(client, proposal).made else "there"
    except GitHubProblem as problem:
        return problem.number


@pytest.mark.parametrize("answer", [{}, "<html>"], ids=["object", "page"])
@pytest.mark.parametrize(
    "operation", ["git/create-tree", "git/create-commit", "git/create-ref", "pulls/create"]
)
def test_a_write_is_looked_after_and_not_repeated(
    odd: FakeGitHub, asking: GitHub, proposal: Proposal, operation: str, answer: Any
) -> None:
    odd.faults.append(Fault(operation, status=201, body=answer, when="after", times=1))
    assert outcome(asking, proposal) in ("made", "M7")
    assert len(odd.calls(operation)) == 1
    assert propose(asking, proposal).pull.draft
    assert len(odd.pulls) == 1
