import os

import pytest
from typer.testing import CliRunner

from discovercall.cli.main import app
from discovercall.cli.tree import _ONE_THREAD, COMMANDS, load


@pytest.mark.parametrize("name", COMMANDS)
def test_the_overview_says_of_a_command_what_the_command_says_of_itself(name):
    first_paragraph = load(name).help.split("\n\n")[0]
    assert COMMANDS[name].help == " ".join(first_paragraph.split())


def test_every_command_is_in_the_overview():
    page = CliRunner().invoke(app, ["--help"]).stdout
    shown = [line.split()[0] for line in page.partition("Commands:\n")[2].splitlines()]
    assert shown == list(COMMANDS)


@pytest.mark.parametrize("words", [[], ["cadence"], ["gateway"], ["eval"], ["invoke"]])
def test_an_overview_cuts_no_line_on_a_terminal_of_80_columns(words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = CliRunner().invoke(app, [*words, "--help"]).stdout.partition("Commands:\n")[2].splitlines()
    assert len(lines) > 1
    assert [line for line in lines if line.endswith("...")] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_shows_its_own_page(name):
    page = CliRunner().invoke(app, [name, "--help"])
    assert page.exit_code == 0
    options = [name for parameter in load(name).params for name in parameter.opts if name.startswith("--")]
    words = options or getattr(load(name), "commands", [])
    assert words
    assert [word for word in words if word not in page.stdout] == []


@pytest.mark.parametrize(("given", "kept"), [(None, "1"), ("3", "3")])
def test_commands_without_linear_algebra_start_no_threads_for_it(monkeypatch, given, kept):
    assert COMMANDS.keys() >= _ONE_THREAD
    for name in _ONE_THREAD:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", "set, so that it is put back")
        if given is None:
            monkeypatch.delenv("OPENBLAS_NUM_THREADS")
        else:
            monkeypatch.setenv("OPENBLAS_NUM_THREADS", given)
        CliRunner().invoke(app, [name, "--help"])
        assert os.environ["OPENBLAS_NUM_THREADS"] == kept
