"""What no tracked file may hold: paths of one machine, folders beside the project, one registry's address."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from discovercall.foundation.checkout import tracked_files

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().relative_to(ROOT).as_posix()

MACHINE_PATH = re.compile(rb"(?<![\w.~-])/(?:work|root|Users)/|(?<![\w.~-])/home/\w")
BESIDE = re.compile(rb"\.\./shared\b")
REGISTRY = re.compile(
    rb"(?<!-)--(?:extra-)?index-url\b|--registry[= ]|_INDEX_URL\b|npm_config_registry"
    rb"|\bpypi\.org|\bpythonhosted\.org|\bregistry\.npmjs\.org|\bdeb\.debian\.org|\bproxy\.golang\.org",
    re.IGNORECASE,
)


def project_files() -> list[str]:
    """What git tracks, or in an unpacked sdist everything that is not hidden."""
    tracked = tracked_files(ROOT)
    if tracked is not None:
        return tracked
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return [path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts)]


def lines_with(pattern: re.Pattern[bytes]) -> list[str]:
    """Every place where a pattern occurs, as `file:line: text`; this file, which holds them, aside."""
    return [
        f"{name}:{number}: {line.decode('utf-8', 'replace')[:120]}"
        for name in project_files()
        if name != HERE
        for number, line in enumerate((ROOT / name).read_bytes().splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_file_names_a_path_of_one_machine() -> None:
    assert not (found := lines_with(MACHINE_PATH)), "\n".join(found)


def test_only_ci_looks_beside_the_project() -> None:
    found = [place for place in lines_with(BESIDE) if not place.startswith(".ci/")]
    assert not found, "\n".join(found)


def test_no_file_names_a_package_registry() -> None:
    assert not (found := lines_with(REGISTRY)), "\n".join(found)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (MACHINE_PATH, b"cd /work/main", True),
        (MACHINE_PATH, b"/home/someone/x", True),
        (MACHINE_PATH, b"docs/work/main", False),
        (MACHINE_PATH, b"https://example.org/work/main", False),
        (BESIDE, b"../shared/checks", True),
        (REGISTRY, b"pip install --index-url x", True),
        (REGISTRY, b"pip-compile --no-emit-index-url", False),
        (REGISTRY, b"https://PyPI.org/simple", True),
        (REGISTRY, b"published on PyPI", False),
    ],
)
def test_the_patterns_themselves(pattern: re.Pattern[bytes], text: bytes, found: bool) -> None:
    assert bool(pattern.search(text)) == found
