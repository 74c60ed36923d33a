from __future__ import annotations

import os
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
