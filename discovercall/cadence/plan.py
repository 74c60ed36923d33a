"""The plan of one paid run: what a person approves, and the digest that names exactly that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discovercall.cadence.code import Code
from discovercall.cadence.config import CADENCE_FILE, FILE_LIMIT, LANE_COUNT, CadenceConfig, load_config
from discovercall.cadence.names import branch_name, check_date, check_release_sha, result_stem, section_name
from discovercall.contract.options import DEFAULT_BASE_URL
from discovercall.contract.plan import SANDBOX_BASE_URL
from discovercall.contract.tasks import TaskSet, load_task_set
from discovercall.foundation.base_url import normalize_base_url
from discovercall.foundation.digests import sha256_hex, sha256_of_json
from discovercall.foundation.errors import InputError, RefusedError
from discovercall.foundation.files import read_input
from discovercall.foundation.json_file import read_json
from discovercall.foundation.revision import ToolkitRevision
from discovercall.publication.policy import Policy, load_policy

POLICY_FILE = "publication-policy.json"
STAND_IN = "first_result.py"


@dataclass(frozen=True, slots=True)
class Inputs:
    """The reviewed files of a checkout.

    Attributes:
        root: the checkout of the release commit.
    """

    root: Path
    config: CadenceConfig
    config_sha256: str
    task_set: TaskSet
    policy: Policy
    policy_sha256: str

    @property
    def tasks_path(self) -> Path:
        """The task file."""
        return self.root / self.config.task_set

    @property
    def policy_path(self) -> Path:
        """The publication policy."""
        return self.root / POLICY_FILE


@dataclass(frozen=True, slots=True)
class CadencePlan:
    """What will run for a release.

    Attributes:
        toolkit_revision: what the records have to name as the code that made them.
        catalog_url: base URL of the catalog that a real run pays, in normal form.
    """

    inputs: Inputs
    release_sha: str
    date: str
    rehearsal: bool
    code: Code
    toolkit_revision: str
    catalog_url: str = DEFAULT_BASE_URL

    @property
    def api_base_url(self) -> str:
        """Base URL of the API that the records have to name: a rehearsal never leaves the sandbox."""
        return SANDBOX_BASE_URL if self.rehearsal else self.catalog_url

    @property
    def branch(self) -> str:
        """The branch that its results go to."""
        return branch_name(self.release_sha, rehearsal=self.rehearsal)

    @property
    def most_billed_calls(self) -> int:
        """The most calls that one attempt can bill."""
        return self.inputs.config.most_billed_calls(len(self.inputs.task_set.tasks))

    @property
    def stems(self) -> tuple[str, str]:
        """File stems of the reference pair and of the configured-model pair."""
        config = self.inputs.config
        reference, configured = (
            result_stem(
                self.date,
                model,
                self.release_sha,
                config.task_version,
                configured=configured,
                rehearsal=self.rehearsal,
            )
            for model, configured in ((config.reference.model, False), (config.configured_model.model, True))
        )
        return reference, configured

    @property
    def section(self) -> str:
        """File name of the results section."""
        version = self.inputs.config.task_version
        return section_name(self.date, self.release_sha, version, rehearsal=self.rehearsal)

    def document(self) -> dict[str, Any]:
        """The plan as a plain object."""
        inputs, config = self.inputs, self.inputs.config
        reference, configured = self.stems
        tasks = len(inputs.task_set.tasks)
        model = config.configured_model
        return {
            "schema_version": 1,
            "release_sha": self.release_sha,
            "date": self.date,
            "rehearsal": self.rehearsal,
            "branch": self.branch,
            "task_set": {
                "file": config.task_set,
                "version": config.task_version,
                "sha256": inputs.task_set.sha256,
                "tasks": tasks,
            },
            "trials": config.trials,
            "discovery_limit": config.discovery_limit,
            "api_base_url": self.api_base_url,
            "lanes": [
                {"lane": "reference", "stem": reference, **config.reference.model_dump()},
                {
                    "lane": "configured-model",
                    "stem": configured,
                    **model.model_dump(),
                    **({"stand_in": STAND_IN} if self.rehearsal else {}),
                },
            ],
            "budget": {
                "records_per_lane": config.records_per_lane(tasks),
                "lanes": LANE_COUNT,
                "most_billed_calls": self.most_billed_calls,
                "max_credits": config.max_credits,
            },
            "cadence_sha256": inputs.config_sha256,
            "policy": {"id": inputs.policy.policy_id, "sha256": inputs.policy_sha256},
            "code": {"kind": self.code.kind, "digest": self.code.digest},
            "toolkit_revision": self.toolkit_revision,
        }

    @property
    def digest(self) -> str:
        """The plan digest: SHA-256 of the compact JSON of `document`."""
        return sha256_of_json(self.document())

    def file(self) -> dict[str, Any]:
        """Content of `plan.json`."""
        return {"plan_digest": self.digest, "plan": self.document()}


def read_inputs(root: Path) -> Inputs:
    """Read and check every reviewed file of a checkout.

    Raises:
        InputError: names the file and the field.
    """
    config, config_sha256 = load_config(root / CADENCE_FILE)
    adapters = (
        ("reference", config.reference.adapter),
        ("configured_model", config.configured_model.adapter),
    )
    for lane, adapter in adapters:
        if not (root / "adapters" / adapter).is_file():
            raise InputError(f"adapters/{adapter} is missing", where=f"{root / CADENCE_FILE}: {lane}.adapter")
    policy_path = root / POLICY_FILE
    policy = load_policy(policy_path)
    return Inputs(
        root=root,
        config=config,
        config_sha256=config_sha256,
        task_set=load_task_set(root / config.task_set),
        policy=policy,
        policy_sha256=sha256_hex(read_input(policy_path)),
    )


def make_plan(
    inputs: Inputs,
    *,
    release_sha: str,
    date: str,
    rehearsal: bool,
    code: Code,
    toolkit_revision: str,
    catalog_url: str | None = None,
) -> CadencePlan:
    """Put a plan together.

    Args:
        catalog_url: base URL of the catalog; None for the default one, and without effect on a rehearsal.

    Raises:
        InputError: a SHA, date or URL that is none.
    """
    check_release_sha(release_sha)
    check_date(date)
    if catalog_url is None or rehearsal:
        catalog_url = DEFAULT_BASE_URL
    return CadencePlan(
        inputs, release_sha, date, rehearsal, code, toolkit_revision, normalize_base_url(catalog_url)
    )


def resolve_code_revision(installed: ToolkitRevision, release_sha: str, *, rehearsal: bool) -> str:
    """The commit that the records of a run here will name as the code that made them.

    Args:
        installed: revision of the running code; where it isn't known, the release's counts.

    Raises:
        InputError: changed code, which no record could name, or for a real run another commit.
    """
    if installed.dirty:
        raise InputError(
            "this checkout of discovercall has changes, so no result could be attributed",
            fix="commit them, or use a released image",
        )
    revision = installed.commit or release_sha
    if not rehearsal and revision != release_sha:
        raise InputError(
            f"the code here is {revision}, the release is {release_sha}",
            where="--release-sha",
            fix="run the release's own image or checkout",
        )
    return revision


def read_plan_file(path: Path) -> tuple[dict[str, Any], str]:
    """A `plan.json`: its plan as a plain object, and its digest.

    Raises:
        InputError: unreadable, or not what `cadence plan` writes.
    """
    value, _ = read_json(path, FILE_LIMIT)
    return check_plan_file(value, str(path))


def check_plan_file(value: Any, where: str) -> tuple[dict[str, Any], str]:
    """The same of content that is already parsed.

    Raises:
        InputError: not what `cadence plan` writes, or its digest isn't that of its plan.
    """
    plan = value.get("plan") if isinstance(value, dict) else None
    digest = value.get("plan_digest") if isinstance(value, dict) else None
    if not isinstance(plan, dict) or not isinstance(digest, str) or set(value) != {"plan", "plan_digest"}:
        raise InputError("is no plan", where=where, fix="take what `discovercall cadence plan` wrote")
    if sha256_of_json(plan) != digest:
        raise InputError("has a digest that isn't that of its plan", where=where)
    return plan, digest


def check_same_plan(approved: Mapping[str, Any], here: CadencePlan) -> None:
    """Refuse when what would run here is not what was approved.

    Raises:
        RefusedError: names what differs.
    """
    found = here.document()
    if sha256_of_json(approved) == here.digest:
        return
    different = [
        f"{name}: approved {approved.get(name)!r}, here {found.get(name)!r}"
        for name in dict.fromkeys([*found, *approved])
        if approved.get(name) != found.get(name)
    ]
    raise RefusedError(
        f"the plan here has the digest {here.digest}, approved was {sha256_of_json(approved)}"
        f" ({'; '.join(different)[:600]})",
        where="plan",
        fix="plan again and have that approved",
    )


def plan_again(
    approved: Mapping[str, Any],
    root: Path,
    code: Code,
    installed: ToolkitRevision,
    *,
    catalog_url: str | None = None,
) -> CadencePlan:
    """The approved plan as this checkout and this code have it.

    Args:
        catalog_url: the catalog that is named here; None where none is, and the approved one counts.

    Raises:
        InputError: a wrong file here, or code that no record could name.
        RefusedError: it isn't the approved one.
    """
    rehearsal = approved.get("rehearsal") is True
    release_sha = str(approved.get("release_sha"))
    here = make_plan(
        read_inputs(root),
        release_sha=release_sha,
        date=str(approved.get("date")),
        rehearsal=rehearsal,
        code=code,
        toolkit_revision=resolve_code_revision(installed, release_sha, rehearsal=rehearsal),
        catalog_url=str(approved.get("api_base_url")) if catalog_url is None else catalog_url,
    )
    check_same_plan(approved, here)
    return here
