"""The toolkit revision is that of the installed code, whatever folder or settings a command runs under."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.foundation.sources import ask, commit_all, copy_sources, git


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A clean checkout that tests must leave as it is, and its commit."""
    root = copy_sources(tmp_path_factory.mktemp("sources") / "checkout")
    return root, commit_all(root)


@pytest.fixture
def checkout(committed: tuple[Path, str], tmp_path: Path) -> Path:
    """A clean checkout that a test may change."""
    git(tmp_path, "clone", "--quiet", str(committed[0]), str(tmp_path / "checkout"))
    return tmp_path / "checkout"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A repository of somebody else to stand in, with settings that would run a program."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "file").write_text("x", encoding="utf-8")
    commit_all(folder)
    trap = folder / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {folder}/sprung\n", encoding="utf-8")
    trap.chmod(0o755)
    git(folder, "config", "core.fsmonitor", str(trap))
    return folder


def test_a_clean_checkout_is_its_head_wherever_the_command_runs(committed, elsewhere) -> None:
    root, commit = committed
    for cwd in (root, elsewhere, Path("/")):
        answer = ask(root, cwd)
        assert (answer["commit"], answer["source"], answer["dirty"]) == (commit, "checkout", False)
        assert answer["tasks"] == str(root / "tasks" / "v4.jsonl")
    assert not (elsewhere / "sprung").exists()


def test_git_variables_do_not_redirect(committed, elsewhere) -> None:
    root, commit = committed
    redirects = {
        "GIT_DIR": str(elsewhere / ".git"),
        "GIT_WORK_TREE": str(elsewhere),
        "GIT_INDEX_FILE": str(elsewhere / ".git" / "index"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": str(elsewhere / "trap"),
    }
    answer = ask(root, elsewhere, **redirects)
    assert (answer["commit"], answer["dirty"]) == (commit, False)
    assert not (elsewhere / "sprung").exists()


def test_settings_of_the_checkout_run_no_program(checkout, elsewhere) -> None:
    git(checkout, "config", "core.fsmonitor", str(elsewhere / "trap"))
    assert ask(checkout, elsewhere)["dirty"] is False
    assert not (elsewhere / "sprung").exists()


def modify(root: Path) -> None:
    with (root / "README.md").open("a", encoding="utf-8") as file:
        file.write("changed\n")


def stage_and_restore(root: Path) -> None:
    text = (root / "README.md").read_bytes()
    modify(root)
    git(root, "add", "README.md")
    (root / "README.md").write_bytes(text)


def delete(root: Path) -> None:
    (root / "LICENSE").unlink()


def hide_a_change(root: Path) -> None:
    git(root, "update-index", "--assume-unchanged", "README.md")
    modify(root)


def skip_a_change(root: Path) -> None:
    git(root, "update-index", "--skip-worktree", "README.md")
    modify(root)


def add_module(root: Path) -> None:
    (root / "discovercall" / "extra.py").touch()


def add_shadowing_binary(root: Path) -> None:
    (root / "discovercall" / "foundation" / "added.so").touch()


def add_adapter(root: Path) -> None:
    (root / "adapters").mkdir(exist_ok=True)
    (root / "adapters" / "mine.py").touch()


def add_ignored_module(root: Path) -> None:
    (root / ".git" / "info" / "exclude").write_text("*.py\n", encoding="utf-8")
    add_module(root)


@pytest.mark.parametrize(
    "change",
    [
        modify,
        stage_and_restore,
        delete,
        hide_a_change,
        skip_a_change,
        add_module,
        add_shadowing_binary,
        add_adapter,
        add_ignored_module,
    ],
)
def test_a_changed_checkout_is_dirty(checkout, change) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    change(checkout)
    answer = ask(checkout, checkout)
    assert (answer["commit"], answer["source"], answer["dirty"]) == (commit, "checkout", True)


def test_files_that_do_not_run_leave_a_checkout_clean(checkout) -> None:
    (checkout / "notes.py").touch()
    (checkout / "discovercall" / "notes.txt").touch()
    (checkout / "discovercall" / "__pycache__").mkdir()
    (checkout / "discovercall" / "__pycache__" / "errors.cpython-311.pyc").touch()
    os.utime(checkout / "README.md", (0, 0))
    assert ask(checkout, checkout)["dirty"] is False


def test_a_linked_work_tree_is_its_own_head(checkout, tmp_path) -> None:
    git(checkout, "worktree", "add", "--quiet", "-b", "other", str(tmp_path / "linked"))
    modify(tmp_path / "linked")
    commit = commit_all(tmp_path / "linked")
    answer = ask(tmp_path / "linked", checkout)
    assert (answer["commit"], answer["dirty"]) == (commit, False)


def test_sources_without_git_have_no_revision_even_inside_another_repository(tmp_path) -> None:
    commit_all(tmp_path)
    root = copy_sources(tmp_path / "unpacked")
    answer = ask(root, tmp_path)
    assert (answer["commit"], answer["source"], answer["dirty"]) == (None, "none", False)


def test_a_repository_without_commits_has_no_revision(tmp_path) -> None:
    root = copy_sources(tmp_path / "fresh")
    git(root, "init", "--quiet")
    assert ask(root, root)["source"] == "none"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The package as an installation lays it down, inside the repository of another project."""
    site = tmp_path / "project" / "lib" / "site-packages"
    source = copy_sources(tmp_path / "sources")
    site.mkdir(parents=True)
    shutil.move(source / "discovercall", site / "discovercall")
    (tmp_path / "project" / "pyproject.toml").write_text('[project]\nname = "other"\n', encoding="utf-8")
    commit_all(tmp_path / "project")
    return site


COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"commit": COMMIT, "dirty": False}, (COMMIT, "build", False)),
        ({"commit": "a" * 64, "dirty": False}, ("a" * 64, "build", False)),
        ({"commit": "", "dirty": True}, (None, "build", True)),
        ({"commit": COMMIT, "dirty": True}, (None, "build", True)),
        ({"commit": "", "dirty": False}, (None, "none", False)),
        ({"commit": "main", "dirty": False}, (None, "none", False)),
        ([COMMIT], (None, "none", False)),
        (None, (None, "none", False)),
    ],
)
def test_an_installation_says_what_its_build_wrote(installed, record, expected) -> None:
    if record is not None:
        (installed / "discovercall" / "_build.json").write_text(json.dumps(record), encoding="utf-8")
    answer = ask(installed, installed.parents[1])
    assert (answer["commit"], answer["source"], answer["dirty"]) == expected
    assert answer["tasks"] == str(installed / "discovercall" / "_data" / "tasks" / "v4.jsonl")


def test_an_installation_in_the_top_of_another_project_is_no_checkout(installed) -> None:
    site = installed.parents[1]
    shutil.move(installed / "discovercall", site / "discovercall")
    commit_all(site)
    assert ask(site, site)["source"] == "none"
