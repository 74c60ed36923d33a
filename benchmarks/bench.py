"""Measures what whole commands cost and writes the figures, from which docs/performance.md has its tables.

    python -m benchmarks.bench [--quick] [--output benchmarks/figures.json]

With --quick each thing is measured once at its smallest size, which shows that everything works; the
figures are worth nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.loopback_run import API_S, Runs, serving
from benchmarks.timing import Cost, by_turns, cost_of

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "benchmarks" / "figures.json"
PROGRAM = str(Path(sysconfig.get_path("scripts")) / "discovercall")
Costs = dict[str, Callable[[], Cost]]
LIBRARIES = "import scipy.special, pydantic"
# name: tasks, trials, rounds of score, rounds of publish
SIZES = {"54": (18, 3, 7, 7), "10000": (100, 100, 3, 1), "100000": (1000, 100, 3, 1)}


def main() -> int:
    """Measure, and write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path, default=FIGURES)
    options = parser.parse_args()
    os.chdir(ROOT)
    figures: dict[str, Any] = {"schema_version": 1, "machine": _machine()}
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        for section in (_start, _run, _records, _gateway):
            print(f"{time.perf_counter() - started:4.0f} s  {section.__name__[1:]}", file=sys.stderr)
            figures |= section(Path(name), options.quick)
    figures["machine"]["load_at_end"] = round(os.getloadavg()[0], 1)
    figures["machine"]["took_s"] = round(time.perf_counter() - started)
    options.output.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


def _machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "load_at_start": round(os.getloadavg()[0], 1),
    }


def _python(code: str) -> Callable[[], Cost]:
    return partial(cost_of, [sys.executable, "-c", code])


def _start(folder: Path, quick: bool) -> dict[str, Any]:
    costs: Costs = {
        "bare": _python("pass"),
        "import": _python("import discovercall"),
        "help": partial(cost_of, [PROGRAM, "--help"]),
        "command_help": partial(cost_of, [PROGRAM, "run", "--help"]),
        "libraries": _python(LIBRARIES),
    }
    return {"start": by_turns(costs, 1 if quick else 11)}


def _run(folder: Path, quick: bool) -> dict[str, Any]:
    with serving(0) as instant, serving(API_S) as slow:
        runs = Runs(folder, PROGRAM, (instant, slow))
        costs = runs.costs()
        if quick:
            costs = {name: costs[name] for name in ("instant", "plan_only", "bare_starts")}
        return {"run": by_turns(costs, 1 if quick else 3)}


def _records(folder: Path, quick: bool) -> dict[str, Any]:
    score, publish = {}, {}
    for name, (tasks, trials, score_rounds, publish_rounds) in SIZES.items():
        if quick and name != "54":
            break
        own = folder / name
        own.mkdir()
        maker = [sys.executable, "-m", "benchmarks.workload", str(own), str(tasks), str(trials)]
        subprocess.run(maker, check=True)
        costs: Costs = {"score": partial(_score, own), "libraries": _python(LIBRARIES)}
        if score_rounds == publish_rounds:  # the difference of the two is a promise at this size
            costs["publish"] = partial(_publish, own)
        measured = by_turns(costs, 1 if quick else score_rounds)
        if "publish" not in measured:
            measured |= by_turns({"publish": partial(_publish, own)}, publish_rounds)
        score[name] = measured["score"] | {"libraries_wall_s": measured["libraries"]["wall_s"]}
        publish[name] = measured["publish"]
    return {"score": score, "publish": publish}


def _score(folder: Path) -> Cost:
    words = [PROGRAM, "score", "--tasks", "v4.jsonl", "--runs", "records.jsonl", "--output", "summary.json"]
    return cost_of(words, cwd=folder)


def _publish(folder: Path) -> Cost:
    stem = "2026-12-31-bench-v4"
    for name in (f"{stem}.runs.jsonl", f"{stem}.summary.json"):
        with contextlib.suppress(FileNotFoundError):
            (folder / name).unlink()
    words = [PROGRAM, "publish", "--tasks", "v4.jsonl", "--runs", "records.jsonl"]
    words += ["--policy", str(ROOT / "publication-policy.json")]
    words += ["--output-runs", f"{stem}.runs.jsonl", "--output-summary", f"{stem}.summary.json"]
    return cost_of(words, cwd=folder)


def _gateway(folder: Path, quick: bool) -> dict[str, Any]:
    words = [sys.executable, "benchmarks/gateway_scale.py", "--runs", "5" if quick else "200"]
    found = {"lexical": _json_lines(words + (["--sizes", "100"] if quick else []))}
    if not quick:
        with contextlib.suppress(subprocess.CalledProcessError):  # without the extra `semantic`
            found["hybrid"] = _json_lines([*words, "--hybrid"])
    return {"gateway": found}


def _json_lines(words: list[str]) -> list[dict[str, Any]]:
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


if __name__ == "__main__":
    sys.exit(main())
