"""The report on slow parts: honest about what did not run, and strict in CI."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SUITE = """
import pytest

@pytest.mark.slow
def test_here():
    pass

@pytest.mark.slow
@pytest.mark.part("a wheel")
def test_lacking():
    pytest.skip("no wheel here")

@pytest.mark.slow
@pytest.mark.part("a server")
@pytest.mark.parametrize("port", [1, 2])
def test_half(port):
    if port == 2:
        pytest.skip("port 2 is taken")

def test_quick():
    pytest.skip("not a slow one")
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.RunResult]:
    def run_suite(text: str, *arguments: str, ci: str = "") -> pytest.RunResult:
        monkeypatch.setenv("CI", ci)
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        pytester.makeini("[pytest]\nmarkers =\n    slow: x\n    part: x\n")
        pytester.makepyfile(test_the_rest=text)
        return pytester.runpytest_inprocess("-p", "tests.slow_parts", "-p", "no:cacheprovider", *arguments)

    return run_suite


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "1")], ids=["one process", "a worker"])
@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)])
def test_names_each_part_and_fails_in_ci_where_one_did_not_run(run, workers, ci, code) -> None:
    result = run(SUITE, *workers, ci=ci)
    assert result.ret == code
    assert "the rest: ran (1 tests)" in result.outlines
    assert "a wheel: not run: no wheel here" in result.outlines
    assert "a server: 1 of 2 tests not run: port 2 is taken" in result.outlines
    assert ("In CI every slow part has to run." in result.outlines) == bool(code)


def test_ci_does_not_mind_a_quick_test_that_was_skipped(run) -> None:
    result = run(SUITE, "-k", "quick or here", ci="true")
    assert result.ret == 0
    assert "the rest: ran (1 tests)" in result.outlines


def test_a_module_that_skips_itself_counts(run, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_engine='import pytest\npytest.skip("no engine", allow_module_level=True)\n')
    result = run("def test_it(): pass", ci="true")
    assert result.ret == 1
    assert "test_engine.py: not run: no engine" in result.outlines


def test_a_failure_is_named_under_its_part(run) -> None:
    result = run("import pytest\n@pytest.mark.slow\ndef test_it():\n    assert 0\n")
    assert result.ret == 1
    assert "the rest: failed (1 of 1 tests)" in result.outlines


def test_a_broken_set_up_is_a_failure(run) -> None:
    text = "import pytest\n@pytest.fixture\ndef bad(): 1 / 0\n@pytest.mark.slow\ndef test_it(bad): pass\n"
    result = run(text)
    assert result.ret == 1
    assert "the rest: failed (1 of 1 tests)" in result.outlines
