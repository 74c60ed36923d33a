"""Writes what the baseline measured into METHODOLOGY.md's table of targets.

    python -m tools.evaluation_targets [--check]

Columns `measured` and `reached` are made anew from results/gateway/snapshots/baseline.json. With `--check`
nothing is written, and a table that is not current is exit 1.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discovercall.evals.documents import read_result

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "METHODOLOGY.md"
BASELINE = ROOT / "results" / "gateway" / "snapshots" / "baseline.json"
ROW = re.compile(r"^(\| [^|]+ \| `([\w.]+)` \| ([≥≤]) ([\d.]+) \|) [^|]+ \| [^|]+ \|$", re.MULTILINE)


def with_measured(page: str, result: Mapping[str, Any]) -> str:
    """The page, its table of targets filled in from a result.

    Raises:
        KeyError: a row names a metric that the result does not know.
    """

    def filled(row: re.Match[str]) -> str:
        value: Any = result
        for name in row[2].split("."):
            value = value[name]
        target = float(row[4])
        reached = value is not None and (value >= target if row[3] == "≥" else value <= target)
        shown = "–" if value is None else f"{value:.3f}"
        return f"{row[1]} {shown} | {'yes' if reached else 'no'} |"

    return ROW.sub(filled, page)


def main(arguments: list[str]) -> int:
    """Fill in or check; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.evaluation_targets")
    parser.add_argument("--check", action="store_true", help="write nothing, say whether it is current")
    options = parser.parse_args(arguments)
    before = PAGE.read_text(encoding="utf-8")
    after = with_measured(before, read_result(BASELINE))
    if before == after:
        return 0
    if options.check:
        print(f"not current: {PAGE.name}; run python -m tools.evaluation_targets")
        return 1
    PAGE.write_text(after, encoding="utf-8")
    print(f"written: {PAGE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
