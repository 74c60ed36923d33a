"""What our summaries say beyond method v2, under a key of its own, so that the rest stays what v2 is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

STAGES = ("discover", "select", "inspect", "parameterize", "call")
_USAGE = ("prompt_tokens", "completion_tokens", "cached_tokens")


def additions(scores: Sequence[Mapping[str, Any]], records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The additions for all models, each in the order of first appearance.

    Args:
        scores: scores of the records, in the same order.
        records: the records; durations and token usage come from these, where they have any.
    """
    models = list(dict.fromkeys(score["model"] for score in scores))
    return {"models": [_model_additions(model, scores, records) for model in models]}


def workflow_task_rates(scores: Sequence[Mapping[str, Any]]) -> dict[str, float] | None:
    """Strict success rate of each task, in order of first appearance; None where a record is unknown."""
    outcomes: dict[str, list[bool]] = {}
    for score in scores:
        if score["workflow_success"] is None:
            return None
        outcomes.setdefault(score["task_id"], []).append(score["workflow_success"])
    return {task_id: sum(values) / len(values) for task_id, values in outcomes.items()}


def _model_additions(
    model: str, scores: Sequence[Mapping[str, Any]], records: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    own = [(s, r) for s, r in zip(scores, records, strict=True) if s["model"] == model]
    own_scores = [score for score, _ in own]
    own_records = [record for _, record in own]
    inspected = [s["required_parameter_accuracy"] for s in own_scores if s["inspection_grounded"]]
    return {
        "model": model,
        **_success_statistics(own_scores),
        "required_parameter_accuracy_inspected": sum(inspected) / len(inspected) if inspected else None,
        "durations_ms": {stage: _quantiles(_durations(own_records, stage)) for stage in STAGES},
        "usage": {
            stage: {name: _quantiles(_usage(own_records, stage, name)) for name in _USAGE}
            for stage in ("select", "parameterize")
        },
    }


def _success_statistics(scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    from discovercall.statistics.clustering import design_effect, intra_task_correlation
    from discovercall.statistics.intervals import dirichlet_clopper_pearson
    from discovercall.statistics.pass_k import mean_pass_hat_k

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
        "pass_hat_k": {str(k): mean_pass_hat_k(successes, trials, k) for k in range(1, trials + 1)},
        "intra_task_correlation": correlation,
        "design_effect": design_effect(correlation, trials),
    }


def _durations(records: Iterable[Mapping[str, Any]], stage: str) -> list[float]:
    return _numbers(_nested(record, "durations_ms", stage) for record in records)


def _usage(records: Iterable[Mapping[str, Any]], stage: str, name: str) -> list[float]:
    return _numbers(_nested(record, "usage", stage, name) for record in records)


def _nested(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _numbers(values: Iterable[Any]) -> list[float]:
    return [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]


def _quantiles(values: Sequence[float]) -> dict[str, float] | None:
    """p50 and p95 by the nearest-rank method; None without values."""
    if not values:
        return None
    ordered = sorted(values)
    return {name: ordered[math.ceil(q * len(ordered)) - 1] for name, q in (("p50", 0.5), ("p95", 0.95))}
