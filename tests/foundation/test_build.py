"""What real builds carry: the commit, the data files, and nothing that git does not track."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.foundation.sources import ask, commit_all, copy_sources, git

pytestmark = [pytest.mark.slow, pytest.mark.part("wheel and sdist")]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = copy_sources(tmp_path / "checkout")
    (root / "schemas").mkdir(exist_ok=True)
    (root / "schemas" / "sample.schema.json").write_text("{}\n", encoding="utf-8")
    commit_all(root)
    return root


def build(root: Path, target: str, out: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(out)]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    (built,) = out.iterdir()
    return built


def install(source: Path, site: Path) -> Path:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [*command, "--no-index", "--target", str(site), str(source)], check=True, capture_output=True
    )
    return site


def revision(answer: dict[str, Any]) -> tuple[Any, ...]:
    return answer["commit"], answer["source"], answer["dirty"]


def test_a_wheel_carries_its_commit_and_the_data(checkout, tmp_path) -> None:
    wheel = build(checkout, "wheel", tmp_path / "out")
    commit = git(checkout, "rev-parse", "HEAD")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert json.loads(archive.read("discovercall/_build.json")) == {"commit": commit, "dirty": False}
    assert len(names) == len(set(names))
    assert {"discovercall/py.typed", "discovercall/_data/schemas/sample.schema.json"} <= set(names)
    for folder in ("tasks", "adapters"):
        for path in (checkout / folder).rglob("*"):
            if path.is_file():
                assert f"discovercall/_data/{path.relative_to(checkout).as_posix()}" in names
    assert git(checkout, "status", "--porcelain", "--ignored") == ""

    project = tmp_path / "another"
    project.mkdir()
    site = install(wheel, project / "site-packages")
    commit_all(project)
    answer = ask(site, project)
    assert revision(answer) == (commit, "build", False)
    assert Path(answer["tasks"]).read_bytes() == (checkout / "tasks" / "v4.jsonl").read_bytes()


def test_installing_a_clone_by_its_path_works(checkout, tmp_path) -> None:
    git(tmp_path, "clone", "--quiet", str(checkout), str(tmp_path / "clone"))
    site = install(tmp_path / "clone", tmp_path / "site")
    assert revision(ask(site, tmp_path)) == (git(checkout, "rev-parse", "HEAD"), "build", False)
    assert git(tmp_path / "clone", "status", "--porcelain", "--ignored") == ""


def test_an_sdist_hands_its_commit_on_and_holds_tracked_files_only(checkout, tmp_path) -> None:
    (checkout / "tasks" / "private.runs.jsonl").write_text("{}\n", encoding="utf-8")
    (checkout / "key.txt").write_text("secret\n", encoding="utf-8")
    sdist = build(checkout, "sdist", tmp_path / "out")
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
        archive.extractall(tmp_path / "unpacked", filter="data")
    tracked = git(checkout, "ls-files").splitlines()
    assert sorted(names) == sorted([*tracked, "PKG-INFO", "discovercall/_build.json"])

    (root,) = (tmp_path / "unpacked").iterdir()
    commit_all(tmp_path)  # as if it were unpacked inside another project
    again = build(root, "sdist", tmp_path / "again")
    with tarfile.open(again) as archive:
        assert sorted(name.partition("/")[2] for name in archive.getnames()) == sorted(names)
    site = install(root, tmp_path / "site")
    answer = ask(site, tmp_path)
    assert revision(answer) == (git(checkout, "rev-parse", "HEAD"), "build", False)
    assert Path(answer["tasks"]).is_file()


@pytest.mark.parametrize("change", ["LICENSE", "discovercall/extra.py"])
def test_a_build_of_a_changed_checkout_names_no_commit(checkout, tmp_path, change) -> None:
    (checkout / change).write_text("# changed\n", encoding="utf-8")
    site = install(build(checkout, "wheel", tmp_path / "out"), tmp_path / "site")
    assert revision(ask(site, tmp_path)) == (None, "build", True)


def test_a_build_without_git_names_no_commit_and_has_the_data(tmp_path) -> None:
    root = copy_sources(tmp_path / "archive")
    commit_all(tmp_path)
    site = install(root, tmp_path / "site")
    answer = ask(site, tmp_path)
    assert revision(answer) == (None, "none", False)
    assert Path(answer["tasks"]).is_file()


def test_an_editable_installation_is_its_checkout(checkout, tmp_path) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    subprocess.run([*command, "--target", str(tmp_path / "site"), "--editable", str(checkout)], check=True)
    (link,) = (tmp_path / "site").glob("*.pth")
    assert revision(ask(Path(link.read_text().strip()), tmp_path)) == (
        git(checkout, "rev-parse", "HEAD"),
        "checkout",
        False,
    )
