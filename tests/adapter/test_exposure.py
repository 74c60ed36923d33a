"""Other processes that lead to the catalog key are found, and no others."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from discovercall.adapter.exposure import find_exposure


@contextmanager
def process(*arguments: str, **environment: str) -> Iterator[int]:
    """A process that waits, with these words on its command line."""
    started = subprocess.Popen(
        ["/bin/sh", "-c", "read -r _", *arguments], stdin=subprocess.PIPE, env=environment, close_fds=True
    )
    try:
        yield started.pid
    finally:
        started.communicate()


@pytest.fixture
def key() -> str:
    return f"qv-{secrets.token_hex(16)}"


@pytest.fixture
def key_file(tmp_path: Path) -> str:
    path = tmp_path / f"{secrets.token_hex(8)}.key"
    path.touch()
    return str(path)


def test_a_key_that_nobody_shows_is_not_found(key: str, key_file: str) -> None:
    with process("other", OTHER="qv-other"):
        assert find_exposure(key, key_file) is None


def test_a_key_in_an_environment_is_found(key: str) -> None:
    with process(SOME_NAME=f" {key}") as pid:
        assert str(find_exposure(key)) == f"process {pid} (sh) has it in its environment"


def test_a_key_on_a_command_line_is_found(key: str) -> None:
    with process(f"--key={key}") as pid:
        assert str(find_exposure(key)) == f"process {pid} (sh) has it in its command line"


@pytest.mark.parametrize("shown", ["{}", "--api-key-file={}", "discovercall run --api-key-file '{}'; date"])
def test_the_path_of_a_key_file_is_found(key: str, key_file: str, shown: str) -> None:
    with process(shown.format(key_file)) as pid:
        found = find_exposure(key, key_file)
    assert found is not None
    assert (found.pid, found.place) == (pid, "command line")


@pytest.mark.parametrize("shown", ["{}2", "/else{}", "{}/x", "my-{}"])
def test_a_longer_path_is_another_one(key: str, key_file: str, shown: str) -> None:
    with process(shown.format(key_file)):
        assert find_exposure(key, key_file) is None


def test_a_pipe_gives_its_key_once_only(key: str) -> None:
    with process("/dev/null"):
        assert find_exposure(key, "/dev/null") is None
        assert find_exposure(key, "-") is None


def test_a_short_key_is_not_looked_for() -> None:
    with process(NAME="sh"):
        assert find_exposure("sh") is None
