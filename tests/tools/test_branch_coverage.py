"""The coverage check sees processes whose environment is empty, and names what is left."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from tools.branch_coverage import FOLDER, PARTS, ROOT, WHOLE, combined, gaps, judged, measured

SOURCE = """def half(value):
    if value:
        return 1
    return 2


def none():
    return 3
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is measured of a package in a process that starts in another folder and knows no variable."""
    root = _checkout(tmp_path_factory.mktemp("checkout"))
    site = tmp_path_factory.mktemp("site")
    program = "from discovercall.taken import half; half(1)"
    with measured(site, root):
        subprocess.run(_started(program, root, site), env={}, cwd="/", check=True, timeout=60)
    assert list(site.iterdir()) == []
    (root / FOLDER / "run.cut-short").write_text("SQLite")
    return combined(root)


def _checkout(root: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", root)
    for name, text in (("discovercall/taken.py", SOURCE), ("adapters/never.py", "print('no')\n")):
        path = root / name
        path.parent.mkdir()
        path.write_text(text)
    return root


def _started(program: str, root: Path, site: Path) -> list[str]:
    # Without the environment's own start-up files: this test may be measured itself.
    paths = [str(root), sysconfig.get_path("purelib")]
    start = f"import site, sys; sys.path += {paths!r}; site.addsitedir({str(site)!r})"
    return [sys.executable, "-S", "-c", f"{start}; {program}"]


@pytest.mark.parametrize(("plugins", "lines"), [((), (1, 2, 3, 4, 7, 8)), (("-p", "saved_coverage"), (4, 8))])
def test_what_a_worker_measured_outlives_it(
    plugins: tuple[str, ...], lines: tuple[int, ...], tmp_path: Path
) -> None:
    root = _checkout(tmp_path)
    shutil.copy(ROOT / "tools/saved_coverage.py", root)
    (root / "conftest.py").write_text(
        "def pytest_unconfigure():\n    import os\n    os.kill(os.getpid(), 9)\n"
    )
    (root / "test_half.py").write_text(
        "from discovercall.taken import half\n\ndef test_half():\n    assert half(1) == 1\n"
    )
    site = tmp_path / "site"
    site.mkdir()
    program = f"import pytest; pytest.main(['-p', 'no:cacheprovider', *{plugins!r}, '.'])"
    with measured(site, root):
        ended = subprocess.run(
            _started(program, root, site), env={}, cwd=root, capture_output=True, timeout=60
        )
    assert ended.returncode == -9
    left = {module.name: module.lines for module in gaps(combined(root))}
    assert left["discovercall/taken.py"] == lines


def test_an_empty_environment_hides_nothing(report: dict[str, Any]) -> None:
    left = {module.name: (module.lines, module.branches) for module in gaps(report)}
    assert left == {
        "adapters/never.py": ((1,), ()),
        "discovercall/taken.py": ((4, 8), ((2, 4),)),
    }


def test_what_is_wrong_is_a_line_each(report: dict[str, Any]) -> None:
    whole = ("adapters/", "discovercall/taken.py", "discovercall/gone.py")
    assert list(judged(report, whole, 60)) == [
        "branches: 50.00% is below 60%",
        "statements: 57.14% is below 60%",
        "discovercall/gone.py: nothing of this name was measured",
        "discovercall/taken.py: has to be covered wholly; lines 4, 8; branches 2→4",
        "adapters/never.py: has to be covered wholly; lines 1",
    ]
    assert list(judged(report, (), 50)) == []


def test_what_has_to_be_whole_is_there() -> None:
    for name in WHOLE:
        assert (ROOT / name).exists(), name
        assert name.split("/")[0] in PARTS
