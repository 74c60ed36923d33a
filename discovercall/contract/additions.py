"""What our summaries say beyond method v2, under a key of its own, so that the rest stays what v2 is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from discovercall.foundation.token_usage import USAGE_FIELDS

STAGES = ("discover", "select", "inspect", "parameterize", "call")
DECISIONS = ("select", "parameterize")


class Measurements:
    """Durations and token usage of one model's records, where they have any."""

    def __init__(self) -> None:
        self._durations: dict[str, list[float]] = {stage: [] for stage in STAGES}
        self._usage: dict[str, dict[str, list[float]]] = {
            stage: {name: [] for name in USAGE_FIELDS} for stage in DECISIONS
        }

    def add(self, record: Mapping[str, Any]) -> None:
        """Note a record's numbers."""
        _note(record.get("durations_ms"), self._durations)
        usage = record.get("usage")
        if isinstance(usage, (dict, Mapping)):
            for stage, lists in self._usage.items():
                _note(usage.get(stage), lists)

    def durations(self) -> dict[str, Any]:
        """Quantiles by stage."""
        return {stage: _quantiles(values) for stage, values in self._durations.items()}

    def usage(self) -> dict[str, Any]:
        """Quantiles by decision and kind of token."""
        return {
            stage: {name: _quantiles(values) for name, values in lists.items()}
            for stage, lists in self._usage.items()
        }


def _note(source: Any, lists: Mapping[str, list[float]]) -> None:
    if isinstance(source, (dict, Mapping)):
        for name, values in lists.items():
            value = source.get(name)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                values.append(value)


def _quantiles(values: Sequence[float]) -> dict[str, float] | None:
    """p50 and p95 by the nearest-rank method; None without values."""
    if not values:
        return None
    ordered = sorted(values)
    return {name: ordered[math.ceil(q * len(ordered)) - 1] for name, q in (("p50", 0.5), ("p95", 0.95))}


def workflow_task_rates(scores: Sequence[Mapping[str, Any]]) -> dict[str, float] | None:
    """Strict success rate of each task, in order of first appearance; None where a record is unknown."""
    outcomes: dict[str, list[bool]] = {}
    for score in scores:
        if score["workflow_success"] is None:
            return None
        outcomes.setdefault(score["task_id"], []).append(score["workflow_success"])
    return {task_id: sum(values) / len(values) for task_id, values in outcomes.items()}


def model_additions(
    model: str, scores: Sequence[Mapping[str, Any]], measurements: Measurements
) -> dict[str, Any]:
    """The additions for one model; `scores` and `measurements` are of all its records."""
    inspected = [s["required_parameter_accuracy"] for s in scores if s["inspection_grounded"]]
    return {
        "model": model,
        **_success_statistics(scores),
        "required_parameter_accuracy_inspected": sum(inspected) / len(inspected) if inspected else None,
        "durations_ms": measurements.durations(),
        "usage": measurements.usage(),
    }


def _success_statistics(scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    from discovercall.statistics.clustering import design_effect, intra_task_correlation
    from discovercall.statistics.intervals import dirichlet_clopper_pearson
    from discovercall.statistics.pass_k import every_mean_pass_hat_k

    rates = workflow_task_rates(scores)
    if rates is None:
        return dict.fromkeys(
            ("workflow_success_headline_95", "pass_hat_k", "intra_task_correlation", "design_effect")
        )
    trials = len(scores) // len(rates)
    successes = [round(rate * trials) for rate in rates.values()]
    correlation = intra_task_correlation(successes, trials)
    return {
        "workflow_success_headline_95": list(dirichlet_clopper_pearson(list(rates.values()))),
        "pass_hat_k": {
            str(k): mean for k, mean in enumerate(every_mean_pass_hat_k(successes, trials), start=1)
        },
        "intra_task_correlation": correlation,
        "design_effect": design_effect(correlation, trials),
    }
