"""Pairs under another run's name: a page must not say what only a file name says."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discovercall.cadence.bundle import read_bundle
from discovercall.cadence.names import check_day, result_stem
from discovercall.cadence.plan import CadencePlan
from discovercall.foundation.artifacts import RUNS_SUFFIX, SUMMARY_SUFFIX
from discovercall.foundation.errors import InputError, RefusedError
from discovercall.publication.run_names import LANES, check_named, parse_stem
from tests.cadence.checkout import Checkout
from tests.cadence.conftest import Outcome

SHA = "0123456789ab" + "c" * 28
MODEL = "openai/gpt-5.5"
RECORD: dict[str, Any] = {
    "model": MODEL,
    "started_at": "2026-05-09T10:00:00.000Z",
    "metadata": {"lane": LANES[1], "toolkit_revision": SHA},
}


def stem_of(date: str = "2026-05-04", model: str = MODEL, sha: str = SHA, **more: bool) -> str:
    return result_stem(date, model, sha, "v4", **{"configured": True, "rehearsal": False, **more})


@pytest.mark.parametrize(
    "stem",
    [
        stem_of(),
        stem_of("2026-05-09"),
        stem_of("2026-03-09"),
        stem_of(sha="f" * 40, rehearsal=True),
        "my-own-v4",
        "2026-11-30-reference-rehearsal-v4",
    ],
)
def test_names_that_fit_or_say_nothing_pass(stem: str) -> None:
    check_named(stem, [RECORD, RECORD])


@pytest.mark.parametrize(
    ("stem", "what"),
    [
        (stem_of(sha="f" * 40), "release"),
        (stem_of(model="gpt-6"), "model"),
        (stem_of(configured=False), "lane"),
        (stem_of("2026-05-10"), "day"),
        (stem_of("2026-03-01"), "day"),
        (stem_of("2026-02-30"), "day"),
    ],
)
def test_another_runs_name_is_refused(stem: str, what: str) -> None:
    with pytest.raises(RefusedError, match=f"names the {what}"):
        check_named(stem, [RECORD])


def test_every_record_counts() -> None:
    other = deepcopy(RECORD)
    other["metadata"]["toolkit_revision"] = "f" * 40
    with pytest.raises(RefusedError, match="names the release"):
        check_named(stem_of(), [RECORD, other])


@pytest.mark.parametrize("date", ["2026-05-05", "2026-03-01"])
def test_a_day_that_the_results_could_not_have_is_refused_before(date: str) -> None:
    check_day("2026-05-04", "2026-05-04")
    check_day("2026-04-04", "2026-05-04")
    with pytest.raises(InputError, match=date):
        check_day(date, "2026-05-04")


@pytest.mark.parametrize("date", ["2099-01-01", "2020-01-01"])
def test_the_plan_command_takes_no_such_day(
    cadence: Callable[..., Outcome], checkout: Checkout, date: str
) -> None:
    done = cadence("plan", "--release-sha", checkout.sha, "--date", date, "--image", f"x@sha256:{'a' * 64}")
    assert (done.code, date in done.error) == (2, True)


def test_documents_of_swapped_or_renamed_pairs_are_refused(
    cadence: Callable[..., Outcome], checkout: Checkout, measured: Path, plan: CadencePlan, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(checkout.root, tmp_path / "root", ignore=shutil.ignore_patterns(".git")))
    (root / "results").mkdir(exist_ok=True)
    files = read_bundle(measured / "bundle").files
    reference, configured = plan.stems

    def document(stems: tuple[str, str], sources: tuple[str, str]) -> Outcome:
        for stem, source in zip(stems, sources, strict=True):
            for suffix in (RUNS_SUFFIX, SUMMARY_SUFFIX):
                (root / "results" / f"{stem}{suffix}").write_bytes(files[f"{source}{suffix}"])
        return cadence("document", *(root / "results" / stem for stem in stems), "--root", root)

    assert document(plan.stems, plan.stems).code == 0
    swapped = document((reference, configured), (configured, reference))
    assert (swapped.code, "names the lane" in swapped.error) == (1, True)
    earlier = replace(plan, date="2020-01-01").stems
    renamed = document(earlier, plan.stems)
    assert (renamed.code, "names the day 2020-01-01" in renamed.error) == (1, True)
    assert parse_stem(earlier[0])
