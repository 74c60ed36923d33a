"""Stands in for a model command line: notes how it was started, then plays a script.

It is copied under the name of a command line, with its script (JSON) beside it. Everything that it was given
goes into `<name>.seen.json` before it plays: arguments, environment, standard input, files.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else "(folder)"


def main() -> None:
    me = Path(sys.argv[0])
    script = json.loads(me.with_name(f"{me.name}.script.json").read_text(encoding="utf-8"))
    if sys.argv[1:] == ["--version"]:
        print(script["version"])
        sys.exit(script.get("version_status", 0))
    if script.get("ignore_term"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    given = [Path(argument) for argument in sys.argv[1:] if argument.startswith("/")]
    config = Path(os.environ.get("CODEX_HOME") or os.environ["CLAUDE_CONFIG_DIR"])
    seen = {
        "pid": os.getpid(),
        "arguments": sys.argv[1:],
        "environment": dict(os.environ),
        "stdin": "" if script.get("no_reading") else sys.stdin.buffer.read().decode("utf-8"),
        "work": os.listdir("."),
        "home": os.listdir(os.environ["HOME"]),
        "config": {path.name: text_of(path) for path in config.iterdir()},
        "links": {path.name: os.readlink(path) for path in config.iterdir() if path.is_symlink()},
        "files": {path.name: text_of(path) for path in given if path.exists()},
    }
    if script.get("leave_child"):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        seen["child"] = child.pid
    for name, text in script.get("replace", {}).items():  # as a renewed login may be written
        (config / f"{name}.new").write_text(text)
        os.replace(config / f"{name}.new", config / name)
    note = me.with_name(f"{me.name}.seen.json")
    note.with_suffix(".new").write_text(json.dumps(seen), encoding="utf-8")
    os.replace(note.with_suffix(".new"), note)
    for line in script.get("stderr", ()):
        print(line, file=sys.stderr, flush=True)
    for line in script.get("stdout", ()):
        print(line, flush=True)
    for _ in range(script.get("flood_mib", 0)):
        sys.stdout.write("x" * (2**20 - 1) + "\n")
    time.sleep(script.get("sleep_s", 0))
    sys.exit(script.get("status", 0))


main()
