"""Puts the native program of the model CLI that cadence.json pins into a folder, without Node.js.

model_cli.py CADENCE_JSON TARGET
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Where each package keeps its program, and what has to be beside it.
NATIVE = {
    "@openai/codex": ("@openai/codex-linux-*/vendor/*", "bin/codex"),
    "@anthropic-ai/claude-code": ("@anthropic-ai/claude-code-linux-*", "claude"),
}


def main(config: Path, target: Path) -> None:
    """Install the package aside, keep its native folder, and see that it starts."""
    model = json.loads(config.read_text(encoding="utf-8"))["configured_model"]
    package, version = model["cli_package"], model["cli_version"]
    if package not in NATIVE:
        raise SystemExit(f"{package} is no package with a native program that is known here")
    pattern, program = NATIVE[package]
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(
            ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", scratch,
             f"{package}@{version}"],
            check=True,
        )  # fmt: skip
        found = [
            path for path in sorted(Path(scratch, "node_modules").glob(pattern)) if (path / program).is_file()
        ]
        if len(found) != 1:
            raise SystemExit(
                f"{package}@{version} holds {len(found)} native programs for this platform, not one"
            )
        shutil.copytree(found[0], target, symlinks=True)
    if not (target / "bin").is_dir():
        (target / "bin").mkdir()
        (target / "bin" / Path(program).name).symlink_to(target / program)
    said = subprocess.run(
        [target / program, "--version"], check=True, capture_output=True, text=True, timeout=60
    ).stdout
    if version not in said:
        raise SystemExit(f"{program} says {said.strip()}, cadence.json pins {version}")


main(Path(sys.argv[1]), Path(sys.argv[2]))
