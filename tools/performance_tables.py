"""The tables of docs/performance.md, from benchmarks/figures.json."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

HELP_FACTOR, HELP_EXTRA_S = 1.5, 0.150
TRIALS = 54
Figures = Mapping[str, Any]


def machine(figures: Figures) -> str:
    """On what it was measured, in a sentence."""
    found = figures["machine"]
    return prose(
        f"{found['system']}, {found['cores']} cores, Python {found['python']}; {found['took_s']} s in all."
        f" Load average {found['load_at_start']} before and {found['load_at_end']} after; one"
        " well above 1 before would say that others were at work, and that wall times are too long."
    )


def promises(figures: Figures) -> str:
    """Each promise with what was measured."""
    start, score, publish, run = (figures[name] for name in ("start", "score", "publish", "run"))
    small = score["54"]
    allowed_help = HELP_FACTOR * start["bare"]["cpu_s"] + HELP_EXTRA_S
    rows = [
        (
            "`discovercall --help`, CPU",
            "1.5 × bare Python + 0.15 s",
            start["help"]["cpu_s"],
            allowed_help,
            "s",
        ),
        (
            "`score` of 54 records, beyond importing scipy.special and pydantic",
            "0.25 s",
            small["wall_s"] - small["libraries_wall_s"],
            0.25,
            "s",
        ),
        ("`score` of 10,000 records", "1.2 s", score["10000"]["wall_s"], 1.2, "s"),
        ("`score` of 100,000 records", "5 s", score["100000"]["wall_s"], 5.0, "s"),
        ("its memory", "450 MiB", score["100000"]["peak_mib"], 450.0, "MiB"),
        (
            "`publish` of 54 records, beyond `score`",
            "0.3 s",
            publish["54"]["wall_s"] - small["wall_s"],
            0.3,
            "s",
        ),
        ("a run of 54 trials against an instant API", "1.6 s", run["instant"]["wall_s"], 1.6, "s"),
    ]
    return _table(
        ("promise", "at most", "measured", "kept"),
        [
            (what, limit, _amount(value, unit), "yes" if value <= most else "no")
            for what, limit, value, most, unit in rows
        ],
    )


def start(figures: Figures) -> str:
    """Starting, beside a bare interpreter."""
    found, names = (
        figures["start"],
        {
            "bare": "`python -c pass`",
            "import": "`import discovercall`",
            "help": "`discovercall --help`",
            "command_help": "`discovercall run --help`",
            "libraries": "`import scipy.special, pydantic`",
        },
    )
    bare = found["bare"]["cpu_s"]
    return _table(
        ("", "wall", "CPU", "× bare Python"),
        [
            (name, _amount(cost["wall_s"], "s"), _amount(cost["cpu_s"], "s"), f"{cost['cpu_s'] / bare:.1f}")
            for key, name in names.items()
            for cost in [found[key]]
        ],
    )


def records(figures: Figures) -> str:
    """`score` and `publish` by the number of records."""
    rows = []
    for command in ("score", "publish"):
        for size, cost in figures[command].items():
            per_record = cost["cpu_s"] / int(size) * 1e6
            rows.append(
                (
                    f"`{command}`",
                    f"{int(size):,}",
                    _amount(cost["wall_s"], "s"),
                    _amount(cost["cpu_s"], "s"),
                    f"{per_record:,.0f} µs",
                    _amount(cost["peak_mib"], "MiB"),
                )
            )
    return _table(("", "records", "wall", "CPU", "CPU a record", "memory"), rows)


def run(figures: Figures) -> str:
    """A run of 54 trials."""
    found = figures["run"]
    names = {
        "instant": "instant API and adapter, four trials at once",
        "instant_one_by_one": "the same, one trial after the other",
        "plan_only": "`--plan-only`: start, checks and plan",
        "bare_starts": "the adapter's 108 processes alone, one after the other",
        "slow_one_by_one": "20 ms an answer, 60 ms a decision, one trial after the other",
        "slow_eight_at_once": "the same, eight trials at once",
    }
    rows = [
        (names[key], _amount(cost["wall_s"], "s"), _amount(cost["cpu_s"], "s")) for key, cost in found.items()
    ]
    one, plan, bare = (found[key]["wall_s"] for key in ("instant_one_by_one", "plan_only", "bare_starts"))
    slow, fast = (found[key]["wall_s"] for key in ("slow_one_by_one", "slow_eight_at_once"))
    overhead = (one - plan - bare) / TRIALS * 1000
    said = prose(
        f"The harness adds {overhead:.0f} ms a trial to what its two adapter processes take: requests,"
        f" limits, journal, record. Eight at once take {fast / slow:.2f} of the sequential time,"
        f" {slow / fast:.1f} times as fast."
    )
    return f"{_table(('', 'wall', 'CPU'), rows)}\n\n{said}"


def gateway(figures: Figures) -> str:
    """The gateway's search by the size of the catalog."""
    found = figures["gateway"]
    first = found["lexical"][0]["find"]["p50CpuMs"]
    rows = []
    for line in [*found["lexical"], *found.get("hybrid", [])]:
        if "tools" not in line:
            continue
        find = line["find"]
        rows.append(
            (
                "words" if line["leg"] == "lexical" else "words and model",
                f"{line['tools']:,}",
                f"{find['p50Ms']:.1f} ms",
                f"{find['p95Ms']:.1f} ms",
                f"{find['p50CpuMs'] / first:.1f}",
                _amount(line["indexBuildS"], "s"),
                _amount(line["indexPeakGrowthMiB"], "MiB"),
            )
        )
    columns = (
        "search by",
        "tools",
        "median",
        "95th percentile",
        "CPU × first row",
        "index built in",
        "index memory",
    )
    return _table(columns, rows)


def prose(text: str) -> str:
    """A paragraph in lines as the documents have them."""
    return textwrap.fill(text, 115, break_long_words=False, break_on_hyphens=False)


def _amount(value: float, unit: str) -> str:
    return f"{value:.0f} {unit}" if unit == "MiB" else f"{value:.2f} {unit}"


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heading = list(columns)
    rule = ["---", *["---:"] * (len(heading) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [heading, rule, *rows])
