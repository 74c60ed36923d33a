"""Runs the quick tests under branch coverage, in every process that they start, and judges the result.

    python -m tools.branch_coverage [ARGUMENTS OF PYTEST]

With arguments, as `-m slow tests/isolation`, it runs these tests instead, adds to what the last run without
any has measured, and judges both together. Exit status 1 when the whole is below `FLOOR`, or when a module of
`WHOLE` has a line or a branch that no test takes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ".coverage-data"
"""Where the settings in pyproject.toml put measurements."""
PARTS = ("discovercall", "adapters")
FLOOR = 95.0
"""Percent of all branches, and of all statements."""
WHOLE = (
    "discovercall/cadence/approval.py",
    "discovercall/cadence/guard.py",
    "discovercall/contract/journal.py",
    "discovercall/contract/ledger.py",
    "discovercall/contract/matching.py",
    "discovercall/contract/scoring.py",
    "discovercall/contract/spend.py",
    "discovercall/contract/validation.py",
    "discovercall/publication/consistency.py",
    "discovercall/publication/fields.py",
    "discovercall/publication/policy.py",
    "discovercall/publication/sanitizing.py",
    "discovercall/publication/validation.py",
    "discovercall/publication/verification.py",
    "discovercall/statistics/",
)
"""Modules and folders of which tests take every branch: numbers, money and privacy hang on them."""

# Measuring takes time and writes files, which is what these promise about.
_DISTURBED = (
    "tests/adapter/test_process.py::test_adapter_may_tidy_up_when_asked_to_end",
    "tests/adapters/test_openai_compatible.py::test_starts_within_its_share_of_processor_time",
    "tests/cli/test_run_disk.py::test_a_full_disk_ends_the_run_in_one_line_and_the_journal_stays_whole",
)
_START = """import os, sys
if os.path.isdir({data!r}):
    import coverage
    os.environ.update(COVERAGE_PROCESS_START={config!r}, COVERAGE_ROOT={root!r})
    coverage.process_startup()
    del os.environ["COVERAGE_PROCESS_START"], os.environ["COVERAGE_ROOT"]
"""


@dataclass(frozen=True, slots=True)
class Module:
    """What no test takes of one module.

    Attributes:
        lines: numbers of statements.
        branches: as (from, to); a negative line is the end of what begins there.
    """

    name: str
    lines: tuple[int, ...]
    branches: tuple[tuple[int, int], ...]


@contextmanager
def measured(site: Path, root: Path = ROOT) -> Iterator[None]:
    """Have every process of this environment measured.

    A start-up file of the environment does it: tests clear the variables of what they start.

    Args:
        site: the environment's folder of packages.
        root: the checkout, whose `pyproject.toml` has the settings.
    """
    data = root / FOLDER
    data.mkdir(parents=True, exist_ok=True)
    data.chmod(0o1777)  # adapters may run as another user
    start = site / "zz_branch_coverage.pth"
    code = _START.format(data=str(data), config=str(root / "pyproject.toml"), root=str(root))
    start.write_text(f"import sys; exec({code!r})\n", encoding="utf-8")
    try:
        yield
    finally:
        start.unlink()


def combined(root: Path = ROOT) -> dict[str, Any]:
    """Coverage's JSON report of all that was measured."""
    from coverage import Coverage

    with tempfile.TemporaryDirectory() as folder, _root_is(root), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a killed process the file may be cut short
        coverage = Coverage(data_file=f"{folder}/data", config_file=str(root / "pyproject.toml"))
        coverage.set_option("run:parallel", False)
        coverage.combine([str(path) for path in (root / FOLDER).iterdir()], keep=True)
        report = Path(folder, "report.json")
        modules = [str(path) for part in PARTS for path in sorted((root / part).rglob("*.py"))]
        coverage.json_report(modules, outfile=str(report))  # also those that nothing has imported
        found: dict[str, Any] = json.loads(report.read_bytes())
        return found


@contextmanager
def _root_is(root: Path) -> Iterator[None]:
    """The settings name the checkout by this variable."""
    os.environ["COVERAGE_ROOT"] = str(root)
    try:
        with chdir(root):
            yield
    finally:
        del os.environ["COVERAGE_ROOT"]


def gaps(report: Mapping[str, Any]) -> list[Module]:
    """The modules of which something is left, the one with most branches first."""
    found = [
        Module(
            name,
            tuple(one["missing_lines"]),
            tuple((start, end) for start, end in one.get("missing_branches", ())),
        )
        for name, one in report["files"].items()
        if one["missing_lines"] or one.get("missing_branches")  # none is told where nothing was measured
    ]
    return sorted(found, key=lambda module: (-len(module.branches), -len(module.lines), module.name))


def judged(report: Mapping[str, Any], whole: Sequence[str] = WHOLE, floor: float = FLOOR) -> Iterator[str]:
    """What is wrong, a line each.

    Args:
        report: coverage's JSON report.
        whole: modules and folders that have to be wholly covered.
        floor: percent that the whole needs.
    """
    totals = report["totals"]
    for kind in ("branches", "statements"):
        percent = totals[f"percent_{kind}_covered"]
        if percent < floor:
            yield f"{kind}: {percent:.2f}% is below {floor:g}%"
    for part in whole:
        if not any(name.startswith(part) for name in report["files"]):
            yield f"{part}: nothing of this name was measured"
    for module in gaps(report):
        if module.name.startswith(tuple(whole)):
            yield f"{module.name}: has to be covered wholly; {_left(module)}"


def _left(module: Module) -> str:
    lines = ", ".join(map(str, module.lines))
    branches = ", ".join(f"{start}→{'end' if end < 0 else end}" for start, end in module.branches)
    return "; ".join(
        part for part in (lines and f"lines {lines}", branches and f"branches {branches}") if part
    )


def main(arguments: Sequence[str]) -> int:
    """Measure and judge."""
    if not arguments:
        shutil.rmtree(ROOT / FOLDER, ignore_errors=True)
    left_out = [word for test in _DISTURBED for word in ("--deselect", test)]
    with measured(Path(sysconfig.get_path("purelib"))):
        plugin = ("-p", "tools.saved_coverage")
        command = [sys.executable, "-m", "pytest", *plugin, *(arguments or ["-n", "2"]), *left_out]
        status = subprocess.run(command, cwd=ROOT).returncode
    report = combined()
    for module in gaps(report):
        print(f"{module.name}: {_left(module)}")
    totals = report["totals"]
    for kind in ("branches", "statements"):
        print(f"{kind}: {totals[f'percent_{kind}_covered']:.2f}%")
    problems = list(judged(report))
    print("\n".join(problems) or "Enough.")
    return 1 if problems else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
