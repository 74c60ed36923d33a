"""Changes the modules whose errors would cost most, one place at a time, and asks the tests to notice.

    python -m tools.mutants [--write] [PATTERN ...]

Runs mutmut as `[tool.mutmut]` in pyproject.toml says, then compares with benchmarks/mutants.json: exit status
1 where a group has less than 90% of its mutants killed, or where a mutant survives that the file does not
explain. With `--write` the file gets what was found; a survivor without a kind is to be given one by hand.
A pattern (`discovercall.statistics*`) restricts the run, and the verdict, to what it fits.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "benchmarks" / "mutants.json"
MUTANTS = ROOT / "mutants"
MINIMUM = 0.90
UNEXPLAINED = "unexplained"
GROUPS = {
    "scoring": ("contract.matching", "contract.scoring"),
    "sanitizing": ("publication.fields", "publication.policy", "publication.sanitizing"),
    "validating": (
        "contract.validation",
        "publication.consistency",
        "publication.validation",
        "publication.verification",
    ),
    "ledger": ("contract.journal", "contract.ledger", "contract.spend"),
    "statistics": ("statistics",),
    "guard": ("cadence.guard",),
}
# By mutmut's exit codes: a test failed, pytest itself did, or the mutant ran out of its time.
_KILLED = (1, 3, -24, 24, 36, 152, 255)
_NUMBER = re.compile(r"__mutmut_\d+$")


class Survivor(NamedTuple):
    """A change that no test noticed: in which function, what was there, what came in its place."""

    function: str
    was: str
    became: str


class Found(NamedTuple):
    """What became of one group's mutants."""

    mutants: int
    killed: int
    survivors: tuple[Survivor, ...]


def found(folder: Path, patterns: Sequence[str] = ()) -> dict[str, Found]:
    """What mutmut left in its folder, by group; only what the patterns fit.

    Raises:
        SystemExit: a mutant was not tried.
    """
    results = {}
    for group, modules in GROUPS.items():
        codes: dict[str, int | None] = {}
        survivors: list[Survivor] = []
        for meta in sorted((folder / "discovercall").rglob("*.py.meta")):
            module = ".".join(meta.relative_to(folder).parts).removesuffix(".py.meta")
            if not f"{module}.".startswith(tuple(f"discovercall.{name}." for name in modules)):
                continue
            tried = _tried(meta, patterns)
            codes |= tried
            alive = [name for name, code in tried.items() if code not in _KILLED]
            survivors += _survivors(meta.with_suffix(""), module, alive)
        if codes:
            results[group] = Found(len(codes), len(codes) - len(survivors), tuple(survivors))
    return results


def _tried(meta: Path, patterns: Sequence[str]) -> dict[str, int]:
    codes = json.loads(meta.read_text("utf-8"))["exit_code_by_key"]
    wanted = {
        name: code
        for name, code in codes.items()
        if not patterns or any(fnmatch(name, pattern) for pattern in patterns)
    }
    untried = [name for name, code in wanted.items() if code is None]
    if untried:
        raise SystemExit(f"{untried[0]} and {len(untried) - 1} others were not tried; run it again")
    return wanted


def _survivors(source: Path, module: str, names: Sequence[str]) -> Iterator[Survivor]:
    text = source.read_text("utf-8")
    lines = text.splitlines()
    functions = {
        node.name: lines[node.lineno - 1 : node.end_lineno]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    for name in names:
        mutant = name.rpartition(".")[2]
        original = _NUMBER.sub("__mutmut_orig", mutant)
        before, after = functions[original], functions[mutant]
        diff = [
            line
            for line in difflib.unified_diff(
                [before[0].replace(original, ""), *before[1:]],
                [after[0].replace(mutant, ""), *after[1:]],
                n=0,
                lineterm="",
            )
            if not line.startswith(("---", "+++", "@@"))
        ]
        was = " ".join(line[1:].strip() for line in diff if line.startswith("-"))
        became = " ".join(line[1:].strip() for line in diff if line.startswith("+"))
        plain = _NUMBER.sub("", mutant).removeprefix("x").removeprefix("_").replace("ǁ", ".").strip(".")
        yield Survivor(f"{module.removeprefix('discovercall.')}.{plain}", was, became)


def recorded(results: Mapping[str, Found], before: Mapping[str, Any], mutmut: str) -> dict[str, Any]:
    """The record of a run, with the kinds of those survivors that the record before explains."""
    kinds = {Survivor(s["function"], s["was"], s["became"]): s["kind"] for s in before["survivors"]}
    return {
        "mutmut": mutmut,
        "groups": {
            group: {"mutants": result.mutants, "killed": result.killed} for group, result in results.items()
        },
        "kinds": before["kinds"],
        "survivors": [
            {**survivor._asdict(), "kind": kinds.get(survivor, UNEXPLAINED)}
            for result in results.values()
            for survivor in result.survivors
        ],
    }


def verdict(record: Mapping[str, Any]) -> list[str]:
    """What is wrong with a record, a line each."""
    lines = [
        f"{group}: {counts['killed']} of {counts['mutants']} mutants killed, at least {MINIMUM:.0%} wanted"
        for group, counts in record["groups"].items()
        if counts["killed"] < MINIMUM * counts["mutants"]
    ]
    lines += [
        f"{s['function']}: no test noticed {s['became'] or 'nothing'!r} in place of {s['was']!r}"
        for s in record["survivors"]
        if s["kind"] not in record["kinds"]
    ]
    return lines


def figures_table(record: Mapping[str, Any]) -> str:
    """Mutants per group, as Markdown."""
    rows = ["| group | modules | mutants | killed | survived | killed, share |", "|-|-|-:|-:|-:|-:|"]
    for group, counts in record["groups"].items():
        modules = ", ".join(f"`{name}`" for name in GROUPS[group])
        total, killed = counts["mutants"], counts["killed"]
        rows.append(f"| {group} | {modules} | {total} | {killed} | {total - killed} | {killed / total:.1%} |")
    return "\n".join(rows)


def survivors_table(record: Mapping[str, Any]) -> str:
    """Why the survivors are no loss, by kind, as Markdown."""
    rows = ["| kind | survivors | why no test is to notice | an example |", "|-|-:|-|-|"]
    for kind, reason in record["kinds"].items():
        of_kind = [s for s in record["survivors"] if s["kind"] == kind]
        if of_kind:
            rows.append(f"| {kind} | {len(of_kind)} | {reason} | `{of_kind[0]['function']}` |")
    return "\n".join(rows)


def main() -> int:
    """Run mutmut, show the figures and say what is wrong with them."""
    parser = argparse.ArgumentParser(description="Mutation tests of the modules whose errors cost most.")
    parser.add_argument(
        "--write", action="store_true", help="write what was found to benchmarks/mutants.json"
    )
    parser.add_argument("--no-run", action="store_true", help="judge what the last run left")
    parser.add_argument("--children", type=int, default=2, help="processes at once (default 2)")
    parser.add_argument("patterns", nargs="*", help="mutants to try, such as discovercall.statistics*")
    options = parser.parse_args()
    if not options.no_run:
        mutmut = [sys.executable, "-m", "mutmut", "run", "--max-children", str(options.children)]
        subprocess.run([*mutmut, *options.patterns], cwd=ROOT, check=True)
    before = json.loads(RECORD.read_text("utf-8"))
    record = recorded(found(MUTANTS, options.patterns), before, version("mutmut"))
    for group, counts in record["groups"].items():
        print(f"{group:<12}{counts['killed']:>6} of {counts['mutants']:>4} mutants killed")
    if options.write:
        RECORD.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", "utf-8")
    problems = verdict(record)
    for line in problems:
        print(line)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
