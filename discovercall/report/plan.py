"""A run's plan before it runs: what will be measured and what it may cost at most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class _Plan(Protocol):
    @property
    def digest(self) -> str: ...

    @property
    def planned_records(self) -> int: ...

    def header(self) -> dict[str, Any]: ...

    def limits(self) -> dict[str, Any]: ...


def plan_report(plan: _Plan) -> dict[str, Any]:
    """The plan, its limits and its digest as a plain object."""
    return {
        "schema_version": 1,
        "plan_digest": plan.digest,
        "planned_records": plan.planned_records,
        "limits": plan.limits(),
        "plan": plan.header(),
    }


def plan_lines(report: Mapping[str, Any]) -> list[str]:
    """The same as lines for a person."""
    plan, limits = report["plan"], report["limits"]
    calls = f"at most {limits['max_billed_calls']} billed calls" if plan["execute"] else "no billed call"
    credits = "" if limits["max_credits"] is None else f", at most {limits['max_credits']:g} credits"
    lanes = [
        f"Lane: {lane['lane']}, {lane['model']} (revision {lane['model_revision']})" for lane in plan["lanes"]
    ]
    return [
        f"Against {plan['api_base_url']}: {len(plan['tasks'])} tasks × {plan['trials']} trials"
        f" × {len(plan['lanes'])} lane(s) = {report['planned_records']} records",
        *lanes,
        f"Cost: {calls}{credits}",
        f"Plan digest: {report['plan_digest']}",
    ]
