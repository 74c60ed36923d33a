"""`discovercall cadence`: plan, guard, run and propose the benchmark of a release."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discovercall.cli.actions import (
    add_summary,
    github_client,
    own_run,
    own_workflow,
    run_attempt,
    set_outputs,
)
from discovercall.cli.environment import secret_values
from discovercall.cli.formats import Format, print_json
from discovercall.foundation.errors import InputError, RefusedError

if TYPE_CHECKING:
    from discovercall.cadence.plan import CadencePlan
    from discovercall.contract.execution import RunResult
    from discovercall.contract.options import PreparedRun, RunOptions

app = typer.Typer(
    help="The benchmark of a release: planned, approved, run once, proposed as a draft pull request.",
    no_args_is_help=True,
)

ReleaseSha = Annotated[str, typer.Option(help="Commit of the release: 40 lower-case hex digits.")]
Rehearsal = Annotated[
    bool, typer.Option("--rehearsal", help="The whole way on the embedded sandbox, apart from real runs.")
]
Root = Annotated[Path, typer.Option(help="Checkout of the release: cadence.json, tasks, policy, results.")]
Repository = Annotated[str | None, typer.Option(help="owner/name on GitHub (or GITHUB_REPOSITORY).")]
Image = Annotated[
    str | None, typer.Option(help="Image that runs, as name@sha256:…; not given: the installed code.")
]
FormatOption = Annotated[Format, typer.Option("--format", help="What is printed.")]


@app.command()
def plan(
    release_sha: ReleaseSha,
    rehearsal: Rehearsal = False,
    date: Annotated[
        str | None, typer.Option(help="Day that names the results; today (UTC) by default.")
    ] = None,
    image: Image = None,
    out: Annotated[Path | None, typer.Option(help="File for the plan.")] = None,
    accept_spent_attempts: Annotated[
        int, typer.Option(help="Earlier attempts that may have billed.", min=0)
    ] = 0,
    root: Root = Path(),
    repository: Repository = None,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Check that the commit is a release, and print what would run, its bound and its digest."""
    import time

    from discovercall.cadence.approval import gather_approval
    from discovercall.cadence.code import code_of
    from discovercall.cadence.names import check_release_sha
    from discovercall.cadence.plan import make_plan, read_inputs, resolve_code_revision
    from discovercall.cadence.release import check_release
    from discovercall.foundation.revision import installed_revision
    from discovercall.report.approval import approval_summary

    check_release_sha(release_sha)
    inputs = read_inputs(root)
    planned = make_plan(
        inputs,
        release_sha=release_sha,
        date=date or time.strftime("%Y-%m-%d", time.gmtime()),
        rehearsal=rehearsal,
        code=code_of(image, root),
        toolkit_revision=resolve_code_revision(installed_revision(), release_sha, rehearsal=rehearsal),
    )
    github = github_client(repository)
    tags = check_release(github, release_sha, inputs.config.release_tags)
    approval = gather_approval(
        planned,
        github,
        tags,
        attempt=run_attempt(),
        accepted=accept_spent_attempts,
        own_run=own_run(),
        workflow=own_workflow(),
    )
    summary = approval_summary(approval)
    content = planned.file()
    if out is not None:
        _write_json(out, content)
    set_outputs(
        plan=_compact(content),
        plan_digest=planned.digest,
        branch=planned.branch,
        most_billed_calls=str(planned.most_billed_calls),
    )
    add_summary(summary)
    if format is Format.JSON:
        print_json(
            {
                "schema_version": 1,
                **content,
                "approval": {k: v for k, v in approval.items() if k not in content},
            }
        )
    else:
        typer.echo(summary)


@app.command()
def guard(
    release_sha: ReleaseSha,
    rehearsal: Rehearsal = False,
    repository: Repository = None,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Say whether the release has had its run: go on, skip (both exit 0), or refuse (exit 1)."""
    from discovercall.cadence.guard import Verdict
    from discovercall.cadence.names import branch_name, check_release_sha
    from discovercall.cadence.release import ask_guard

    check_release_sha(release_sha)
    branch = branch_name(release_sha, rehearsal=rehearsal)
    decision = ask_guard(github_client(repository), branch)
    skip = decision.verdict is not Verdict.GO
    set_outputs(skip="true" if skip else "false")
    url = decision.pull.url if decision.pull else None
    if format is Format.JSON:
        print_json(
            {
                "schema_version": 1,
                "branch": branch,
                "verdict": decision.verdict.value,
                "reason": decision.reason,
                "pull_request": url,
            }
        )
    else:
        typer.echo(f"{decision.verdict.value}: {decision.reason}{f' ({url})' if url else ''}")


@app.command()
def run(
    plan: Annotated[Path, typer.Option(help="The approved plan.")],
    private: Annotated[Path, typer.Option(help="Folder for the raw records, outside the checkout.")],
    bundle: Annotated[Path, typer.Option(help="New folder for the sanitized bundle.")],
    plan_digest: Annotated[str | None, typer.Option(help="Digest that was approved.")] = None,
    accept_spent_attempts: Annotated[
        int, typer.Option(help="Earlier attempts that may have billed.", min=0)
    ] = 0,
    image: Image = None,
    no_guard: Annotated[
        bool, typer.Option("--no-guard", help="Rehearsals only: don't ask GitHub for an earlier run.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that ended early.")] = False,
    api_base_url: Annotated[
        str | None, typer.Option(help="Base URL of the catalog (or QVERIS_BASE_URL).")
    ] = None,
    api_key_file: Annotated[
        str | None, typer.Option(help="File with the catalog key, or - (or QVERIS_API_KEY).")
    ] = None,
    root: Root = Path(),
    repository: Repository = None,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Measure: check the plan, ask the guard, run both lanes, and make the sanitized bundle."""
    import secrets as randomness
    import time

    from discovercall.cadence.code import code_of
    from discovercall.cadence.guard import check_attempt
    from discovercall.cadence.measure import Workplace, measure, prepare
    from discovercall.cadence.plan import plan_again, read_plan_file
    from discovercall.cadence.release import ask_guard
    from discovercall.foundation.clocks import iso_milliseconds
    from discovercall.foundation.revision import installed_revision
    from discovercall.publication.digesting import KEY_BYTES, KEY_VARIABLE, parse_key

    approved, digest = read_plan_file(plan)
    if plan_digest is not None and plan_digest != digest:
        raise RefusedError(f"is {digest}, approved was {plan_digest}", where=f"{plan}: digest")
    planned = plan_again(approved, root, code_of(image, root), installed_revision())
    attempt = run_attempt()
    check_attempt(attempt, accept_spent_attempts, planned.most_billed_calls)
    place = Workplace(
        private=private,
        bundle=bundle,
        environment=os.environ,
        installed=installed_revision(),
        api_base_url=api_base_url,
        api_key_file=api_key_file,
        resume=resume,
    )
    prepare(planned, place)
    if not no_guard:
        decision = ask_guard(github_client(repository), planned.branch)
        if decision.pull is not None:
            raise RefusedError(decision.reason, where="guard", fix="nothing was run")
    elif not planned.rehearsal:
        raise InputError("is for rehearsals only", where="--no-guard")
    given_key = os.environ.get(KEY_VARIABLE)
    measured = measure(
        planned,
        place,
        (attempt, accept_spent_attempts),
        _carry_out,
        publication_key=parse_key(given_key) if given_key else randomness.token_bytes(KEY_BYTES),
        secrets=secret_values(),
        generated_at=lambda: iso_milliseconds(time.time()),
    )
    spent = measured.spent
    set_outputs(bundle_sha256=measured.sha256, billed_calls=str(spent.billed_calls))
    add_summary(_run_summary(planned, measured))
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


def _carry_out(prepared: PreparedRun, options: RunOptions) -> RunResult:
    """Run the lanes; what that says goes to stderr, for stdout is this command's own result."""
    import contextlib

    from discovercall.cli.run import carry_out

    with contextlib.redirect_stdout(sys.stderr):
        return carry_out(prepared, options)


def _run_summary(planned: CadencePlan, measured: Any) -> str:
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


@app.command()
def document(
    reference: Annotated[Path, typer.Argument(help="Stem of the reference pair, as results/<stem>.")],
    configured: Annotated[Path, typer.Argument(help="Stem of the configured-model pair.")],
    body: Annotated[
        bool, typer.Option("--body", help="The pull request's body instead of the results section.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="File to write instead of printing.")] = None,
    root: Root = Path(),
    format: FormatOption = Format.HUMAN,
) -> None:
    """Render the results section, or the pull request's body, from two pairs that validate."""
    from discovercall.cadence.history import report_of_pairs
    from discovercall.cadence.plan import read_inputs
    from discovercall.report.pull_request import pull_request_body
    from discovercall.report.release import results_section

    report = report_of_pairs((_stem(reference), _stem(configured)), read_inputs(root))
    text = pull_request_body(report) if body else results_section(report)
    if out is not None:
        _write(out, text)
    elif format is Format.JSON:
        print_json(report)
    else:
        typer.echo(text, nl=False)


def _stem(path: Path) -> Path:
    """A pair's stem, where a person gave one of its files."""
    from discovercall.publication.pair import RUNS_SUFFIX, SUMMARY_SUFFIX

    return path.with_name(path.name.removesuffix(RUNS_SUFFIX).removesuffix(SUMMARY_SUFFIX))


@app.command()
def propose(
    release_sha: ReleaseSha,
    bundle: Annotated[Path, typer.Option(help="The bundle of the measuring job.")],
    bundle_sha256: Annotated[
        str | None, typer.Option(help="Digest that the measuring job said; required in GitHub Actions.")
    ] = None,
    plan_digest: Annotated[
        str | None, typer.Option(help="Digest that was approved; required in GitHub Actions.")
    ] = None,
    rehearsal: Rehearsal = False,
    image: Image = None,
    root: Root = Path(),
    repository: Repository = None,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Validate a bundle again and open the draft pull request; doing it twice changes nothing."""
    from discovercall.cadence.bundle import read_bundle
    from discovercall.cadence.code import code_of
    from discovercall.cadence.document import RunFacts
    from discovercall.cadence.names import check_release_sha
    from discovercall.cadence.plan import plan_again
    from discovercall.cadence.proposal import make_proposal, results_of_bundle
    from discovercall.cadence.proposal import propose as put
    from discovercall.foundation.revision import installed_revision

    check_release_sha(release_sha)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for flag, value in (("--bundle-sha256", bundle_sha256), ("--plan-digest", plan_digest)):
            if not value:
                raise InputError("is required in GitHub Actions", where=flag)
    held = read_bundle(bundle, expected_sha256=bundle_sha256)
    if plan_digest is not None and held.plan_digest != plan_digest:
        raise RefusedError(
            f"was made with the plan {held.plan_digest}, approved was {plan_digest}", where=str(bundle)
        )
    if held.plan.get("rehearsal") is not rehearsal:
        raise RefusedError(
            "is a rehearsal's" if held.plan.get("rehearsal") else "is a real run's",
            where=str(bundle),
            fix="a rehearsal never goes to a real branch, nor a real run to a rehearsal's",
        )
    if held.plan.get("release_sha") != release_sha:
        raise RefusedError(f"is of {held.plan.get('release_sha')}", where=str(bundle))
    planned = plan_again(held.plan, root, code_of(image, root), installed_revision())
    results = results_of_bundle(held, planned)
    github = github_client(repository)
    facts = RunFacts(
        release_sha=release_sha,
        date=planned.date,
        version=planned.inputs.config.task_version,
        branch=planned.branch,
        plan_digest=planned.digest,
        bundle_sha256=held.sha256,
        spent=held.spent,
        repository_url=github.repository().url,
    )
    proposal = make_proposal(results, planned, facts, secrets=secret_values())
    _tell_pull(put(github, proposal), proposal.branch, format)


@app.command()
def recover(
    branch: Annotated[str, typer.Option(help="The orphan: benchmark/cadence-<12 hex digits>.")],
    root: Root = Path(),
    repository: Repository = None,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Open the draft pull request of a branch whose run was cut off, after validating what it holds."""
    from discovercall.cadence.plan import read_inputs
    from discovercall.cadence.recovery import recover as put

    proposed = put(github_client(repository), branch, read_inputs(root), secrets=tuple(secret_values()))
    _tell_pull(proposed, branch, format)


def _tell_pull(proposed: Any, branch: str, format: Format) -> None:
    pull = proposed.pull
    set_outputs(pull_request=pull.url, branch=branch)
    kind = "Opened" if proposed.made else "There is already"
    add_summary(f"{kind} pull request [#{pull.number}]({pull.url}) from `{branch}`.\n")
    if proposed.warning:
        print(f"Warning: {proposed.warning}", file=sys.stderr)
    if format is Format.JSON:
        print_json(
            {
                "schema_version": 1,
                "pull_request": pull.url,
                "number": pull.number,
                "draft": pull.draft,
                "made": proposed.made,
                "branch": branch,
            }
        )
    else:
        typer.echo(f"{kind} pull request #{pull.number}: {pull.url}")


@app.command()
def dispatch(
    release_sha: ReleaseSha,
    rehearsal: Rehearsal = False,
    workflow: Annotated[
        str, typer.Option(help="File name of the cadence workflow.")
    ] = "discover-call-cadence.yml",
    workflow_input: Annotated[
        list[str] | None,
        typer.Option("--input", help="Further input of the workflow, NAME=VALUE; repeatable."),
    ] = None,
    root: Root = Path(),
    repository: Repository = None,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Start the cadence workflow once, when every publish workflow has succeeded for the commit."""
    import time

    from discovercall.cadence.dispatching import Dispatched, check_published, dispatch_once
    from discovercall.cadence.names import check_release_sha
    from discovercall.cadence.plan import read_inputs

    check_release_sha(release_sha)
    config = read_inputs(root).config
    github = github_client(repository)
    waiting = check_published(github, release_sha, config.publish_workflows, own_run())
    done = (
        Dispatched(False, waiting)
        if waiting
        else dispatch_once(
            github,
            release_sha,
            workflow=workflow,
            rehearsal=rehearsal,
            inputs=_named_values(workflow_input or ()),
            sleep=time.sleep,
        )
    )
    set_outputs(dispatched="true" if done.started else "false")
    if format is Format.JSON:
        print_json({"schema_version": 1, "dispatched": done.started, "reason": done.reason, "run": done.url})
    else:
        typer.echo(f"{'Dispatched' if done.started else 'Not dispatched'}: {done.reason}")


def _named_values(given: list[str] | tuple[str, ...]) -> dict[str, str]:
    values = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise InputError(f"{text!r} is not NAME=VALUE", where="--input")
        values[name] = value
    return values


@app.command()
def headline(
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail where a page disagrees with the results.")
    ] = False,
    root: Root = Path(),
) -> None:
    """Write the English and the Chinese headline page from the newest published result."""
    from discovercall.cadence.headline import check_pages, current_pages, write_pages
    from discovercall.cadence.plan import read_inputs

    inputs = read_inputs(root)
    if check:
        check_pages(inputs)
        typer.echo("Both headline pages agree with the results.")
        return
    pages = current_pages(inputs)
    write_pages(root, pages)
    for name in pages:
        typer.echo(f"Wrote {root / name}")


# What several commands need


def _compact(value: Any) -> str:
    from discovercall.foundation.ecma_json import compact

    return compact(value)


def _write_json(path: Path, value: Any) -> None:
    from discovercall.foundation.ecma_json import pretty

    _write(path, pretty(value) + "\n")


def _write(path: Path, text: str) -> None:
    from discovercall.foundation.files import write_atomic

    try:
        write_atomic(path, text.encode(), mode=0o644)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror or error})", where=str(path)) from None
