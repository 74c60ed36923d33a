from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from discovercall.adapter.removal import remove_tree
from tests.adapter.running import Bench

DEPTH = 3000
NEST = f"""
import os
for _ in range({DEPTH}):
    os.mkdir("d")
    os.chdir("d")
open("file", "w").close()
"""


def test_deep_scratch_folder_is_removed_and_the_answer_stands(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert Bench()(NEST + "print('{}')").stdout == b"{}\n"
    assert list(tmp_path.iterdir()) == []


def test_everything_in_a_tree_is_removed_and_nothing_outside(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    tree = tmp_path / "tree"
    for path in ("a/b/c", "a/lifted-1/x", "lifted-1/y", "lifted-2", "shut/in"):
        (tree / path).mkdir(parents=True)
        (tree / path / "file").write_text("")
    (tree / "a/link").symlink_to(outside)
    (tree / "link").symlink_to(outside)
    os.mkfifo(tree / "a/pipe")
    os.mkdir(os.fsencode(tree) + b"/\xff\n")
    for folder in ("shut/in", "shut", "a/b"):
        (tree / folder).chmod(0)
    remove_tree(str(tree))
    assert sorted(os.listdir(tmp_path)) == ["outside"]
    assert (outside / "kept").read_text() == "kept"


@pytest.mark.parametrize("name", ["missing", "file", "link"])
def test_what_is_no_folder_is_no_error(tmp_path: Path, name: str):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "kept").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    remove_tree(str(tmp_path / name))
    assert (tmp_path / "folder" / "kept").exists()


def test_deep_and_wide_tree_needs_no_recursion(tmp_path):
    limit = sys.getrecursionlimit()
    descriptor = os.open(tmp_path, os.O_RDONLY)
    os.mkdir("tree", dir_fd=descriptor)
    name = "tree"
    for _ in range(limit + 50):
        inner = os.open(name, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor, name = inner, "d"
        for made in ("d", "e"):
            os.mkdir(made, dir_fd=descriptor)
    os.close(descriptor)
    remove_tree(str(tmp_path / "tree"))
    assert list(tmp_path.iterdir()) == []
