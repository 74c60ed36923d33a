from __future__ import annotations

import os
import subprocess
import sys

import pytest

from discovercall.adapter.startable import check_startable
from discovercall.foundation.errors import InputError


def script(folder, text: str, mode: int = 0o755) -> str:
    path = folder / "adapter"
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_program_becomes_an_absolute_path(tmp_path, monkeypatch):
    path = script(tmp_path, "#!/bin/sh\n")
    monkeypatch.chdir(tmp_path)
    assert check_startable(["./adapter", "-x", "--flag"]) == [path, "-x", "--flag"]
    assert check_startable([sys.executable]) == [sys.executable]


def test_command_is_looked_up_in_the_given_path(tmp_path):
    path = script(tmp_path, "#!/bin/sh\n")
    assert check_startable(["adapter"], str(tmp_path)) == [path]
    assert os.path.isabs(check_startable(["sh"])[0])


def test_script_without_interpreter_line_is_fine(tmp_path):
    path = script(tmp_path, "echo '{}'\n")
    assert check_startable([path]) == [path]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ([], "no adapter"),
        ([""], "no adapter"),
        (["no-such-command-anywhere"], "no such command"),
        (["/no/such/file"], "no such file"),
        (["/etc"], "is a folder"),
        (["sh", "a\0b"], "NUL"),
    ],
)
def test_what_cannot_be_started(command, said):
    with pytest.raises(InputError, match=said):
        check_startable(command)


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("#!/bin/sh\n", 0o644, "not executable"),
        ("#!/no/such/interpreter -x\n", 0o755, "interpreter /no/such/interpreter cannot be run"),
        ("#!/bin/sh\r\necho\r\n", 0o755, "ends in"),
    ],
)
def test_scripts_that_cannot_be_started(tmp_path, text, mode, said):
    with pytest.raises(InputError, match=said):
        check_startable([script(tmp_path, text, mode)])


@pytest.mark.parametrize("line", ["#!/bin/sh", "#! /bin/sh", "#!/bin/sh -e\n", "#!\t/usr/bin/env python3\n"])
def test_interpreter_lines(tmp_path, line):
    assert check_startable([script(tmp_path, line)])


ENV_LINES = [
    ("{name}", True),
    ("\t{name}", True),
    ("-S {name} -u -x", True),
    ("-S{name} -u", True),
    ("-vS {name}", True),
    ("--split-string={name} -u", True),
    ("-S A=1 B=2 {name} -u", True),
    ("-S -u HOME {name}", True),
    ("-S '{name}'", True),
    ("{name} -u", False),  # without -S, env looks for a command of that whole name
]


@pytest.mark.parametrize(("rest", "starts"), ENV_LINES)
@pytest.mark.parametrize("installed", [True, False])
def test_interpreter_that_env_looks_up(tmp_path, rest, starts, installed):
    """What is said agrees with what the system does."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "cat").symlink_to("/bin/cat")
    if installed:
        (tools / "runs-it").write_text("#!/bin/sh\nexit 0\n")
        (tools / "runs-it").chmod(0o755)
    path = script(tmp_path, f"#!/usr/bin/env {rest.format(name='runs-it')}\n")
    environment = {"PATH": str(tools), "HOME": "/"}
    done = subprocess.run([path], env=environment, cwd="/", capture_output=True, check=False)
    assert (done.returncode == 0) == (installed and starts)
    if done.returncode == 0:
        assert check_startable([path], str(tools)) == [path]
    else:
        with pytest.raises(InputError, match=r"its interpreter runs-it.* is not on the adapter's PATH"):
            check_startable([path], str(tools))


@pytest.mark.parametrize(
    "rest", ["-i /bin/sh", "-S -i sh", "-S PATH=/bin:/usr/bin sh", "-S ${HOME}/sh", "-S 'open", "--help", ""]
)
def test_env_lines_that_only_env_can_judge_pass(tmp_path, rest):
    path = script(tmp_path, f"#!/usr/bin/env {rest}\n")
    assert check_startable([path], str(tmp_path)) == [path]


@pytest.mark.parametrize("line", ["#!bin/sh", "#!/usr", "#!/usr/bin/env -S /no/such/thing", "#!"])
def test_interpreters_that_are_no_program(tmp_path, monkeypatch, line):
    monkeypatch.chdir("/")
    with pytest.raises(InputError, match="its interpreter"):
        check_startable([script(tmp_path, line + "\n")])


def test_interpreter_of_an_interpreter_is_checked(tmp_path):
    (tmp_path / "middle").write_text("#!/no/such/interpreter\n")
    (tmp_path / "middle").chmod(0o755)
    path = script(tmp_path, "#!/usr/bin/env middle\n")
    with pytest.raises(InputError, match="/no/such/interpreter cannot be run"):
        check_startable([path], str(tmp_path))
