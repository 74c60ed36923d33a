"""Where each figure of the documents comes from: committed files, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tools import mutants, performance_tables

FIGURES = "benchmarks/figures.json"
SNAPSHOT = "results/gateway/snapshots/baseline.json"
FIRST_SNAPSHOT = "results/gateway/snapshots/run-20261130T203856Z.json"
THRESHOLDS = "tasks/gateway/thresholds.json"
SMALL = "benchmarks/small-catalogs.json"
MUTANTS = "benchmarks/mutants.json"


class Sentence(NamedTuple):
    """Figures in prose or in a table that people keep.

    Attributes:
        pattern: finds each place; its groups are the figures.
        compute: the groups' texts, from the repository's top and the place.
    """

    pattern: str
    compute: Callable[[Path, re.Match[str]], Iterable[str]]


@cache
def _json(path: Path) -> Any:
    return json.loads(path.read_bytes())


def _performance(table: Callable[[Mapping[str, Any]], str]) -> Callable[[Path], str]:
    return lambda root: table(_json(root / FIGURES))


def _metric(root: Path, name: str) -> float | None:
    value = _json(root / SNAPSHOT)
    for part in name.split("."):
        value = value[part]
    return None if value is None else float(value)


def _target(root: Path, row: re.Match[str]) -> tuple[str, str]:
    value, aim = _metric(root, row["metric"]), float(row["aim"])
    if value is None:
        return "–", "no"
    reached = value >= aim if row["sign"] == "≥" else value <= aim
    return f"{value:.3f}", "yes" if reached else "no"


def _bank_findings(root: Path, _: re.Match[str]) -> tuple[str]:
    findings = _json(root / SNAPSHOT)["hygiene"]["findings"]
    return (str(sum(finding["check"] == "bank" for finding in findings)),)


def _loosened(root: Path) -> str:
    """The bounds that are looser than those which the first published measurement was held to."""
    from discovercall.evals.gates import evaluate_gates
    from discovercall.evals.thresholds import parse_thresholds

    now = _json(root / SNAPSHOT)
    bounds = parse_thresholds(_json(root / THRESHOLDS), THRESHOLDS)
    held = {gate.name: gate for gate in evaluate_gates(bounds, now, now["provenance"]["families"], None)}
    rows = [
        "| bound | | at first | since | measured at first | now |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for first in _json(root / FIRST_SNAPSHOT)["gates"]:
        since, lowest = held[first["name"]], first["comparator"] == "min"
        if since.threshold < first["threshold"] if lowest else since.threshold > first["threshold"]:
            figures = (first["threshold"], since.threshold, first["actual"], since.actual)
            cells = [f"`{first['name']}`", "≥" if lowest else "≤", *(f"{figure:.4f}" for figure in figures)]
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _search_rates(root: Path) -> str:
    """How the designs of the search fare on the committed corpus."""
    rankers = _json(root / SNAPSHOT)["rankers"]
    names = {
        "model": "`bank` with the model",
        "words": "`bank` by words",
        "rrf": "`rrf` with the model",
        "bm25": "`bm25`",
    }
    columns = ("top1", "top3", "falseRefusalRate", "noMatchCorrectness")
    rows = ["| search | first | among three | falsely refused | rightly refused |"]
    rows.append("| --- | ---: | ---: | ---: | ---: |")
    for key, name in names.items():
        overall = rankers[key]["overall"]
        rows.append(f"| {name} | {' | '.join(_rate(overall, column) for column in columns)} |")
    return "\n".join(rows)


def _rate(scope: Mapping[str, Any], name: str) -> str:
    interval = scope["intervals"][name]
    if scope[name] is None:
        return "–"
    return f"{scope[name]:.2f} [{interval['low']:.2f}, {interval['high']:.2f}] of {interval['of']}"


def _small_catalogs(root: Path) -> str:
    """How the search fares on catalogs of 24 tools, on the open and on the set-aside cases."""
    found = _json(root / SMALL)
    rows = ["| cases | search | first | paraphrases | falsely refused | refused without | no match refused |"]
    rows.append("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for part, name in (("open", "open"), ("heldOut", "set aside")):
        for design, shown in (("model", "with the model"), ("words", "by words")):
            scopes = found[part][design]
            cells = [
                _part(scopes["matchable"], "top1"),
                _part(scopes["semantic"], "top1"),
                _part(scopes["matchable"], "refused"),
                _part(scopes["matchable"], "refusedWithout"),
                _part(scopes["no_match"], "refusedWithout"),
            ]
            rows.append(f"| {name} | {shown} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _part(scope: Mapping[str, Any], name: str) -> str:
    low, high = scope[name]["interval"]
    return f"{scope[name]['rate']:.2f} [{low:.2f}, {high:.2f}] of {scope['n']}"


def _search_speed(root: Path) -> str:
    """The gateway's speed in three sentences."""
    found = _json(root / FIGURES)["gateway"]
    words = {line["tools"]: line for line in found["lexical"]}
    large, largest = words[10_000], words[40_000]
    text = (
        f"One thread (`python benchmarks/gateway_scale.py`): {_times(large)} for 10,000 tools by words,"
        f" {_times(largest)} for 40,000. The index of 10,000 is built in {large['indexBuildS']:.1f} s"
        f" and takes {large['indexPeakGrowthMiB']:.0f} MiB."
    )
    hybrid = [line for line in found.get("hybrid", []) if line.get("tools") == 10_000]
    if hybrid:
        text += f" With the model 10,000 take {_times(hybrid[0])}, most of it for the request's embedding."
    return performance_tables.prose(text)


def _times(line: Mapping[str, Any]) -> str:
    find = line["find"]
    return f"{find['p50Ms']:.1f} ms (95th percentile {find['p95Ms']:.1f} ms)"


def _encoding(root: Path, _: re.Match[str]) -> tuple[str]:
    found = _json(root / FIGURES)["gateway"]["hybrid"]
    return (f"{found[0]['encodeMsPerText']:.0f}",)


def _constant(module: str, *names: str) -> Callable[[Path, re.Match[str]], tuple[str, ...]]:
    def compute(_: Path, __: re.Match[str]) -> tuple[str, ...]:
        from importlib import import_module

        return tuple(f"{getattr(import_module(module), name):g}" for name in names)

    return compute


def _thresholds(_: Path, __: re.Match[str]) -> tuple[str, ...]:
    from discovercall.gateway import capabilities, discovery

    return (
        f"{capabilities.BY_MEANING.adopt:.2f}",
        f"{discovery.REFUSE_MARGIN:.2f}",
        f"{discovery.REFUSE_MARGIN_WORDS:.2f}",
        f"{discovery.SURE_DENSE:.2f}",
        f"{discovery.SURE_COVERAGE:.0%}",
        f"{discovery.AMBIGUOUS_GAP:.2f}",
        f"{discovery.AMBIGUOUS_GAP * discovery.WORDS_GAP_SCALE:.3f}",
        f"{discovery.HIGH_GAP:.2f}",
        f"{discovery.HIGH_GAP * discovery.WORDS_GAP_SCALE:.3f}",
        f"{discovery.HIGH_MARGIN:.2f}",
    )


def _notice_level(_: Path, __: re.Match[str]) -> tuple[str]:
    from discovercall.statistics.regression import NOTICE_LEVEL

    return (f"{NOTICE_LEVEL:.2f}".removeprefix("0"),)


def _scenarios(_: Path, __: re.Match[str]) -> tuple[str, str]:
    from tests.adapters.test_real_model_clis import CASES

    return str(len(CASES["codex"])), str(len(CASES["claude"]))


def _headline(language: str) -> Callable[[Path], str]:
    def page(root: Path) -> str:
        from discovercall.cadence.headline import current_pages, page_path
        from discovercall.cadence.plan import read_inputs

        return current_pages(read_inputs(root))[page_path(language)]

    return page


def _scoreboard(root: Path) -> str | None:
    from discovercall.evals.scoreboard import scoreboard

    return scoreboard(_json(root / SNAPSHOT)) if (root / SNAPSHOT).exists() else None


PAGES: dict[str, Callable[[Path], str | None]] = {
    "docs/headline.en.md": _headline("en"),
    "docs/headline.zh.md": _headline("zh"),
    "results/gateway/BENCHMARKS.md": _scoreboard,
}
BLOCKS: dict[str, Callable[[Path], str]] = {
    "machine": _performance(performance_tables.machine),
    "promises": _performance(performance_tables.promises),
    "start": _performance(performance_tables.start),
    "records": _performance(performance_tables.records),
    "run": _performance(performance_tables.run),
    "gateway": _performance(performance_tables.gateway),
    "loosened": _loosened,
    "search-rates": _search_rates,
    "search-speed": _search_speed,
    "small-catalogs": _small_catalogs,
    "mutants": lambda root: mutants.figures_table(_json(root / MUTANTS)),
    "survivors": lambda root: mutants.survivors_table(_json(root / MUTANTS)),
}
_DISCOVERY = "discovercall.gateway.discovery"
SENTENCES: dict[str, tuple[Sentence, ...]] = {
    "METHODOLOGY.md": (
        Sentence(
            r"^\| [^|]+ \| `(?P<metric>[\w.]+)` \| (?P<sign>[≥≤]) (?P<aim>[\d.]+)"
            r" \| ([\d.]+|–) \| (yes|no) \|$",
            lambda root, row: (row["metric"], row["sign"], row["aim"], *_target(root, row)),
        ),
        Sentence(r"The third finds (\d+) intents", _bank_findings),
        Sentence(
            r"within cosine ([\d.]+) of an intent", _constant("discovercall.evals.hygiene", "MAX_BANK_COSINE")
        ),
    ),
    "docs/gateway.md": (
        Sentence(r"about (\d+) ms per text", _encoding),
        Sentence(
            r"^\| words \| ([\d.]+) \| .*s/\(s\+([\d.]+)\)",
            _constant(_DISCOVERY, "W_LEXICAL", "LEXICAL_HALF"),
        ),
        Sentence(r"^\| meaning \| ([\d.]+) \|", _constant(_DISCOVERY, "W_DENSE")),
        Sentence(
            r"^\| capability \| ([\d.]+) \(([\d.]+) by words\) \|",
            _constant(_DISCOVERY, "W_EXEMPLAR", "W_EXEMPLAR_WORDS"),
        ),
        Sentence(r"^\| server \| ([\d.]+) \|", _constant(_DISCOVERY, "W_SERVER")),
        Sentence(r"^\| act \| ([\d.]+) \|", _constant(_DISCOVERY, "W_ACT")),
        Sentence(r"^\| affordance \| ([\d.]+) \|", _constant(_DISCOVERY, "W_AFFORDANCE")),
        Sentence(
            r"\(affinity ([\d.]+);[^|]+?below (-[\d.]+) \((-[\d.]+) by\s+words\)[^|]+?at least ([\d.]+)"
            r" \(by words:[^|]+?(\d+%)[^|]+?A gap under ([\d.]+)\s+\(([\d.]+) by\s+words\)[^|]+?gap of"
            r" ([\d.]+)\s+\(([\d.]+) by\s+words\) and a margin of ([\d.]+)\.",
            _thresholds,
        ),
    ),
    "docs/reading-results.md": (Sentence(r"`p` of at most (\.\d+) is", _notice_level),),
    "docs/model-clis.md": (Sentence(r"^\| scenarios, [^|]+ \| (\d+) \| (\d+) \|$", _scenarios),),
}
# What looks like a measurement and is none: levels, versions, limits that the program sets or the tests use.
GIVEN: dict[str, tuple[str, ...]] = {
    "*": ("95%", "Python 3.11"),
    "docs/evaluation.md": ("at most 256 MiB",),
    "docs/gateway.md": ("may have 16 MiB",),
    "docs/model-clis.md": ("after 0.3 s", "16 MiB", "limit + 1.5 s", "100 kB", "150 kB"),
    "docs/models.md": (", 120 s)",),
    "docs/reading-results.md": ("near 0 and 100%",),
}
