"""docs/mcp-servers.md from its first command to its score, with the server that it shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_commands import PROGRAM, ROOT, lines_of, words_of

PAGE = (ROOT / "docs" / "mcp-servers.md").read_text("utf-8")


def block(language: str) -> str:
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return found[0]


@pytest.mark.slow
@pytest.mark.part("commands of the pages")
def test_the_page_leads_from_a_server_to_a_score(tmp_path: Path) -> None:
    (tmp_path / "notes_server.py").write_text(block("python"))
    (tmp_path / "gateway.toml").write_text(block("toml").replace("20000", "60000"))
    (tmp_path / "my-tasks.jsonl").write_text(block("json"))
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "COLUMNS": "100",
    }
    said = {}
    for command in lines_of(PAGE):
        words = [word.replace("/tmp/", f"{tmp_path}/") for word in words_of(command)]
        if "serve" in words:
            continue
        done = subprocess.run(
            [PROGRAM, *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        said[words[1] if words[0] == "gateway" else words[0]] = done.stdout
    assert list(said) == ["index", "list", "find", "call", "validate", "run", "score"]
    assert "notes: 2 tools\n" in said["index"]
    assert said["find"].startswith("notes.add_note ")
    assert json.loads(said["call"].split("\n\n")[0]) == {"result": "noted: Shopping"}
    assert "No strict failure." in said["score"]
