"""What the commands `discovercall gateway …` share: their options, and the broker that they work on."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discovercall.cli.formats import print_json
from discovercall.foundation.errors import EXIT_NO, InputError

if TYPE_CHECKING:
    from discovercall.gateway.assembly import Assembly
    from discovercall.gateway.catalog import World
    from discovercall.gateway.config import GatewayConfig
    from discovercall.gateway.results import Answer


class GatewayFormat(StrEnum):
    """How the gateway's commands print: for people, as JSON, or on one line."""

    HUMAN = "human"
    JSON = "json"
    CONCISE = "concise"


class Semantic(StrEnum):
    """Whether the embedding model takes part in searches."""

    AUTO = "auto"
    OFF = "off"
    REQUIRE = "require"


CatalogOption = Annotated[
    Path | None,
    typer.Option(help="World file; default: the one that comes with the toolkit.", metavar="FILE"),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", help="gateway.toml with MCP servers, instead of a world.", metavar="FILE"),
]
SemanticOption = Annotated[
    Semantic | None,
    typer.Option(help="Use the embedding model: where installed, never, or refuse to work without."),
]
FormatOption = Annotated[GatewayFormat, typer.Option("--format", help="How the result is printed.")]


def read_world(path: Path | None) -> World:
    """The world of `--catalog`."""
    from discovercall.gateway.catalog import default_world_path, load_world

    return load_world(path or default_world_path())


def read_config(path: Path) -> GatewayConfig:
    """The configuration of `--config`, with the variables that it refers to."""
    from discovercall.gateway.config import load_config

    try:
        return load_config(path, os.environ)
    except InputError as error:
        if path.exists():
            raise
        fix = "write one: [servers.NAME] with command = and args =, or with url ="
        raise InputError(error.what, where=error.where, fix=fix) from None


@contextlib.contextmanager
def opened(
    catalog: Path | None,
    config: Path | None,
    semantic: Semantic | None,
    *,
    limit: int | None = None,
    scores: bool = False,
) -> Iterator[Assembly]:
    """The broker that a command works on, closed in the end.

    Args:
        catalog: the world's file; the one that comes with the toolkit when None.
        config: the configuration, instead of a world.
        semantic: instead of what the configuration says.
        limit: how many tools a search names, instead of what the configuration says.
        scores: add the numbers behind a decision, whatever the configuration says.

    Raises:
        InputError: both a world and a configuration are given, or one of them is wrong.
    """
    from dataclasses import replace

    from discovercall.gateway.assembly import assemble, assemble_world
    from discovercall.gateway.settings import BrokerSettings

    def asked_for(settings: BrokerSettings) -> BrokerSettings:
        return replace(settings, max_results=limit or settings.max_results, scores=scores or settings.scores)

    if catalog is not None and config is not None:
        raise InputError("goes without --catalog", where="--config", fix="give one of them")
    if config is not None:
        read = read_config(config)
        assembly = assemble(
            replace(read, settings=asked_for(read.settings)),
            semantic=semantic.value if semantic else None,
            busy=say_embedding,
        )
    else:
        world = read_world(catalog)
        assembly = assemble_world(
            world,
            semantic=semantic.value if semantic else Semantic.AUTO.value,
            vectors=_vectors(),
            settings=asked_for(BrokerSettings()),
            path=catalog,
            busy=say_embedding,
        )
    try:
        yield assembly
    finally:
        assembly.broker.close()


def say_embedding() -> None:
    """Tell whoever waits why, before a catalog's texts are embedded."""
    typer.echo(
        "Embedding the catalog's texts, 10 ms or so each; done once, where they can be kept.", err=True
    )


def show(answer: Answer, format: GatewayFormat) -> None:
    """Print an answer; a failure ends the command with exit code 1.

    Raises:
        typer.Exit: the answer is a failure.
    """
    from discovercall.gateway.rendering import concise, human

    if format is GatewayFormat.JSON:
        print_json(answer.to_json())
    else:
        typer.echo(human(answer) if format is GatewayFormat.HUMAN else concise(answer))
    if not answer.ok:
        raise typer.Exit(EXIT_NO)


def _vectors() -> Path:
    """Where the vectors of worlds are kept: the user's cache folder."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "discovercall" / "vectors.npz"
