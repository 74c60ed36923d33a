"""The program `discovercall`: the command tree, and how errors reach a person."""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from discovercall import __version__
from discovercall.cli.tree import register
from discovercall.foundation.errors import EXIT_INTERRUPTED, EXIT_USAGE, DiscovercallError
from discovercall.foundation.shown import shown_line

app = typer.Typer(
    help="Measure whether an AI agent uses a tool catalog correctly, and publish what you may.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
register(app)  # commands are rows of tree.COMMANDS


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr, never a traceback."""
    gc.disable()  # until a command begins: building the command tree makes no garbage worth looking for
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a character that the terminal lacks must not end a command
            stream.reconfigure(errors="replace")
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except DiscovercallError as error:
        _complain(str(error))
        code = error.exit_code
    except TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message(), file=sys.stderr)
        else:
            from discovercall.cli.usage import usage_message

            _complain(usage_message(error))
        code = EXIT_USAGE
    except typer.Abort as abort:
        if isinstance(abort.__cause__, EOFError):  # typer takes a bug that raises EOFError for an interrupt
            raise abort.__cause__ from None
        code = EXIT_INTERRUPTED
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        _abandon_output()
        code = 1
    except OSError as error:
        _complain(f"{error.filename or 'output'}: {error.strerror or error}")
        _abandon_output()
        code = EXIT_USAGE
    gc.enable()
    sys.exit(code if isinstance(code, int) else 0)


def _abandon_output() -> None:
    """Let what could not be written go: the interpreter would try again at its end, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str) -> None:
    print(f"discovercall: {shown_line(message)}", file=sys.stderr)
