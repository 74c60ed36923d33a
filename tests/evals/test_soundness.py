"""A gateway result that was read is believed only as far as it bears itself out."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discovercall.evals.soundness import problems_of, read_sound_result
from discovercall.foundation.errors import InputError

BASELINE = Path(__file__).parents[2] / "results" / "gateway" / "snapshots" / "baseline.json"
Json = dict[str, Any]


@pytest.fixture(scope="module")
def made() -> Json:
    return dict(json.loads(BASELINE.read_bytes()))


def test_the_published_baseline_bears_itself_out() -> None:
    assert read_sound_result(BASELINE)["verdict"] == "pass"


def overall(value: Json, **changes: Any) -> None:
    for scopes in (value["discovery"], value["rankers"]["model"]):
        scopes["overall"] |= changes


def no_figure(value: Json) -> None:
    value["gates"][0]["name"] = "discovery.overall.invented"


def failing(value: Json) -> None:
    value["gates"][0] |= {"threshold": 1.0, "pass": False}


def other_interval(value: Json) -> None:
    value["invocation"]["intervals"]["repairSuccess"]["low"] = 0.99


def without_interval(value: Json) -> None:
    del value["invocation"]["intervals"]["repairSuccess"]
    value["invocation"]["repairRate"] = 1


def regressed(value: Json) -> None:
    value |= {"verdict": "fail", "regressions": ["discovery.overall.top1"]}


LIES: dict[str, Callable[[Json], Any]] = {
    "discovery": lambda value: value["discovery"]["overall"].update(top1=0.99),
    "discovery.overall.top1": lambda value: overall(value, top1=0.99),
    "discovery.overall.n": lambda value: overall(value, n=100_000),
    "discovery.overall.mrr": lambda value: overall(value, mrr=0.7),
    "discovery.overall.decisionMix": lambda value: overall(
        value, decisionMix={**value["discovery"]["overall"]["decisionMix"], "use": 0}
    ),
    "cases": lambda value: value.pop("cases"),
    "invocation.repairSuccess": other_interval,
    "invocation.repairRate": without_interval,
    "invocation.noContactRate": lambda value: value["invocation"].update(noContactRate=10**400),
    "tokens.startupReduction": lambda value: value["tokens"].update(startupReduction=1),
    "tokens.startupReductionWithInstructions": lambda value: value["tokens"].update(
        startupReductionWithInstructions=0.9999
    ),
    "tokens.growth[1].startupReduction": lambda value: value["tokens"]["growth"][1].update(
        startupReduction=0.9999
    ),
    "tokens.otherEstimators.wordpiece.startupReduction": lambda value: value["tokens"]["otherEstimators"][
        "wordpiece"
    ].update(brokerStartup=1),
    "tokens.fixedTask.reduction": lambda value: value["tokens"]["fixedTask"].update(reduction=0.9999),
    "tokens.tasks.reduction": lambda value: value["tokens"]["tasks"].update(directTokensToSuccess="many"),
    "tokens.tasks.successRate": lambda value: value["tokens"]["tasks"].update(successRate=0.9999),
    "gates[0].actual": lambda value: value["gates"][0].update(actual=0.0),
    "gates[0].pass": lambda value: value["gates"][0].update({"pass": False}),
    "gates[0].name": no_figure,
    "gates[0].skipReason": lambda value: value["gates"][0].update(skipped=True, skipReason="no cases"),
    "gates[0].skipped": lambda value: value["gates"][0].update(skipped=True),
    "verdict": failing,
    "regressions": regressed,
    "provenance.gitCommit": lambda value: value["provenance"].update(gitCommit="\x1b[2J0f8d0a0"),
    "generatedAt": lambda value: value.update(generatedAt="<img src=x>"),
}


@pytest.mark.parametrize("field", LIES)
def test_what_contradicts_the_rest_is_refused_by_field(made: Json, tmp_path: Path, field: str) -> None:
    value = copy.deepcopy(made)
    LIES[field](value)
    assert field in dict(problems_of(value))
    path = tmp_path / "baseline.json"
    path.write_text(json.dumps(value))
    with pytest.raises(InputError, match="results are not edited"):
        read_sound_result(path)


def test_every_actual_at_nought_with_its_gate_passed_is_refused(made: Json) -> None:
    value = copy.deepcopy(made)
    for gate in value["gates"]:
        gate["actual"] = 0.0
    found = dict(problems_of(value))
    assert {"gates[0].actual", "gates[0].pass"} <= set(found)


def test_a_name_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(BASELINE.read_text().replace('"verdict": "pass"', '"verdict": "fail", "verdict": "pass"'))
    with pytest.raises(InputError, match="names 'verdict' twice"):
        read_sound_result(path)
