"""`discovercall cadence`: plan, guard, run and propose the benchmark of a release."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discovercall.cli.formats import Format, print_json
from discovercall.foundation.errors import InputError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discovercall.cadence.code import Code
    from discovercall.cadence.github import GitHub
    from discovercall.cadence.plan import CadencePlan, Inputs
    from discovercall.contract.execution import RunResult
    from discovercall.contract.options import PreparedRun, RunOptions

app = typer.Typer(
    help="The benchmark of a release: planned, approved, run once, proposed as a draft pull request.",
    no_args_is_help=True,
)
_GITHUB_API = "https://api.github.com"
_SECRET_WORDS = frozenset(("KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD"))

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
        code=_code(image, root),
        toolkit_revision=resolve_code_revision(installed_revision(), release_sha, rehearsal=rehearsal),
    )
    github = _github(repository)
    tags = check_release(github, release_sha, inputs.config.release_tags)
    approval = _approval(planned, github, tags, accept_spent_attempts)
    summary = approval_summary(approval)
    content = planned.file()
    if out is not None:
        _write_json(out, content)
    _set_outputs(
        plan=_compact(content),
        plan_digest=planned.digest,
        branch=planned.branch,
        most_billed_calls=str(planned.most_billed_calls),
    )
    _add_summary(summary)
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


def _approval(planned: CadencePlan, github: GitHub, tags: Mapping[str, str], accepted: int) -> dict[str, Any]:
    from discovercall.cadence.dispatching import earlier_runs
    from discovercall.cadence.evidence import configured_revision
    from discovercall.cadence.history import changes

    previous, changed = changes(
        planned,
        planned.inputs.root / "results",
        configured_revision(planned.inputs.config.configured_model, planned.toolkit_revision),
    )
    attempt = _attempt()
    facts = github.repository()
    runs = []
    workflow, own_id = _own_workflow(), os.environ.get("GITHUB_RUN_ID", "")
    if workflow and own_id.isdigit():
        runs = earlier_runs(github, workflow, planned.release_sha, int(own_id), rehearsal=planned.rehearsal)
    return {
        **planned.file(),
        "attempt": attempt,
        "accepted_attempts": accepted,
        "most_calls_over_attempts": (max(accepted, attempt - 1) + 1) * planned.most_billed_calls,
        "tags": dict(tags),
        "guard": _ask_guard(github, planned.branch),
        "previous": previous,
        "changes": changed,
        "drafts": "Drafts are there: the repository is public."
        if not facts.private
        else "The repository is private: GitHub tells only when the pull request is opened whether its"
        " plan has drafts (M2).",
        "earlier_runs": [{"url": run.url, "conclusion": str(run.conclusion)} for run in runs],
    }


def _ask_guard(github: GitHub, branch: str) -> dict[str, str]:
    """The guard's verdict for the summary; the step that follows is the one that refuses."""
    try:
        decision = _guard(github, branch)
    except RefusedError as error:
        return {"verdict": "refuse", "reason": str(error)}
    return {"verdict": decision.verdict.value, "reason": decision.reason}


def _guard(github: GitHub, branch: str) -> Any:
    from discovercall.cadence.guard import decide

    return decide(
        branch,
        github.repository().id,
        github.pulls(branch),
        branch_exists=github.branch_commit(branch) is not None,
    )


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

    check_release_sha(release_sha)
    branch = branch_name(release_sha, rehearsal=rehearsal)
    decision = _guard(_github(repository), branch)
    skip = decision.verdict is not Verdict.GO
    _set_outputs(skip="true" if skip else "false")
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

    from discovercall.cadence.guard import check_attempt
    from discovercall.cadence.measure import Workplace, measure, prepare
    from discovercall.cadence.plan import read_plan_file
    from discovercall.foundation.clocks import iso_milliseconds
    from discovercall.foundation.revision import installed_revision
    from discovercall.publication.digesting import KEY_BYTES, KEY_VARIABLE, parse_key

    approved, digest = read_plan_file(plan)
    if plan_digest is not None and plan_digest != digest:
        raise RefusedError(f"is {digest}, approved was {plan_digest}", where=f"{plan}: digest")
    planned = _same_plan(approved, root, image)
    attempt = _attempt()
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
        decision = _guard(_github(repository), planned.branch)
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
        secrets=_secret_values(),
        generated_at=lambda: iso_milliseconds(time.time()),
    )
    spent = measured.spent
    _set_outputs(bundle_sha256=measured.sha256, billed_calls=str(spent.billed_calls))
    _add_summary(_run_summary(planned, measured))
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
    from discovercall.cadence.document import RunFacts
    from discovercall.cadence.names import check_release_sha
    from discovercall.cadence.proposal import make_proposal, results_of_bundle
    from discovercall.cadence.proposal import propose as put

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
    planned = _same_plan(held.plan, root, image)
    results = results_of_bundle(held, planned)
    github = _github(repository)
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
    proposal = make_proposal(results, planned, facts, secrets=_secret_values())
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

    proposed = put(_github(repository), branch, read_inputs(root), secrets=tuple(_secret_values()))
    _tell_pull(proposed, branch, format)


def _tell_pull(proposed: Any, branch: str, format: Format) -> None:
    pull = proposed.pull
    _set_outputs(pull_request=pull.url, branch=branch)
    kind = "Opened" if proposed.made else "There is already"
    _add_summary(f"{kind} pull request [#{pull.number}]({pull.url}) from `{branch}`.\n")
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
    github = _github(repository)
    own = os.environ.get("GITHUB_RUN_ID", "")
    own_run = int(own) if own.isascii() and own.isdigit() else None
    waiting = check_published(github, release_sha, config.publish_workflows, own_run)
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
    _set_outputs(dispatched="true" if done.started else "false")
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


def _code(image: str | None, root: Path) -> Code:
    from discovercall.cadence.code import files_code, image_code

    return image_code(image) if image else files_code(root)


def _same_plan(approved: Mapping[str, Any], root: Path, image: str | None) -> CadencePlan:
    """The plan as this checkout and this code have it; refused where it isn't the approved one."""
    from discovercall.cadence.plan import check_same_plan, make_plan, read_inputs, resolve_code_revision
    from discovercall.foundation.revision import installed_revision

    rehearsal = approved.get("rehearsal") is True
    release_sha = str(approved.get("release_sha"))
    inputs: Inputs = read_inputs(root)
    here = make_plan(
        inputs,
        release_sha=release_sha,
        date=str(approved.get("date")),
        rehearsal=rehearsal,
        code=_code(image, root),
        toolkit_revision=resolve_code_revision(installed_revision(), release_sha, rehearsal=rehearsal),
    )
    check_same_plan(approved, here)
    return here


def _github(repository: str | None) -> GitHub:
    import time

    from discovercall.cadence.github import Access, GitHub, Surroundings
    from discovercall.capability.base_url import is_loopback

    base_url = os.environ.get("GITHUB_API_URL") or _GITHUB_API
    try:
        return GitHub(
            Access(
                base_url=base_url,
                repository=repository or os.environ.get("GITHUB_REPOSITORY", ""),
                token=os.environ.get("GITHUB_TOKEN", ""),
                paced=not is_loopback(base_url),
            ),
            Surroundings(time.time, time.sleep, lambda line: print(line, file=sys.stderr)),
        )
    except ModuleNotFoundError:
        raise InputError(
            "PyGithub is not installed", fix="install discovercall with its extra: discovercall[github]"
        ) from None


def _attempt() -> int:
    text = os.environ.get("GITHUB_RUN_ATTEMPT") or "1"
    if not text.isascii() or not text.isdigit():
        raise InputError("is no number", where="GITHUB_RUN_ATTEMPT")
    return int(text)


def _own_workflow() -> str | None:
    """File name of the workflow that this runs in: `owner/name/.github/workflows/FILE@ref`."""
    path = os.environ.get("GITHUB_WORKFLOW_REF", "").partition("@")[0]
    return path.rsplit("/", 1)[-1] or None


def _secret_values() -> list[str]:
    """Values of variables that look like secrets by their names; nothing published may hold one."""
    return [
        value for name, value in os.environ.items() if _SECRET_WORDS & set(name.upper().split("_")) and value
    ]


def _set_outputs(**outputs: str) -> None:
    import secrets

    from discovercall.cadence.outputs import append, output_text

    path = os.environ.get("GITHUB_OUTPUT")
    if path:
        append(Path(path), output_text(outputs, lambda: f"ghadelimiter_{secrets.token_hex(16)}"))


def _add_summary(markdown: str) -> None:
    from discovercall.cadence.outputs import append, summary_text

    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        append(Path(path), summary_text(markdown))


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
