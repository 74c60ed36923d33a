"""Every command in the pages exists and takes the options shown with it; what needs nothing is run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.core

from discovercall.cli.tree import COMMANDS, load

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sysconfig.get_path("scripts")) / "discovercall"
PAGES = sorted(
    {page for folder in ("docs", "adapters", "results", "tasks") for page in (ROOT / folder).rglob("*.md")}
    | set(ROOT.glob("*.md"))
)
_LINE = re.compile(r"^(?:[ ]{4}|- run: |\$ )?(discovercall (?!is\b|measures\b).*)$")
_SPAN = re.compile(r"`(discovercall [^`]+)`")
_TARGET = re.compile(r"(?:^|`|    )make ([a-z][a-z-]*)", re.MULTILINE)
# With loopback as the catalog, code with changes that are not committed may plan a run, too.
_SETTINGS = {
    "CODEX_API_KEY": "k",
    "OPENAI_API_KEY": "k",
    "OPENROUTER_API_KEY": "k",
    "QVERIS_API_KEY": "k",
    "QVERIS_BASE_URL": "http://127.0.0.1:9/api/v1",
}
# Placeholders of a reader's own things: such commands are read, not run.
_PLACEHOLDER = re.compile(r"…|\$\(|\b[A-Z]+\b|\bmy[-_]|lanes\.toml|gateway\.toml|plan\.json|<")


def lines_of(text: str) -> Iterator[str]:
    """Commands that stand on lines of their own, with their continuations."""
    for line in re.sub(r"[ ]*\\\n[ ]*", " ", text).splitlines():
        if found := _LINE.match(line):
            yield found[1]


def words_of(command: str) -> list[str]:
    """The words of a command up to a pipe or a redirection, comments left out."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|>&;")
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if set(word) <= set("|>&;"):
            break
        words.append(word)
    return words[1:]


def problem_with(command: str) -> str | None:
    """Why the program would not understand a command; None where it would."""
    words = [word for word in words_of(command) if not word.startswith(("…", "[NAME"))]
    if not words or words[0].startswith("-"):
        return None
    if words[0] not in COMMANDS:
        return f"there is no command {words[0]}"
    found = load(words.pop(0))
    context = None
    while isinstance(found, typer.core.TyperGroup):
        context = typer.Context(found, parent=context)
        if not words or words[0] in ("…", "|") or words[0].startswith("-"):
            return None
        name = words.pop(0)
        inner = found.get_command(context, name)
        if inner is None:
            return f"there is no command {name}"
        found = inner
    known = {option for parameter in found.params for option in [*parameter.opts, *parameter.secondary_opts]}
    shown = {word.split("=")[0] for word in words if word.startswith("--") and len(word) > 2}
    values = {words[place + 1] for place, word in enumerate(words[:-1]) if word == "--adapter-arg"}
    unknown = sorted(shown - known - values - {"--help"})
    return f"it has no option {', '.join(unknown)}" if unknown else None


LINES = [(page, command) for page in PAGES for command in lines_of(page.read_text("utf-8"))]
SPANS = [(page, command) for page in PAGES for command in _SPAN.findall(page.read_text("utf-8"))]


def test_every_command_of_the_pages_is_understood() -> None:
    assert len(LINES) > 20
    assert len(SPANS) > 20
    wrong = [
        f"{page.relative_to(ROOT)}: {command}: {why}"
        for page, command in [*LINES, *SPANS]
        if (why := problem_with(command)) is not None
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "command",
    [
        "discovercall runn",
        "discovercall run --outptu x",
        "discovercall gateway seek x",
        "discovercall score --run x",
    ],
)
def test_a_command_that_is_not_there_is_found(command: str) -> None:
    assert problem_with(command)


def test_every_target_of_the_pages_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    shown = {
        target
        for page in PAGES
        for block in re.findall(r"```\w*\n(.*?)```|(`make [^`]+`)", page.read_text("utf-8"), re.DOTALL)
        for target in _TARGET.findall("\n".join(block))
    }
    assert {"demo", "test"} <= shown <= targets


_NEEDS_A_RUN = ("score", "compare", "ledger")  # what they read is made by the command before them
RUNNABLE = [
    (page, command)
    for page, command in LINES
    if not _PLACEHOLDER.search(command.replace("$GITHUB_STEP_SUMMARY", "").split("#")[0])
    and words_of(command)[0] not in _NEEDS_A_RUN
    and words_of(command)[:2] != ["gateway", "serve"]  # until it is stopped
]


@pytest.mark.slow
@pytest.mark.part("commands of the pages")
@pytest.mark.parametrize(("page", "command"), RUNNABLE, ids=[command[:60] for _, command in RUNNABLE])
def test_a_command_that_needs_nothing_runs(page: Path, command: str, tmp_path: Path) -> None:
    for name in ("tasks", "adapters"):
        (tmp_path / name).symlink_to(ROOT / name)
    # The suite's default folder is that of a checkout; what a command writes there must not reach this one's.
    for file in ROOT.iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    for name in ("docs", "results"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "private").mkdir()
    codex = tmp_path / "codex"  # planning asks a model's command line for its version only
    codex.write_text("#!/bin/sh\necho codex-cli 0.171.0\n")
    codex.chmod(0o755)
    words = [word.replace("/tmp/", f"{tmp_path}/") for word in words_of(command)]
    if words[0] == "run" and "--plan-only" not in words:
        words.append("--plan-only")  # a model, a key or servers would be needed to go on
    done = subprocess.run(
        [PROGRAM, *words],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path), **_SETTINGS},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    allowed = (0, 1) if words[0] == "doctor" else (0,)
    assert done.returncode in allowed, f"{page.name}: {command}\n{done.stdout[-500:]}{done.stderr}"


def in_order(page: str, wanted: str, folder: Path) -> dict[str, str]:
    """Run the commands of a page that name `wanted`, in order; what each said, by its first word."""
    (folder / "tasks").symlink_to(ROOT / "tasks")
    said = {}
    for words in (words_of(line) for line in lines_of(page) if wanted in line):
        done = subprocess.run(
            [PROGRAM, *(word.replace("/tmp/", f"{folder}/") for word in words)],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said[words[0]] = done.stdout + done.stderr
    return said


@pytest.mark.slow
@pytest.mark.part("commands of the pages")
def test_the_adapter_of_the_page_runs_and_is_scored(tmp_path: Path) -> None:
    page = (ROOT / "adapters" / "README.md").read_text("utf-8")
    adapter = tmp_path / "my_adapter.py"
    adapter.write_text(page.split("```python\n")[1].split("```")[0])
    adapter.chmod(0o755)
    said = in_order(page, "/tmp/my-rule.jsonl", tmp_path)
    assert "54 of 54 trials" in said["run"]
    assert "21 of 54 trials ended early: parameterize invalid_parameter_values 21\n" in said["run"]
    assert "16.7%" in said["score"]  # three tasks of 18


@pytest.mark.slow
@pytest.mark.part("commands of the pages")
def test_the_task_set_of_the_page_is_valid_and_solved(tmp_path: Path) -> None:
    page = (ROOT / "tasks" / "README.md").read_text("utf-8")
    (tmp_path / "my-tasks.jsonl").write_text(page.split("```json\n")[1].split("```")[0])
    said = in_order(page, "my-tasks.jsonl", tmp_path)
    assert list(said) == ["validate", "run", "score"]
    assert said["validate"].startswith("valid  my-tasks.jsonl: task set, tasks 1, ")
    assert "No strict failure." in said["score"]
