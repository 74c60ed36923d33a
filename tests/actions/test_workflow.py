"""The cadence workflow as a whole: from `workflow_dispatch` to a draft pull request, as a rehearsal."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from discovercall.cadence.bundle import read_bundle
from tests.actions.lab import HARNESS, LAB, build, require
from tests.actions.workflow import Done, act, add_workflow, run_workflow
from tests.cadence.checkout import REPOSITORY, ROOT, Checkout, make_checkout, seed
from tests.support.github.fake_github import FakeGitHub

HOSTILE = ROOT / "tests" / "actions" / "hostile.py"
WRITES = ["git/create-tree", "git/create-commit", "git/create-ref", "pulls/create", "issues/add-labels"]
WRITE_TOKEN, CATALOG_KEY = "marked-write-0a1b2c3d", "marked-catalog-4e5f6a7b"

pytestmark = pytest.mark.slow


def check_proposed(gh: FakeGitHub, checkout: Checkout, done: Done) -> None:
    assert done.code == 0, done.log[-4000:]
    assert [x.op for x in gh.writes()] == WRITES
    (pull,) = gh.pulls
    assert pull["draft"] is True
    assert pull["head_ref"] == f"benchmark/rehearsal-{checkout.sha[:12]}"
    assert len(list(done.artifacts.iterdir())) == 1
    assert len(read_bundle(done.artifacts / "bundle").files) == 4
    gh.assert_clean()


@pytest.mark.part("whole workflow, installed command")
def test_without_docker(tmp_path: Path) -> None:
    if act() is None:
        pytest.skip("act is not installed")
    checkout = add_workflow(make_checkout(tmp_path / "repository"))
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "discovercall").write_text(
        f"#!/bin/sh\nPYTHONPATH={checkout.root} PYTHONDONTWRITEBYTECODE=1 exec {sys.executable}"
        ' -c "from discovercall.cli.main import main; main()" "$@"\n'
    )
    (programs / "discovercall").chmod(0o755)
    inputs = {"release_sha": checkout.sha, "rehearsal": "true", "runtime": "installed"}
    with FakeGitHub(REPOSITORY) as gh:
        seed(gh, checkout.sha)
        path = {"PATH": f"{programs}:{os.environ['PATH']}"}
        done = run_workflow(checkout, gh, tmp_path / "one", inputs, {"GITHUB_TOKEN": gh.token}, env=path)
        check_proposed(gh, checkout, done)
        again = run_workflow(checkout, gh, tmp_path / "two", inputs, {"GITHUB_TOKEN": gh.token}, env=path)
        assert again.code == 0, again.log[-4000:]
        assert "[Discover-call cadence/Measure]" not in again.log
        assert [x.op for x in gh.writes()] == WRITES


@pytest.fixture
def loot() -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """A listener that adapters can send to, and what came."""
    received: list[dict[str, Any]] = []

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port, received
    server.shutdown()
    server.server_close()


def test_the_hostile_adapter_finds_what_lies_about(tmp_path: Path) -> None:
    """Else the next test could not fail."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(f"extraheader = {WRITE_TOKEN}\n")
    child = subprocess.run(
        [sys.executable, str(HOSTILE), str(tmp_path)],
        env={**os.environ, "TOKEN": CATALOG_KEY},
        capture_output=True,
        text=True,
        check=True,
    )
    places = {mark: place for place, mark in json.loads(child.stdout) if not place.startswith("/proc")}
    assert places == {WRITE_TOKEN: f"{tmp_path}/.git/config", CATALOG_KEY: "environment"}


@pytest.mark.part("whole workflow in containers, with a hostile adapter")
def test_in_containers_where_a_hostile_adapter_finds_no_token(
    tmp_path: Path, loot: tuple[int, list[dict[str, Any]]]
) -> None:
    require()
    if act() is None:
        pytest.skip("act is not installed")
    port, received = loot
    clean = add_workflow(make_checkout(tmp_path / "clean"))
    build(clean.root, HARNESS, "harness", clean.sha)
    folder = make_checkout(tmp_path / "repository")
    adapter = HOSTILE.read_text().replace("@PORT@", str(port))
    (folder.root / "adapters" / "first_result.py").write_text(adapter)
    checkout = add_workflow(folder, dockerfile=derived_dockerfile())
    inputs = {"release_sha": checkout.sha, "rehearsal": "true", "network": "host"}
    with FakeGitHub(REPOSITORY, token=WRITE_TOKEN) as gh:
        seed(gh, checkout.sha)
        gh.read_token = "read-only"
        secrets = {
            "GITHUB_TOKEN": gh.read_token, "BENCHMARK_PR_TOKEN": WRITE_TOKEN, "QVERIS_API_KEY": CATALOG_KEY,
        }  # fmt: skip
        engine = (str(LAB), "engine", "-l", HARNESS, "--")
        done = run_workflow(checkout, gh, tmp_path / "run", inputs, secrets, prefix=engine)
        check_proposed(gh, checkout, done)
        assert all(x.headers["authorization"].endswith(WRITE_TOKEN) for x in gh.writes())
    assert received, "the hostile adapter did not run"
    assert {entry["uid"] for entry in received} == {10001}
    assert [entry["found"] for entry in received if entry["found"]] == []
    names = {name for entry in received for name in entry["names"]}
    assert not {name for name in names if re.match(r"GITHUB_|ACTIONS_|RUNNER_|QVERIS_|IN_", name)}


def derived_dockerfile() -> str:
    """The real image, with this checkout's adapters: quick to build, and the action's own build runs."""
    data = "/opt/discovercall/lib/python3.13/site-packages/discovercall/_data"
    return f"FROM {HARNESS} AS harness\nARG SOURCE_COMMIT=\nCOPY adapters {data}/adapters\n"
