"""Where private records may be written: where nothing is, and where git takes nothing in."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from discovercall.contract.journal import journal_path
from discovercall.contract.outputs import check_output
from discovercall.foundation.errors import InputError


def checked(output: Path, **changes: Any) -> None:
    options: dict[str, Any] = {"allow_tracked": False, "resume": False, "inputs": [], **changes}
    journal = options.pop("journal", None) or journal_path(output)
    check_output(output, journal, options.pop("inputs"), **options)


def refused(line: str, output: Path, **changes: Any) -> None:
    with pytest.raises(InputError, match=f"^--output: {re.escape(line)}$"):
        checked(output, **changes)


def test_a_new_file_in_a_folder_will_do(tmp_path: Path) -> None:
    checked(tmp_path / "out.jsonl")


def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    fix = "is never overwritten; name another file, or continue that run with --resume"
    journal_path(output).touch()
    refused(f"{journal_path(output)} exists and {fix}", output)
    checked(output, resume=True)
    output.touch()
    refused(f"{output} exists and {fix}", output)
    journal_path(output).unlink()
    refused(f"{output} exists and {fix}", output, resume=True)


def test_names_that_are_no_new_file(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    refused("must name a file", Path("/"), journal=output)
    refused("must name a file", Path("a\0b"), journal=output)
    refused(f"{output} is the run's journal; name another file", output, journal=output)
    refused(f"{output} is also an input; name another file", output, inputs=[tmp_path / "x", output])
    none = tmp_path / "none"
    refused(f"the folder {none} does not exist; create it", none / "out.jsonl")


def test_git_takes_no_private_record_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    output = tmp_path / "out.jsonl"
    line = (
        f"{output} lies in a git work tree that does not ignore it; private records must not get in; name a"
        " file elsewhere, ignore output and journal, or give --allow-tracked-output"
    )
    refused(line, output)
    checked(output, allow_tracked=True)
    (tmp_path / ".gitignore").write_text("*.jsonl\n")
    checked(output)
    monkeypatch.setenv("PATH", "/nonexistent")  # nobody can say that it is ignored
    refused(line, output)
