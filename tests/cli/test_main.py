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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["scroe"], "scroe: no such command; there is score; see discovercall --help"),
        (["score"], "--tasks: is required; see discovercall score --help"),
        (["gateway", "find"], "query: is required; see discovercall gateway find --help"),
        (["run", "--trial", "3"], "--trial: no such option; there is --trials; see discovercall run --help"),
        (["run", "--trials", "x"], "--trials: must be a whole number; see discovercall run --help"),
        (["run", "--max-credits", "x"], "--max-credits: must be a number; see discovercall run --help"),
        (
            ["gateway", "find", "x", "--limit=0"],
            "--limit: must be at least 1; see discovercall gateway find --help",
        ),
        (
            ["eval", "run", "--tolerance=2"],
            "--tolerance: must be at most 1; see discovercall eval run --help",
        ),
        (
            ["ledger", "a", "--format=x"],
            "--format: 'x' is not one of 'human', 'json'; see discovercall ledger --help",
        ),
        (["score", "--tasks"], "--tasks: needs a value"),
        (["run", "--execute=3"], "--execute: takes no value"),
        (["ledger", "a", "b"], "b: one argument too many; see discovercall ledger --help"),
    ],
)
def test_a_mistake_of_usage_reads_like_any_other(command, words, message):
    done = command(*words)
    assert (done.code, done.out, done.err) == (2, "", f"discovercall: {message}\n")


@pytest.mark.parametrize(
    ("words", "place", "offered"),
    [
        ("discovercall led", 1, "ledger"),
        ("discovercall score --ru", 2, "--runs"),
        ("discovercall eval rat", 2, "ratchet"),
    ],
)
def test_a_shell_can_complete_commands_and_their_options(command, words, place, offered):
    asked = {"_DISCOVERCALL_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(place)}
    assert command(**asked).out.split() == [offered]


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
