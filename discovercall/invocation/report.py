"""Puts the report of a benchmark together."""

from __future__ import annotations

from collections.abc import Sequence

from discovercall.invocation.config import Plan
from discovercall.invocation.redaction import SecretRedactor
from discovercall.invocation.report_model import Mode, Report, RunReport, Settings, Toolkit
from discovercall.invocation.summary import cell_of, compare_modes, token_totals


def build_report(
    plan: Plan,
    runs: Sequence[RunReport],
    *,
    cases_sha256: str,
    generated_at: str,
    toolkit: Toolkit,
    redact: SecretRedactor,
) -> Report:
    """The report over all runs of a plan.

    Args:
        plan: what was run.
        runs: in the order case, mode, iteration.
        cases_sha256: of the case file.
        generated_at: UTC, ISO 8601.
        toolkit: the code that measured.
        redact: takes secrets out of what the user configured.
    """
    endpoint = plan.endpoint
    modes: list[Mode] = [mode.value for mode in plan.modes]
    comparison = None
    if len(modes) == 2:
        comparison = compare_modes(runs, modes[0], modes[1], plan.cases, plan.runs_per_case)
    passed = sum(run.passed for run in runs)
    return Report(
        schema_version=1,
        generated_at=generated_at,
        toolkit=toolkit,
        settings=Settings(
            client="mock" if endpoint is None else "live",
            model=None if endpoint is None else redact(endpoint.model),
            base_url=None if endpoint is None else redact(endpoint.base_url),
            modes=modes,
            cases=list(plan.cases),
            cases_sha256=cases_sha256,
            runs_per_case=plan.runs_per_case,
            timeout_s=plan.timeout_s,
        ),
        passed=passed == plan.runs,
        runs_planned=plan.runs,
        runs_passed=passed,
        runs=list(runs),
        cells=[
            cell_of(case, mode, [run for run in runs if run.case == case and run.mode == mode])
            for case in plan.cases
            for mode in modes
        ],
        tokens=token_totals(runs),
        comparison=comparison,
    )
