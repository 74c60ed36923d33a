"""The page: a pure function of the result, whatever names and gaps it has."""

import copy
import json
import re
from pathlib import Path

import pytest

from discovercall.evals.documents import canonical, read_result, to_bytes
from discovercall.evals.scoreboard import scoreboard, verdict_line
from discovercall.evals.summary import concise, human
from discovercall.foundation.errors import InputError

BASELINE = Path(__file__).parents[2] / "results" / "gateway" / "snapshots" / "baseline.json"
HOSTILE = "a | b `c` <img src=x>\n| - | @everyone [x](http://y)"


FINDING = {
    "check": "bank",
    "intent": "who?",
    "category": "lexical",
    "where": "a.jsonl:1",
    "issue": "take it out",
}


@pytest.fixture
def result():
    """The committed measurement, with a finding of hygiene: a page shows those only where there are any."""
    found = copy.deepcopy(read_result(BASELINE))
    found["hygiene"]["findings"] = [dict(FINDING)]
    return found


def tables(page):
    """The lines of each table, as numbers of cells."""
    found, table = [], []
    for line in [*page.splitlines(), ""]:
        if line.startswith("|"):
            table.append(line.replace("\\|", "").count("|"))
        elif table:
            found.append(table)
            table = []
    return found


def test_sections_come_in_their_order(result):
    titles = [line for line in scoreboard(result).splitlines() if line.startswith("## ")]
    known = ["Discovery", "Invocation", "Ergonomics", "Token", "Performance", "Cache", "Gates", "Hygiene"]
    places = [next(i for i, title in enumerate(titles) if word in title) for word in known]
    assert places == sorted(places)
    assert scoreboard(result).startswith("# Gateway benchmarks\n\n**Verdict: ")


def test_names_from_a_corpus_break_no_table_and_make_no_link(result):
    result["ergonomics"]["offenders"] = {"anchorRate": [HOSTILE]}
    result["hygiene"]["findings"][0] |= {"where": HOSTILE, "issue": HOSTILE}
    result["gates"][0]["name"] = HOSTILE
    page = scoreboard(result)
    assert all(len(set(table)) == 1 for table in tables(page))
    for line in page.splitlines():
        if "@everyone" in line:
            assert "`` a" in line


def test_gaps_are_dashes(result):
    for scope in result["discovery"].values():
        for metric, value in scope.items():
            if isinstance(value, float):
                scope[metric] = None
        scope["intervals"] = {}
    for gate in result["gates"]:
        gate |= {"actual": None, "pass": False, "skipped": True, "skipReason": "no cases"}
    result["tokens"] |= {"fixedTask": None, "tasks": None}
    page = scoreboard(result)
    assert all(len(set(table)) == 1 for table in tables(page))
    assert "skipped: no cases" in page
    assert "top-1 –" in concise(result)
    assert human(result).endswith(concise(result))


def test_a_set_aside_block_and_a_comparison_are_shown(result):
    result["heldOut"] = {"n": 9, "sha256": "0" * 64, "rankers": result["rankers"], "hygieneFindings": 0}
    result["diff"] = {
        "baselineGeneratedAt": "2026-01-01T00:00:00.000Z",
        "baselineCommit": None,
        "comparable": True,
        "reason": None,
        "same": 5,
        "metrics": [
            {
                "metric": "discovery.overall.top1",
                "baseline": 0.5,
                "current": 0.75,
                "delta": 0.25,
                "direction": "better",
            }
        ],
        "flips": [],
    }
    page = scoreboard(result)
    assert "9 intents that nothing was tuned on; reported, not gated." in page
    assert "| `discovery.overall.top1` | 0.500 | 0.750 | +0.250 | better |" in page
    (overall,) = [line for line in page.splitlines() if line.startswith("| overall |")][:1]
    assert overall.endswith(" +0.250 |")
    result["diff"] |= {"comparable": False, "reason": "the corpus differs", "metrics": []}
    assert "Not compared with the baseline of 2026-01-01T00:00:00.000Z: the corpus differs." in scoreboard(
        result
    )


@pytest.mark.parametrize(("value", "shown"), [(0, "0.0%"), (1, "100.0%"), (0.5, "50.0%"), (None, "–")])
def test_the_screen_shows_rates_of_nought_and_one(result, value, shown):
    """A stored result has them as integers."""
    result["invocation"]["repairSuccess"] = value
    lines = [line.split() for line in human(result).splitlines()]
    assert ["repairSuccess", shown, *(["of", "15"] if value is not None else [])] in lines
    rates = [name for family in ("invocation", "ergonomics", "cache") for name in result[family]["intervals"]]
    assert not set(rates) - {line[0] for line in lines if line}


def test_every_rate_has_the_number_of_its_cases_beside_it(result):
    page, screen = scoreboard(result).splitlines(), human(result).splitlines()
    tables = page[page.index("## Discovery") : page.index("## Invocation and repair")]
    shares = [cell for line in tables for cell in line.split("|") if "%" in cell]
    assert len(shares) >= 100
    assert [cell for cell in shares if not re.search(r"% \[\d+, \d+\] of \d+ $", cell)] == []
    semantic = next(line for line in tables if line.startswith("| semantic |"))
    assert semantic.startswith("| semantic | 55 | 36.4% [25, 50] of 55 | ")
    assert "| 16.7% [8, 31] of 42 |" in row_of(tables, "overall")
    alone = [line for line in screen if re.search(r"\.\d%(?! of \d)", line)]
    assert [line.split()[0] for line in alone] == ["startupReduction", "mean"]  # the latter says of how many
    assert "36.4% of 55" in row_of(screen, "semantic")


def row_of(lines, scope):
    """The first row of a scope."""
    return next(line for line in lines if line.lstrip("| ").startswith(scope))


def test_what_the_broker_costs_more_is_shown_and_called_more(result):
    result["tokens"]["startupReduction"] = -0.198
    assert ["startupReduction", "-19.8%"] in [line.split() for line in human(result).splitlines()]
    assert ": 19.8% more. Estimated" in scoreboard(result)
    result["tokens"]["startupReduction"] = 0
    assert ": 0.0% less. Estimated" in scoreboard(result)


def test_the_screen_has_the_tables_of_tokens_and_speed_as_the_page_has_them(result):
    lines = scoreboard(result).split("## Token economy")[1].splitlines()
    page = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    screen = [re.split(r"  +", line.strip()) for line in human(result).splitlines()]
    expected = [
        ("lexical", 4), ("endToEnd", 4), ("lexical, 2,000 tools", 4), ("coldStart", 2), ("at the start", 4),
        ("a fixed task, every operation once", 4),
    ]  # fmt: skip
    for name, cells in expected:
        (row,) = (row for row in page if row and row[0] == name)
        assert len(row) == cells
        assert row in screen
    result["performance"]["skipped"] = {"coldStart": "the program does not answer"}
    assert "- coldStart: not measured, the program does not answer" in scoreboard(result)


def test_a_family_without_any_rate_has_no_heading(result):
    result["tokens"] = {}
    assert "Tokens" not in human(result)


def test_everything_skipped_is_in_the_verdict(result):
    result["skipped"] = [{"what": "semantic leg", "reason": "a"}, {"what": "parity", "reason": "b"}]
    assert verdict_line(result) == "pass (semantic leg skipped: a; parity skipped: b)"


def test_documents_are_sorted_and_rounded():
    written = to_bytes({"b": 1 / 3, "a": [{"z": 0.1 + 0.2, "y": True}]})
    assert written.endswith(b"}\n")
    assert (
        json.loads(written) == canonical(json.loads(written)) == {"a": [{"y": True, "z": 0.3}], "b": 0.333333}
    )
    assert list(json.loads(written)) == ["a", "b"]


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda r: r.pop("gates"), "gates"),
        (lambda r: r.update(surplus=1), "surplus"),
        (lambda r: r.update(schema="discovercall-eval/2"), "schema"),
        (lambda r: r["discovery"]["overall"].update(top1=1.5), "discovery.overall.top1"),
    ],
)
def test_a_file_that_is_no_result_is_refused_by_its_field(result, tmp_path, change, where):
    change(result)
    (tmp_path / "r.json").write_text(json.dumps(result))
    with pytest.raises(InputError, match=f"r.json: {where}"):
        read_result(tmp_path / "r.json")
