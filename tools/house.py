"""The packages of `discovercall`, which lies above which, and who imports whom: read from the source.

Lazy imports count like any other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "discovercall"
LAYERS = (
    ("foundation",),
    ("adapter", "capability", "report", "statistics"),
    ("contract",),
    ("gateway", "publication"),
    ("cadence", "evals", "invocation"),
    ("cli",),
)
"""From the lowest to the highest: a package imports from lower ones only."""

MODULES = sorted((ROOT / PACKAGE).rglob("*.py"))


def module_name(path: Path) -> str:
    """The dotted name of a module of this project."""
    if path == ROOT / PACKAGE / "__main__.py":
        return f"{PACKAGE}.cli.__main__"  # another way to start the command line
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything that a module imports; of a `from` import each name taken."""
    for node in ast.walk(ast.parse(path.read_bytes(), str(path))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = module_name(path).split(".")
            if path.name != "__init__.py":
                package.pop()
            base = package[: len(package) - node.level + 1] if node.level else []
            prefix = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{prefix}.{alias.name}") for alias in node.names)


def area(module: str) -> str | None:
    """The package below `discovercall` that a module is in; None for `discovercall` itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else None


def edges() -> set[tuple[str, str]]:
    """Which package imports from which other, as (importer, imported)."""
    return {
        (importer, imported)
        for path in MODULES
        for _, name in imports(path)
        if (importer := area(module_name(path))) and name.startswith(f"{PACKAGE}.")
        if (imported := area(name)) in sum(LAYERS, ()) and imported and imported != importer
    }
