"""Draws docs/demo.svg from a real run of `discovercall demo`.

    python tools/demo_picture.py [--check]

The demo is deterministic but for ids and times, so the picture only changes when its output does. With
`--check` nothing is written; exit status 1 when the picture is out of date.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI

from discovercall.report.terminal import print_summary

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "demo.svg"
_FONT_FACES = re.compile(r"\s*@font-face \{.*?\}\n", re.DOTALL)


def draw() -> str:
    """The picture of a demo run, without fonts from elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "discovercall", "demo", "--out", f"{folder}/demo"]
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
        summary = json.loads(Path(folder, "demo", "summary.json").read_text())
    console = Console(record=True, width=84, file=io.StringIO(), force_terminal=True)
    console.print("$ make demo", style="bold")
    print_summary(summary, console)
    svg = console.export_svg(title="discovercall demo", theme=DIMMED_MONOKAI, unique_id="demo")
    return _FONT_FACES.sub("\n", svg).replace("Fira Code", "ui-monospace, Menlo, Consolas")


def main() -> int:
    """Write the picture, or check it."""
    svg = draw()
    if "--check" in sys.argv[1:]:
        return 0 if PICTURE.read_text(encoding="utf-8") == svg else 1
    PICTURE.write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
