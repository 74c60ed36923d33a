"""`discovercall publish`: turn private records into a pair that can be public."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discovercall.cli.environment import publication_key, secret_values
from discovercall.cli.formats import Format, print_json

if TYPE_CHECKING:
    from discovercall.publication.pair import Pair
    from discovercall.publication.verification import VerifiedPair


def publish(
    tasks: Annotated[Path, typer.Option(help="Task set that the run was made with.")],
    runs: Annotated[
        list[Path],
        typer.Option(help="Private records; repeat the three file options for each lane of a run."),
    ],
    output_runs: Annotated[
        list[Path], typer.Option(help="Public records to write: <stem>.runs.jsonl, the stem ending in -vN.")
    ],
    output_summary: Annotated[list[Path], typer.Option(help="Summary to write: <stem>.summary.json.")],
    policy: Annotated[
        Path | None, typer.Option(help="Publication policy; publication-policy.json when not given.")
    ] = None,
    api_key_file: Annotated[
        str | None, typer.Option(help="File with the run's key, which no public text may hold.")
    ] = None,
    format: Annotated[Format, typer.Option(help="What is printed.")] = Format.HUMAN,
) -> None:
    """Turn private records into pairs of files that may be public.

    Records are sanitized, validated and scored, and each pair is put in place as one transaction.

    Digests under a version 2 policy are keyed with 32 random bytes that are used for all given lanes and
    then dropped, or with DISCOVERCALL_PUBLICATION_KEY (64 hex digits). Values of variables that look like
    secrets by their names are searched for in everything that is published.
    """
    import time

    from discovercall.contract.credentials import read_api_key
    from discovercall.contract.tasks import load_task_set
    from discovercall.foundation.clocks import iso_milliseconds
    from discovercall.foundation.errors import InputError
    from discovercall.foundation.jsonl import read_objects
    from discovercall.foundation.resources import resource_path
    from discovercall.publication.pair import check_outputs, pair_of
    from discovercall.publication.policy import load_policy
    from discovercall.publication.publishing import prepare_pair
    from discovercall.publication.publishing import publish as put_in_place

    if not len(runs) == len(output_runs) == len(output_summary):
        raise InputError("must be given equally often", where="--runs, --output-runs and --output-summary")
    policy_path = policy or resource_path("publication-policy.json")
    pairs = [pair_of(*paths) for paths in zip(output_runs, output_summary, strict=True)]
    _check_distinct(pairs)
    inputs = [tasks, policy_path, *runs]
    if api_key_file not in (None, "-"):
        inputs.append(Path(str(api_key_file)))
    for pair in pairs:
        check_outputs(pair, inputs)

    known_policy = load_policy(policy_path)
    task_set = load_task_set(tasks)
    key = publication_key()
    secrets = secret_values()
    if api_key_file is not None:
        secrets.append(read_api_key(api_key_file, {}))
    prepared = [
        prepare_pair(
            pair,
            read_objects(path),
            known_policy,
            task_set,
            key=key,
            secrets=secrets,
            generated_at=iso_milliseconds(time.time()),
        )
        for path, pair in zip(runs, pairs, strict=True)
    ]
    published = [put_in_place(files, known_policy, task_set) for files in prepared]
    _print(published, known_policy.policy_id, format)


def _print(published: list[VerifiedPair], policy_id: str, format: Format) -> None:
    if format is Format.JSON:
        entries = [
            {
                "runs": str(done.pair.runs),
                "summary": str(done.pair.summary),
                "records": len(done.records),
                "rehearsal": done.rehearsal,
            }
            for done in published
        ]
        print_json({"schema_version": 1, "ok": True, "policy_id": policy_id, "published": entries})
        return
    from discovercall.foundation.shown import shown_line

    for done in published:
        kind = "rehearsal" if done.rehearsal else "official run"
        runs, summary = (shown_line(str(path)) for path in (done.pair.runs, done.pair.summary))
        typer.echo(f"published  {runs}: {kind}, {len(done.records)} records, with {summary}")


def _check_distinct(pairs: list[Pair]) -> None:
    from discovercall.foundation.errors import InputError
    from discovercall.foundation.files import same_file

    for index, pair in enumerate(pairs):
        for other in pairs[:index]:
            if same_file(pair.runs, other.runs) or same_file(pair.summary, other.summary):
                raise InputError(f"{pair.runs} is named twice", where="--output-runs")
