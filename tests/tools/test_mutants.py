"""What mutmut leaves is counted by group, and a survivor that nobody explained is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tools import mutants
from tools.mutants import Survivor, figures_table, found, recorded, survivors_table, verdict

SOURCE = """
def x_low__mutmut_orig(a, b=1):
    return min(
        a,
        b,
    )


def x_low__mutmut_1(a, b=1):
    return min(
        None,
        b,
    )


def x_low__mutmut_2(a, b=1):
    return min(
        a,
    )


class Case:
    def xǁCaseǁname__mutmut_orig(self, short=False):
        return "a"

    def xǁCaseǁname__mutmut_1(self, short=True):
        return "a"
"""
FIRST, SECOND = Survivor("statistics.x.low", "b,", ""), Survivor("cadence.guard.low", "b,", "")


def left(folder: Path, module: str, codes: dict[str, int | None]) -> None:
    """A module as mutmut leaves it: the mutated source and what became of each mutant."""
    path = folder / "discovercall" / f"{module}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SOURCE)
    name = f"discovercall.{module.replace('/', '.')}"
    exits = {f"{name}.{mutant}": code for mutant, code in codes.items()}
    path.with_name(path.name + ".meta").write_text(json.dumps({"exit_code_by_key": exits}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    left(tmp_path, "statistics/x", {"x_low__mutmut_1": 1, "x_low__mutmut_2": 0})
    left(tmp_path, "cadence/guard", {"x_low__mutmut_1": -24, "x_low__mutmut_2": 33})
    left(tmp_path, "cadence/other", {"x_low__mutmut_1": 0})
    return tmp_path


def test_mutants_are_counted_by_group_and_survivors_told_by_what_changed(folder: Path) -> None:
    assert found(folder) == {"statistics": (2, 1, (FIRST,)), "guard": (2, 1, (SECOND,))}
    assert list(found(folder, ["discovercall.statistics*"])) == ["statistics"]


def test_a_changed_default_of_a_method_is_told_too(tmp_path: Path) -> None:
    left(tmp_path, "cadence/guard", {"xǁCaseǁname__mutmut_1": 0})
    (survivor,) = found(tmp_path)["guard"].survivors
    assert survivor.function == "cadence.guard.Case.name"
    assert "short=False" in survivor.was
    assert "short=True" in survivor.became


def test_a_mutant_that_was_not_tried_is_no_result(folder: Path) -> None:
    left(folder, "cadence/guard", {"x_low__mutmut_1": None, "x_low__mutmut_2": None})
    with pytest.raises(SystemExit, match="were not tried"):
        found(folder)
    assert found(folder, ["discovercall.statistics*"])["statistics"].killed == 1


def test_a_survivor_keeps_its_kind_and_a_new_one_is_told(folder: Path) -> None:
    before = {
        "kinds": {"same": "says the same"},
        "survivors": [{**FIRST._asdict(), "kind": "same"}, {**SECOND._asdict(), "kind": "gone"}],
    }
    record = recorded(found(folder), before, "3")
    assert [survivor["kind"] for survivor in record["survivors"]] == ["same", "gone"]
    assert verdict(record) == [
        "statistics: 1 of 2 mutants killed, at least 90% wanted",
        "guard: 1 of 2 mutants killed, at least 90% wanted",
        "cadence.guard.low: no test noticed 'nothing' in place of 'b,'",
    ]
    record["groups"] = {"guard": {"mutants": 10, "killed": 9}}
    record["kinds"]["gone"] = "why"
    assert verdict(record) == []
    assert verdict(recorded(found(folder), {"kinds": {}, "survivors": []}, "3"))[-1].startswith(
        "cadence.guard"
    )


def test_the_committed_record_holds_what_the_documents_say() -> None:
    record: dict[str, Any] = json.loads(mutants.RECORD.read_text("utf-8"))
    assert verdict(record) == []
    assert sum(c["mutants"] - c["killed"] for c in record["groups"].values()) == len(record["survivors"])
    assert list(record["groups"]) == list(mutants.GROUPS)


def test_tables_name_groups_and_kinds() -> None:
    record = {
        "groups": {"guard": {"mutants": 200, "killed": 190}},
        "kinds": {"same": "Says the same.", "none": "Unused."},
        "survivors": [{**SECOND._asdict(), "kind": "same"}],
    }
    assert figures_table(record).splitlines()[2] == "| guard | `cadence.guard` | 200 | 190 | 10 | 95.0% |"
    assert survivors_table(record).splitlines()[2:] == ["| same | 1 | Says the same. | `cadence.guard.low` |"]
