"""Who may import whom: downwards only, no circles. Read from the source, so lazy imports count too."""

from __future__ import annotations

import ast
import graphlib
import sys

import pytest

from tools.house import LAYERS, MODULES, PACKAGE, ROOT, area, imports, module_name

RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
STRANGERS = ({"gateway", "contract"},)  # they meet over HTTP only
STATISTICS_LIBRARIES = {"numpy", "scipy"}
ADAPTERS_MAY_IMPORT = {"foundation", "adapter"}
MAX_LINES = 500
MAX_BODY = 60

ADAPTERS = sorted((ROOT / "adapters").rglob("*.py"))
NAMES = {module_name(path) for path in MODULES}


def own_module(name: str) -> str | None:
    """The longest part of an imported name that is a module of this project."""
    parts = name.split(".")
    return next((m for n in range(len(parts), 0, -1) if (m := ".".join(parts[:n])) in NAMES), None)


def refusal(importer: str | None, name: str) -> str | None:
    """Why a module of area `importer` may not import `name`; None where it may."""
    top = name.split(".")[0]
    if top != PACKAGE:
        if (
            importer == "statistics"
            and top not in STATISTICS_LIBRARIES
            and top not in sys.stdlib_module_names
        ):
            return "statistics knows numpy and scipy only"
        return None
    target = area(name)
    if importer is None or importer == target or name == f"{PACKAGE}.__version__":
        return None
    if target not in RANK:
        return f"{target} is no package that has a place in the layers"
    if {importer, target} in STRANGERS:
        return f"{importer} and {target} never import each other"
    if RANK[importer] <= RANK[target]:
        return f"{importer} lies no higher than {target}"
    return None


def test_every_package_has_a_layer() -> None:
    folders = {path.parent.name for path in (ROOT / PACKAGE).glob("*/__init__.py")}
    assert folders <= RANK.keys()


def test_imports_go_down_only() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: imports {name}: {why}"
        for path in MODULES
        for line, name in imports(path)
        if (why := refusal(area(module_name(path)), name))
    ]
    assert not wrong, "\n".join(wrong)


def test_modules_do_not_import_in_circles() -> None:
    graph: dict[str, set[str]] = {}
    for path in MODULES:
        module = module_name(path)
        targets = {own_module(name) for _, name in imports(path)}
        # A package may gather its own modules, and naming a package is no import of its gathering.
        graph[module] = {target for target in targets if target and not module.startswith(f"{target}.")}
        graph[module] -= {module}
    graphlib.TopologicalSorter(graph).prepare()


def test_adapters_know_the_protocol_and_the_foundation_only() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: imports {name}"
        for path in ADAPTERS
        for line, name in imports(path)
        if (area(name) not in ADAPTERS_MAY_IMPORT)
        and (name.split(".")[0] == PACKAGE or name.split(".")[0] not in sys.stdlib_module_names)
    ]
    assert not wrong, "\n".join(wrong)


def test_modules_stay_small() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {lines} lines"
        for path in [*MODULES, *ADAPTERS]
        if (lines := len(path.read_bytes().splitlines())) > MAX_LINES
    ]
    assert not long, "\n".join(long)


@pytest.mark.parametrize(
    ("importer", "name", "refused"),
    [
        ("cli", "discovercall.cadence.plan", False),
        ("contract", "discovercall.statistics.bootstrap", False),
        ("gateway", "discovercall.gateway.catalog", False),
        (None, "discovercall.contract.tasks", False),
        ("report", "discovercall.__version__", False),
        ("statistics", "scipy.stats", False),
        ("statistics", "math", False),
        ("statistics", "pydantic", True),
        ("statistics", "discovercall.report.terminal", True),
        ("gateway", "discovercall.contract.tasks", True),
        ("contract", "discovercall.gateway.server", True),
        ("foundation", "discovercall.cli.main", True),
        ("evals", "discovercall.cadence.plan", True),
        ("cli", "discovercall.score_record", True),
    ],
)
def test_the_rule_itself(importer: str | None, name: str, refused: bool) -> None:
    assert bool(refusal(importer, name)) == refused


def long_bodies(source: str) -> list[tuple[str, int]]:
    """Functions with 60 lines or more below their signature, in which a command declares its options."""
    functions = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    sizes = [(node.name, (node.end_lineno or 0) - node.body[0].lineno + 1) for node in functions]
    return [(name, size) for name, size in sizes if size >= MAX_BODY]


def test_functions_fit_on_a_screen() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {name} has {size} lines"
        for path in [*MODULES, *ADAPTERS]
        for name, size in long_bodies(path.read_text("utf-8"))
    ]
    assert not long, "\n".join(long)


def test_a_long_function_is_found() -> None:
    assert long_bodies("def f():\n" + "    x = 1\n" * MAX_BODY) == [("f", MAX_BODY)]
