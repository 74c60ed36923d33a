"""Lanes as a person states them, on the command line or in a file, and as a plan holds them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from discovercall.adapter.bundled import BundledAdapter, bundled_adapter
from discovercall.adapter.environment import adapter_environment, check_requested_names
from discovercall.adapter.identity import AdapterIdentity, identify
from discovercall.adapter.startable import check_startable
from discovercall.contract.plan import LANES, Lane
from discovercall.foundation.artifacts import UNREPORTED
from discovercall.foundation.digests import sha256_hex, sha256_of_json
from discovercall.foundation.ecmascript import is_safe
from discovercall.foundation.errors import InputError
from discovercall.foundation.models import NotBlank, StrictModel, check
from discovercall.foundation.toml_file import read_toml

_LARGEST_PROGRAM = 64 * 2**20
_REVISION_REQUIRED = ("reference", "pinned-model")


@dataclass(frozen=True, slots=True)
class LaneOptions:
    """What was said about one lane; None where nothing was said.

    Args:
        where: what errors name: empty for flags, else the place in the lane file.
    """

    output: Path
    lane: str | None = None
    model: str | None = None
    model_revision: str | None = None
    adapter: str | None = None
    adapter_args: tuple[str, ...] = ()
    adapter_env: tuple[str, ...] = ()
    adapter_revision: str | None = None
    where: str = ""

    def at(self, field: str) -> str:
        """How an error names a field: as a flag, or as a field of the lane file."""
        return f"{self.where}: {field}" if self.where else f"--{field.replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class PreparedLane:
    """A checked lane, the environment of its adapter, and what to warn of."""

    lane: Lane
    environment: Mapping[str, str]
    warnings: tuple[str, ...]


class _LaneTable(StrictModel):
    name: NotBlank
    model: NotBlank
    adapter: NotBlank
    model_revision: NotBlank | None = None
    adapter_args: list[str] = Field(default_factory=list)
    adapter_env: list[NotBlank] = Field(default_factory=list)
    adapter_revision: NotBlank | None = None
    output: NotBlank | None = None


class _LaneFile(StrictModel):
    lane: Annotated[list[_LaneTable], Field(min_length=1)]


def read_lanes(path: Path, out: Path) -> list[LaneOptions]:
    """Read a lane file: TOML with one `[[lane]]` table per lane.

    Args:
        path: the file.
        out: folder of the outputs; a lane's is `<name>.jsonl` unless it names one.

    Raises:
        InputError: names the file and the field.
    """
    lanes: list[LaneOptions] = []
    for index, table in enumerate(check(_LaneFile, read_toml(path), str(path)).lane):
        where = f"{path}: lane[{index}]"
        name = table.output or f"{table.name}.jsonl"
        if not is_safe(name, 200) or Path(name).name != name or name in (".", ".."):
            raise InputError("must be a plain file name", where=f"{where}.output")
        if any(lane.output.name == name for lane in lanes):
            raise InputError(
                f"{name} is taken by another lane", where=where, fix='give one an output = "other.jsonl"'
            )
        lanes.append(
            LaneOptions(
                output=out / name,
                lane=table.name,
                model=table.model,
                model_revision=table.model_revision,
                adapter=table.adapter,
                adapter_args=tuple(table.adapter_args),
                adapter_env=tuple(table.adapter_env),
                adapter_revision=table.adapter_revision,
                where=where,
            )
        )
    return lanes


def prepare_lane(
    options: LaneOptions,
    *,
    tasks_path: Path,
    environment: Mapping[str, str],
    toolkit_revision: str,
    sandbox: bool,
) -> PreparedLane:
    """Check one lane.

    Args:
        options: what was said about it.
        tasks_path: the run's task file.
        environment: the harness's environment.
        toolkit_revision: as the records will name it.
        sandbox: whether the run is a rehearsal on the embedded gateway, where a bundled adapter's name
            says everything.

    Raises:
        InputError: the first thing that is wrong.
    """
    bundled = bundled_adapter(options.adapter or "")
    requested = check_requested_names(options.adapter_env)
    child_environment = adapter_environment(environment, bundled.environment if bundled else (), requested)
    if options.adapter is not None and bundled is None:
        check_startable([options.adapter], child_environment.get("PATH"))
    model, lane = _model_and_lane(options, bundled, sandbox)
    identity = None
    if bundled is not None:
        identity = identify(
            bundled, options.adapter_args, child_environment, model=model, where=options.at("adapter")
        )
        command = bundled.command(tasks_path, identity.arguments)
    else:
        command = check_startable(
            [options.adapter or "", *options.adapter_args], child_environment.get("PATH")
        )
    adapter_revision = _adapter_revision(options, identity, toolkit_revision)
    bundled_revision = adapter_revision if bundled and sandbox else None
    return PreparedLane(
        Lane(
            lane=lane,
            model=model,
            model_revision=_model_revision(options, lane, bundled_revision),
            adapter_revision=adapter_revision,
            command=tuple(command),
            output=options.output,
            program_sha256=_program_digest(command),
            environment=tuple(sorted(requested)),
        ),
        child_environment,
        () if bundled else tuple(_relative_paths(options.adapter_args)),
    )


_REQUIRED = {
    "model": "say what the records shall call it",
    "lane": f"one of {', '.join(LANES)}",
    "adapter": "name a program, or one that `discovercall adapters` lists",
}


def _model_and_lane(options: LaneOptions, bundled: BundledAdapter | None, sandbox: bool) -> tuple[str, str]:
    model, lane = options.model, options.lane
    if sandbox and bundled is not None:
        model = bundled.name if model is None else model
        lane = bundled.lane if lane is None else lane
    for field, value in (("model", model), ("lane", lane), ("adapter", options.adapter)):
        if value is None:
            raise InputError("is required", where=options.at(field), fix=_REQUIRED[field])
    _check_name(options.at("model"), model)
    if lane not in LANES:
        field = "name" if options.where else "lane"
        raise InputError(
            f"{lane!r} is no lane", where=options.at(field), fix=f"the lanes are {', '.join(LANES)}"
        )
    return str(model), str(lane)


def _check_name(where: str, value: str | None) -> None:
    if not is_safe(value):
        raise InputError(
            "must have 1 to 256 characters, not blank, no control or format characters", where=where
        )


def _model_revision(options: LaneOptions, lane: str, bundled_revision: str | None) -> str:
    where = options.at("model_revision")
    if options.model_revision is not None:
        _check_name(where, options.model_revision)
        return options.model_revision
    if lane not in _REVISION_REQUIRED:
        return UNREPORTED
    if lane == "reference" and bundled_revision is not None:
        return bundled_revision  # the adapter is the whole model
    raise InputError(f"is required for the lane {lane}", where=where)


def _adapter_revision(options: LaneOptions, identity: AdapterIdentity | None, toolkit_revision: str) -> str:
    where = options.at("adapter_revision")
    if options.adapter_revision is not None:
        _check_name(where, options.adapter_revision)
        return options.adapter_revision
    if identity is None:
        raise InputError(
            "is required for an adapter of your own",
            where=where,
            fix="name its commit or version, so that the record says what was measured",
        )
    return identity.revision(toolkit_revision)


def _program_digest(command: Sequence[str]) -> str:
    """Digest of the files that a command line names, but for this interpreter and for large ones (models)."""
    digests = []
    for part in command:
        path = Path(part)
        is_program = path.is_absolute() and part != sys.executable and path.is_file()
        if is_program and path.stat().st_size <= _LARGEST_PROGRAM:
            digests.append(sha256_hex(path.read_bytes()))
    return sha256_of_json(digests)


def _relative_paths(arguments: tuple[str, ...]) -> list[str]:
    return [
        f"adapter argument {argument}: adapters run in an empty folder of their own; give the full path"
        for argument in arguments
        if not argument.startswith("/") and Path(argument).is_file()
    ]
