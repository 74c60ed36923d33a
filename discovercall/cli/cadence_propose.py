"""`discovercall cadence document`, `propose`, `recover` and `headline`: what people get to read."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from discovercall.cli.actions import (
    add_summary,
    github_client,
    set_outputs,
)
from discovercall.cli.cadence_options import (
    FormatOption,
    Image,
    Rehearsal,
    ReleaseSha,
    Repository,
    Root,
    check_out,
    write_text,
)
from discovercall.cli.environment import secret_values
from discovercall.cli.formats import Format, print_json
from discovercall.foundation.errors import InputError, RefusedError


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
    """Render the results section or pull request body of two pairs.

    Both pairs are validated first.
    """
    from discovercall.cadence.history import report_of_pairs
    from discovercall.cadence.plan import read_inputs
    from discovercall.report.pull_request import pull_request_body
    from discovercall.report.release import results_section

    stems = (_stem(reference), _stem(configured))
    check_out(out, root, *_files(stems))
    report = report_of_pairs(stems, read_inputs(root))
    text = pull_request_body(report) if body else results_section(report)
    if out is not None:
        write_text(out, text)
    elif format is Format.JSON:
        print_json(report)
    else:
        typer.echo(text, nl=False)


def _files(stems: tuple[Path, Path]) -> list[Path]:
    from discovercall.foundation.artifacts import RUNS_SUFFIX, SUMMARY_SUFFIX

    return [path.with_name(path.name + suffix) for path in stems for suffix in (RUNS_SUFFIX, SUMMARY_SUFFIX)]


def _stem(path: Path) -> Path:
    """A pair's stem, where a person gave one of its files."""
    from discovercall.foundation.artifacts import RUNS_SUFFIX, SUMMARY_SUFFIX

    return path.with_name(path.name.removesuffix(RUNS_SUFFIX).removesuffix(SUMMARY_SUFFIX))


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
    """Validate a bundle again and open the draft pull request.

    Doing it twice changes nothing.
    """
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
    )
    proposal = make_proposal(results, planned, facts, secrets=secret_values())
    _tell_pull(put(github, proposal), proposal.branch, format)


def recover(
    branch: Annotated[str, typer.Option(help="The orphan: benchmark/cadence-<12 hex digits>.")],
    root: Root = Path(),
    repository: Repository = None,
    format: FormatOption = Format.HUMAN,
) -> None:
    """Open the draft of a branch whose run was cut off.

    What the branch holds is validated first.
    """
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


def headline(
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail where a page disagrees with the results.")
    ] = False,
    root: Root = Path(),
) -> None:
    """Write both headline pages from the newest published result.

    One is English, one Chinese.
    """
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
