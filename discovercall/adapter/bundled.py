"""The adapters that come along. What one is and needs is said in its own file, by constants that are read
without running it, so that file and listing cannot disagree."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discovercall.foundation.errors import InputError
from discovercall.foundation.resources import resource_path

_CONSTANTS: dict[str, Any] = {
    "LANE": "",
    "ENVIRONMENT": (),
    "READS_TASK_FILE": False,
    "OLD_NAME_OF": None,
    "MODEL_CLI": None,
}


@dataclass(frozen=True, slots=True)
class BundledAdapter:
    """One adapter file.

    Attributes:
        name: what `--adapter` takes.
        path: the file.
        lane: its default lane.
        description: the first line of its docstring.
        environment: names of the variables that it needs, by its own declaration.
        reads_task_file: gets the run's task file as its first argument (the reference route alone).
        old_name_of: the present name, where this is a name kept for old command lines.
        model_cli: the model command line that it starts (`clis.facts.MODEL_CLIS`), if any.
    """

    name: str
    path: Path
    lane: str
    description: str
    environment: tuple[str, ...]
    reads_task_file: bool
    old_name_of: str | None
    model_cli: str | None = None

    def command(self, task_file: Path, arguments: tuple[str, ...] = ()) -> list[str]:
        """The command line that starts it with this interpreter.

        Neither PYTHON* variables nor the current folder can put code in its way: `-E`, `-P`.

        Args:
            task_file: the run's task file.
            arguments: further arguments, after its own.
        """
        own = [str(task_file.resolve())] if self.reads_task_file else []
        return [sys.executable, "-E", "-P", str(self.path), *own, *arguments]


def bundled_adapters() -> dict[str, BundledAdapter]:
    """All bundled adapters by name, old names last."""
    found = [_read(path) for path in sorted(resource_path("adapters").glob("[a-z]*.py"))]
    found.sort(key=lambda adapter: (adapter.old_name_of is not None, adapter.name))
    return {adapter.name: adapter for adapter in found}


def bundled_adapter(name: str) -> BundledAdapter | None:
    """The bundled adapter of that name (`first_result` is `first-result`), or None."""
    return bundled_adapters().get(name.replace("_", "-"))


def _read(path: Path) -> BundledAdapter:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = _CONSTANTS | {
            target.id: ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and target.id in _CONSTANTS
        }
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(f"not a readable adapter ({error})", where=str(path)) from None
    return BundledAdapter(
        name=path.stem.replace("_", "-"),
        path=path,
        lane=str(constants["LANE"]),
        description=(ast.get_docstring(tree) or "").split("\n", 1)[0],
        environment=tuple(constants["ENVIRONMENT"]),
        reads_task_file=bool(constants["READS_TASK_FILE"]),
        old_name_of=constants["OLD_NAME_OF"],
        model_cli=constants["MODEL_CLI"],
    )
