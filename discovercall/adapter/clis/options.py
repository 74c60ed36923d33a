"""What an adapter of a model command line is told, and the program that it means."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from discovercall.adapter.authoring import Refusal
from discovercall.adapter.clis.facts import ModelCli
from discovercall.foundation.base_url import is_loopback, normalize_base_url
from discovercall.foundation.errors import InputError

DEFAULT_EFFORT = "medium"


@dataclass(frozen=True, slots=True)
class CliOptions:
    """The command line of an adapter.

    Attributes:
        effort: reasoning effort, passed on to the model.
        version: the version that must be installed; None for any.
        path: the program; None looks it up in PATH.
        base_url: a model server on this machine, for rehearsals; None for the provider's own.
    """

    effort: str = DEFAULT_EFFORT
    version: str | None = None
    path: str | None = None
    base_url: str | None = None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refusal("start_failed", message)


def read_options(cli: ModelCli, arguments: Sequence[str]) -> CliOptions:
    """Options from an adapter's arguments.

    Raises:
        Refusal: `start_failed`; what is wrong.
        SystemExit: the help was asked for.
    """
    parser = _Parser(
        prog=f"{cli.name}_cli.py",
        description="One decision: reads a request of the adapter protocol on standard input.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--effort", default=DEFAULT_EFFORT, choices=cli.efforts, help=f"default {DEFAULT_EFFORT}")
    add("--cli-version", metavar="VERSION", help="refuse any other installed version")
    add("--cli-path", metavar="FILE", help=f"the program; default: {cli.name} in PATH")
    add("--base-url", metavar="URL", help="a model server on this machine, for rehearsals")
    given = parser.parse_args(list(arguments))
    if given.base_url is not None and not _is_loopback(given.base_url):
        raise Refusal(
            "start_failed", "--base-url is for rehearsals: http on localhost, 127.0.0.1 or [::1] only"
        )
    return CliOptions(given.effort, given.cli_version, given.cli_path, given.base_url)


def locate(cli: ModelCli, options: CliOptions, search_path: str | None) -> str:
    """The program's full path.

    Args:
        cli: the command line.
        options: may name the program.
        search_path: the PATH to look in.

    Raises:
        Refusal: `start_failed`; there is none.
    """
    if options.path is not None:
        if not os.path.isabs(options.path):
            raise Refusal("start_failed", "--cli-path must be a full path")
        if not (os.path.isfile(options.path) and os.access(options.path, os.X_OK)):
            raise Refusal("start_failed", "--cli-path is no executable file")
        return options.path
    found = shutil.which(cli.name, path=search_path or os.defpath)
    if found is None:
        raise Refusal("start_failed", f"{cli.name} is not in PATH")
    return os.path.abspath(found)


def parse_version(cli: ModelCli, printed: str) -> str:
    """The version in what `--version` printed.

    Raises:
        Refusal: `start_failed`; there is none.
    """
    found = cli.version.search(printed)
    if found is None:
        raise Refusal("start_failed", f"{cli.name} --version shows no version: is it wholly installed?")
    return found.group(1)


def check_version(cli: ModelCli, options: CliOptions, installed: str) -> None:
    """Refuse another version than the one asked for.

    Raises:
        Refusal: `start_failed`; names both.
    """
    if options.version is not None and options.version != installed:
        raise Refusal(
            "start_failed", f"{cli.name} {installed} is installed, --cli-version asks for {options.version}"
        )


def _is_loopback(url: str) -> bool:
    try:
        return url.startswith("http://") and is_loopback(normalize_base_url(url))
    except InputError:
        return False
