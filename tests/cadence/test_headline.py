"""`cadence headline` and `cadence document` on committed results."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from discovercall.cadence.bundle import read_bundle
from discovercall.cadence.history import published_releases
from discovercall.cadence.plan import read_inputs
from tests.cadence.checkout import ROOT, Checkout
from tests.cadence.conftest import Outcome


def test_without_results_the_pages_say_so_and_check(
    cadence: Callable[..., Outcome], checkout: Checkout, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(checkout.root, tmp_path / "root", ignore=shutil.ignore_patterns(".git")))
    missing = cadence("headline", "--check", "--root", root)
    assert (missing.code, "docs/headline.en.md" in missing.error) == (1, True)
    assert cadence("headline", "--root", root).code == 0
    assert "No result is published yet" in (root / "docs" / "headline.en.md").read_text()
    assert cadence("headline", "--check", "--root", root).code == 0
    page = root / "docs" / "headline.zh.md"
    page.write_bytes(b"\xff\xfe")
    unreadable = cadence("headline", "--check", "--root", root)
    assert (unreadable.code, "disagrees with the results in line 1" in unreadable.error) == (1, True)
    assert cadence("headline", "--root", root).code == 0
    page.write_text(page.read_text() + "\nmore\n")
    changed = cadence("headline", "--check", "--root", root)
    assert (changed.code, "headline.zh.md" in changed.error) == (1, True)


def test_pages_that_can_not_be_written_are_told(
    cadence: Callable[..., Outcome], checkout: Checkout, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(checkout.root, tmp_path / "root", ignore=shutil.ignore_patterns(".git")))
    (root / "docs").write_text("no folder")
    done = cadence("headline", "--root", root)
    assert (done.code, "cannot be written" in done.error) == (2, True)


def test_an_output_is_never_an_input(
    cadence: Callable[..., Outcome], checkout: Checkout, measured: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(checkout.root, tmp_path / "root", ignore=shutil.ignore_patterns(".git")))
    bundle = read_bundle(measured / "bundle").files
    (root / "elsewhere").mkdir()
    for name, data in bundle.items():
        (root / "elsewhere" / name).write_bytes(data)
    (release,) = published_releases(root / "elsewhere", rehearsals=True)
    document = ("document", *(root / "elsewhere" / stem for stem in release.stems), "--root", root)
    plan = ("plan", "--release-sha", checkout.sha, "--root", root, "--image", f"x@sha256:{'a' * 64}")
    (tmp_path / "link").symlink_to(root / "cadence.json")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    inputs = [
        root / name for name in ("cadence.json", "publication-policy.json", "tasks/v99.jsonl", "Dockerfile")
    ]
    for command in (document, plan):
        for out in (*inputs, tmp_path / "link", tmp_path, Path("/dev/null")):
            done = cadence(*command, "--out", out)
            assert (done.code, "--out" in done.error) == (2, True), (command[0], out)
    for name in bundle:
        assert cadence(*document, "--out", root / "elsewhere" / name).code == 2
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    assert cadence(*document, "--out", tmp_path / "section.md").code == 0
    assert cadence(*plan, "--out", tmp_path / "plan.json").code == 0
    assert cadence(*plan, "--out", tmp_path / "plan.json").code == 0


def test_rehearsals_are_left_out_and_documents_render_from_committed_pairs(
    cadence: Callable[..., Outcome], checkout: Checkout, measured: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(checkout.root, tmp_path / "root", ignore=shutil.ignore_patterns(".git")))
    results = root / "results"
    results.mkdir(exist_ok=True)
    for name, data in read_bundle(measured / "bundle").files.items():
        (results / name).write_bytes(data)
    assert not published_releases(results)
    (release,) = published_releases(results, rehearsals=True)
    assert cadence("headline", "--root", root).code == 0
    assert "No result is published yet" in (root / "docs" / "headline.en.md").read_text()
    stems = [results / stem for stem in release.stems]
    section = cadence("document", *stems, "--root", root)
    assert section.code == 0, section.error
    assert section.out.startswith("# Rehearsal: release")
    body = cadence("document", *stems, "--body", "--root", root)
    assert "For a person to confirm" in body.out
    machine = cadence(
        "document", f"{stems[0]}.runs.jsonl", f"{stems[1]}.summary.json", "--root", root, "--format", "json"
    )
    assert machine.json["records_per_lane"] == 6
    swapped = cadence("document", *reversed(stems), "--root", root)
    assert swapped.code == 2
    runs = results / f"{release.stems[0]}.runs.jsonl"
    runs.write_bytes(runs.read_bytes().replace(b'"trial":1', b'"trial":2', 1))
    assert cadence("document", *stems, "--root", root).code == 1


def test_the_committed_pages_agree_with_the_committed_results(cadence: Callable[..., Outcome]) -> None:
    assert read_inputs(ROOT)
    done = cadence("headline", "--check", "--root", ROOT)
    assert done.code == 0, done.error
