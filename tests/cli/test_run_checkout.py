"""A run from a checkout of its own, clean and changed."""

import os
import sys

import pytest

from tests.foundation.sources import commit_all, copy_sources
from tests.support import bench as support
from tests.support.bench import assert_refused

pytestmark = [pytest.mark.slow, pytest.mark.part("run from a checkout")]


@pytest.fixture
def checkout(tmp_path, bench, monkeypatch):
    """A copy of the sources under git whose command the bench runs."""
    root = copy_sources(tmp_path / "project")
    head = commit_all(root)
    program = tmp_path / "discovercall"
    program.write_text(
        f"#!{sys.executable} -B\nimport sys\nsys.path.insert(0, {str(root)!r})\n"
        "from discovercall.cli.main import main\nmain()\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(support, "PROGRAM", str(program))
    bench.environment["GIT_CONFIG_GLOBAL"] = os.devnull
    return root, head


def change(root):
    with (root / "discovercall" / "__init__.py").open("a") as stream:
        stream.write("# changed\n")


def test_a_clean_checkout_is_named_by_its_commit(bench, checkout):
    _, head = checkout
    bench.environment["GITHUB_SHA"] = head
    done = bench.run(toolkit_revision=head)
    assert done.code == 0, done.err
    assert "unversioned" not in done.err
    assert bench.records()[0]["metadata"]["toolkit_revision"] == head


def test_a_claim_that_disagrees_is_refused(bench, checkout):
    assert_refused(
        bench.run(toolkit_revision="b" * 40), f"--toolkit-revision: names {'b' * 40}, but the installed"
    )
    bench.environment["GITHUB_SHA"] = "c" * 40
    assert_refused(bench.run(), f"GITHUB_SHA: names {'c' * 40}, but the installed")
    assert bench.api.requests == []


@pytest.mark.parametrize("given", [False, True])
def test_a_changed_checkout_is_refused_against_a_real_api(bench, checkout, given):
    root, head = checkout
    change(root)
    done = bench.run(api_base_url="https://api.invalid/v1", toolkit_revision=head if given else None)
    assert_refused(done, "this checkout of discovercall has changes, so its results could not be attributed")
    assert not bench.output.exists()
    assert not bench.journal.exists()


def test_a_changed_checkout_may_rehearse_with_one_warning(bench, checkout):
    change(checkout[0])
    done = bench.run()
    assert done.code == 0
    assert done.err.count("has changes") == 1
    assert bench.records()[0]["metadata"]["toolkit_revision"] == "unversioned"
