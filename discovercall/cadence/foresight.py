"""What would keep a plan's results from being published, told before anything is paid for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import BaseModel

from discovercall.adapter.bundled import bundled_adapter
from discovercall.cadence.evidence import configured_revisions, reference_revisions
from discovercall.cadence.plan import CadencePlan
from discovercall.foundation.ecmascript import is_safe
from discovercall.foundation.errors import InputError, RefusedError
from discovercall.publication.fields import TEXT_LIMIT
from discovercall.publication.pair import Pair
from discovercall.publication.policy import plain_name
from discovercall.publication.public_record import PublicRecord
from discovercall.publication.run_names import LANES, parse_stem
from discovercall.publication.secret_scan import SecretScanner
from discovercall.publication.summary_model import Summary


def check_foreseeable(plan: CadencePlan, secrets: Iterable[str] = ()) -> None:
    """Refuse a plan whose results would be refused by publication for what the plan itself says.

    Args:
        secrets: values that nothing published may hold.

    Raises:
        InputError: a name in `cadence.json` that makes stems or revisions that can't be published, or a
            policy that forbids a field of every public record.
        RefusedError: an API that the policy doesn't approve, or text that holds or looks like a secret.
    """
    config = f"{plan.inputs.root}/cadence.json"
    for configured, stem in enumerate(plan.stems):
        parts = parse_stem(stem)
        known = int(plan.inputs.config.task_version[1:])
        if parts is None or parts.configured is not bool(configured) or Pair(Path(), stem).version != known:
            raise InputError(
                f"makes the result stem {stem[:60]}… of {len(stem)} characters, which is no name of a pair",
                where=f"{config}: configured_model.model",
                fix="name the model in fewer characters",
            )
    _check_adapters(plan, config)
    for name in sorted({*_required_names(PublicRecord), *_required_names(Summary)}):
        if plain_name(name) in plan.inputs.policy.forbidden:
            raise InputError(
                f"forbids {name!r}, which everything published has",
                where=f"{plan.inputs.policy_path}: forbidden_fields",
                fix="take it out",
            )
    revisions = (*reference_revisions(plan), *configured_revisions(plan))
    if any(not is_safe(revision, TEXT_LIMIT) for revision in revisions):
        raise InputError(
            f"and reasoning_effort make an adapter revision of more than {TEXT_LIMIT} characters, which no"
            " public record may have",
            where=f"{config}: configured_model.cli_version",
            fix="name both in fewer characters",
        )
    if not plan.rehearsal and not plan.inputs.policy.approves_url(plan.api_base_url, rehearsal=False):
        raise RefusedError(
            f"{plan.api_base_url} is not approved by the policy, so nothing could be published",
            where="plan: api_base_url",
            fix=f"name an approved catalog, or have {plan.inputs.policy_path} approve this one",
        )
    SecretScanner(secrets, shapes=True).check([plan.document(), *revisions], "plan")


def _required_names(model: type[BaseModel]) -> Iterator[str]:
    schema = model.model_json_schema()
    for part in (schema, *schema.get("$defs", {}).values()):
        yield from part.get("required", ())


def _check_adapters(plan: CadencePlan, config: str) -> None:
    """Refuse a file that is no adapter, or one that can't be what its lane is measured by."""
    named = (
        ("reference", plan.inputs.config.reference.adapter, True),
        ("configured_model", plan.inputs.config.configured_model.adapter, False),
    )
    for field, file, reference in named:
        adapter = bundled_adapter(file.removesuffix(".py"))
        if adapter is None or adapter.path.name != file:
            raise InputError(
                f"{file} is no adapter that comes with this installation", where=f"{config}: {field}.adapter"
            )
        if (adapter.lane == LANES[0]) is not reference:
            raise InputError(
                f"{file} is an adapter of the lane {adapter.lane}", where=f"{config}: {field}.adapter"
            )
        if not reference and adapter.model_cli is None:
            raise InputError(
                f"{file} starts no model command line, whose version and effort the run would be held to",
                where=f"{config}: {field}.adapter",
                fix="name one whose file ends in _cli.py",
            )
