"""The installed package brings the whole corpus along, and finds it from any directory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from discovercall.evals.corpus import default_corpus_folder, load_corpus
from tests.foundation.sources import commit_all, copy_sources
from tests.foundation.test_build import build, install

pytestmark = [pytest.mark.slow, pytest.mark.part("wheel and sdist")]


def test_an_installed_wheel_measures_its_own_corpus_from_an_empty_folder(tmp_path: Path) -> None:
    checkout = copy_sources(tmp_path / "checkout")
    commit = commit_all(checkout)
    site = install(build(checkout, "wheel", tmp_path / "out"), tmp_path / "site")
    empty = tmp_path / "empty"
    empty.mkdir()

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-c", "from discovercall.cli.main import main; main()", "eval", *words]
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(site)}
        return subprocess.run(program, cwd=empty, env=environment, capture_output=True, text=True)

    sound = run("validate", "--format", "json")
    assert sound.returncode == 0, sound.stderr
    assert str(site) in json.loads(sound.stdout)["folder"]
    measured = run("run", "cache", "--format", "json")
    assert measured.returncode == 0, measured.stderr
    made = json.loads(measured.stdout)["provenance"]
    assert (made["gitCommit"], made["dirty"]) == (commit, False)
    assert made["corpusSha256"] == load_corpus(default_corpus_folder()).sha256
    assert list(empty.iterdir()) == []
