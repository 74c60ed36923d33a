"""`discovercall cadence run`: the measurement that a plan allows."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discovercall.cli.actions import (
    add_summary,
    github_client,
    run_attempt,
    set_outputs,
)
from discovercall.cli.cadence_options import (
    AcceptedAttempts,
    ApiBaseUrl,
    FormatOption,
    Image,
    Repository,
    Root,
    named_catalog,
)
from discovercall.cli.environment import publication_key, secret_values
from discovercall.cli.formats import Format, print_json
from discovercall.foundation.errors import EXIT_INTERRUPTED, InputError, RefusedError

if TYPE_CHECKING:
    from discovercall.cadence.measure import Measured
    from discovercall.cadence.plan import CadencePlan
    from discovercall.contract.execution import RunResult
    from discovercall.contract.options import PreparedRun, RunOptions


def run(
    plan: Annotated[Path, typer.Option(help="The approved plan.")],
    private: Annotated[Path, typer.Option(help="Folder for the raw records, outside the checkout.")],
    bundle: Annotated[Path, typer.Option(help="New folder for the sanitized bundle.")],
    plan_digest: Annotated[str | None, typer.Option(help="Digest that was approved.")] = None,
    accept_spent_attempts: AcceptedAttempts = 0,
    image: Image = None,
    no_guard: Annotated[
        bool, typer.Option("--no-guard", help="Rehearsals only: don't ask GitHub for an earlier run.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that ended early.")] = False,
    api_base_url: ApiBaseUrl = None,
    api_key_file: Annotated[
        str | None, typer.Option(help="File with the catalog key, or - (or QVERIS_API_KEY).")
    ] = None,
    root: Root = Path(),
    repository: Repository = None,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Measure an approved plan and make the sanitized bundle.

    The plan is checked and the guard asked again before both lanes run.
    """
    import time

    from discovercall.cadence.code import code_of
    from discovercall.cadence.guard import check_attempt
    from discovercall.cadence.measure import Workplace, measure, prepare
    from discovercall.cadence.plan import plan_again, read_plan_file
    from discovercall.foundation.clocks import iso_milliseconds
    from discovercall.foundation.revision import installed_revision

    approved, digest = read_plan_file(plan)
    if plan_digest is not None and plan_digest != digest:
        raise RefusedError(f"is {digest}, approved was {plan_digest}", where=f"{plan}: digest")
    named = named_catalog(api_base_url)
    planned = plan_again(approved, root, code_of(image, root), installed_revision(), catalog_url=named)
    attempt = run_attempt()
    check_attempt(attempt, accept_spent_attempts, planned.most_billed_calls)
    place = Workplace(
        private=private,
        bundle=bundle,
        environment=os.environ,
        installed=installed_revision(),
        api_key_file=api_key_file,
        resume=resume,
    )
    prepare(planned, place)
    key = _key_in_file(None if planned.rehearsal else api_key_file)
    _ask_guard(planned, repository, asked=not no_guard)
    measured = measure(
        planned,
        place,
        (attempt, accept_spent_attempts),
        partial(_carry_out, key=key),
        publication_key=publication_key(),
        secrets=[*secret_values(), *([key] if key else [])],
        generated_at=lambda: iso_milliseconds(time.time()),
    )
    _hand_over(planned, bundle, measured, format)


def _key_in_file(path: str | None) -> str | None:
    """The catalog key, read once: it is searched for in all that is published."""
    from discovercall.adapter.isolation import mask_argument
    from discovercall.contract.credentials import read_api_key

    if path is None:
        return None
    key = read_api_key(path, {})
    mask_argument(path)
    return key


def _hand_over(planned: CadencePlan, bundle: Path, measured: Measured, format: Format) -> None:
    """Tell what there is now. The bundle is complete and paid for, so nothing here may fail the job."""
    spent = measured.spent
    steps: tuple[tuple[str, Callable[[], None]], ...] = (
        (
            "step outputs",
            lambda: set_outputs(bundle_sha256=measured.sha256, billed_calls=str(spent.billed_calls)),
        ),
        ("step summary", lambda: add_summary(_run_summary(planned, measured))),
        ("result", lambda: _print(planned, bundle, measured, format)),
    )
    for what, tell in steps:
        try:
            tell()
        except Exception as error:  # whatever it is: a failed step would throw the paid bundle away
            with contextlib.suppress(OSError, ValueError):
                print(
                    f"Warning: the {what} could not be written ({type(error).__name__}: {error}); the bundle"
                    f" {bundle} is complete, its SHA-256 is {measured.sha256}",
                    file=sys.stderr,
                )


def _ask_guard(planned: CadencePlan, repository: str | None, *, asked: bool) -> None:
    from discovercall.cadence.release import ask_guard

    if not asked:
        if not planned.rehearsal:
            raise InputError("is for rehearsals only", where="--no-guard")
        return
    decision = ask_guard(github_client(repository), planned.branch)
    if decision.pull is not None:
        raise RefusedError(decision.reason, where="guard", fix="nothing was run")


def _print(planned: CadencePlan, bundle: Path, measured: Measured, format: Format) -> None:
    spent = measured.spent
    if format is Format.JSON:
        print_json(
            {
                "schema_version": 1,
                "bundle": str(bundle),
                "bundle_sha256": measured.sha256,
                "plan_digest": planned.digest,
                "billed_calls": spent.billed_calls,
                "attempt": spent.attempt,
                "files": sorted(measured.results.files),
            }
        )
    else:
        typer.echo(f"Bundle: {bundle}\nSHA-256: {measured.sha256}\nBilled calls: {spent.billed_calls}")


def _carry_out(prepared: PreparedRun, options: RunOptions, *, key: str | None) -> RunResult:
    """Run the lanes; what that says goes to stderr, for stdout is this command's own result.

    Args:
        key: the catalog key, where it came from a file; that may be a pipe, so it isn't read again.
    """
    from discovercall.cli.run import carry_out

    with contextlib.redirect_stdout(sys.stderr):
        result = carry_out(prepared, options, key)
    if result.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    return result


def _run_summary(planned: CadencePlan, measured: Measured) -> str:
    from discovercall.cadence.document import RunFacts, release_report
    from discovercall.report.release import results_section

    facts = RunFacts(
        release_sha=planned.release_sha,
        date=planned.date,
        version=planned.inputs.config.task_version,
        branch=planned.branch,
        plan_digest=planned.digest,
    )
    total = (measured.spent.accepted_attempts + 1) * planned.most_billed_calls
    return (
        results_section(release_report(measured.results, planned.inputs, facts))
        + f"\nBilled calls: {measured.spent.billed_calls} in attempt {measured.spent.attempt}; with accepted"
        f" earlier attempts at most {total} over all. Bundle SHA-256: `{measured.sha256}`\n"
    )
