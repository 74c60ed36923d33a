"""The scripted MCP server as a test uses it: its state file, its calls, a gateway.toml that names it."""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discovercall.gateway.config import load_config

PROGRAM = Path(__file__).with_name("server.py")
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NOTHING = {"type": "object", "properties": {}}


class Scripted:
    """One scripted server in a folder; `words` are more arguments of its program over stdio."""

    def __init__(self, folder: Path, name: str = "desk", *words: str) -> None:
        self.folder, self.name, self.words = folder, name, words
        self.state, self.log = folder / f"{name}.json", folder / f"{name}.calls"

    def offer(self, *tools: dict[str, Any]) -> "Scripted":
        self.state.write_text(json.dumps({"tools": tools, "calls": str(self.log)}))
        return self

    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def toml(self, **more: Any) -> str:
        lines = [f"[servers.{self.name}]", f"command = {json.dumps(sys.executable)}"]
        lines.append(f"args = {json.dumps([str(PROGRAM), str(self.state), *self.words])}")
        return "\n".join([*lines, *(f"{name} = {value}" for name, value in more.items())]) + "\n"

    @contextmanager
    def serving(self, key: str = ""):
        """The server over HTTP; gives its address."""
        command = [sys.executable, str(PROGRAM), str(self.state), "http", *([key] if key else [])]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                yield f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"
            finally:
                process.kill()


def tool(name: str, schema: dict[str, Any] = TEXT, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": schema, "description": f"Does {name}.", **more}


def configure(folder: Path, text: str, environment: dict[str, str] | None = None):
    """A checked configuration of a TOML text, with limits that a busy machine can keep."""
    path = folder / "gateway.toml"
    if "[timeouts]" not in text:
        text += "\n[timeouts]\ndiscovery_ms = 60000\ncall_ms = 60000\n"
    path.write_text(text)
    return load_config(path, environment or {})
