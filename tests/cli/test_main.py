import pytest

from discovercall import __version__
from discovercall.cli import adapters as adapters_command
from tests.support.bench import assert_refused


def test_the_version(command):
    assert command("--version").out == f"{__version__}\n"


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["run", "--help"], ["score", "-h"]])
def test_help_is_on_standard_output(command, words):
    done = command(*words)
    assert done.code == 0
    assert "Usage: " in done.out
    assert done.err == ""


@pytest.mark.parametrize(
    "words", [["no-such-command"], ["run", "surprise"], ["--no-such-flag"], ["score", "--runs"]]
)
def test_a_mistake_of_usage_is_one_line(command, words):
    done = command(*words)
    assert_refused(done, "^discovercall: ")


def test_a_message_of_several_lines_becomes_one(command, tmp_path):
    done = command("score", "--tasks", "a\nb", "--runs", "x")
    assert_refused(done, "a b: cannot be read")


def test_an_interrupt_has_its_own_code(command, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(adapters_command, "print_json", interrupted)
    done = command("adapters", "--format", "json")
    assert done.code == 130
    assert "Traceback" not in done.err
