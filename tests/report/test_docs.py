"""The page on reading results: its commands run, and what it names is there."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from discovercall.cli.main import main
from tests.publication.runs import ROOT

PAGE = (ROOT / "docs" / "reading-results.md").read_text("utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


@pytest.mark.parametrize("line", COMMANDS)
def test_its_commands_run(line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    words = [word.replace("/tmp/", f"{tmp_path}/") for word in shlex.split(line, comments=True)]
    monkeypatch.setattr(sys, "argv", words)
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0


def test_the_files_that_it_names_exist() -> None:
    assert len(COMMANDS) == 5
    assert (ROOT / "schemas" / "report.schema.json").is_file()
    assert "schemas/report.schema.json" in PAGE
