"""What `discovercall eval run` puts together: corpus, model, baseline, the program itself, and the files."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discovercall.foundation.errors import EXIT_INTERRUPTED, InputError

if TYPE_CHECKING:
    from discovercall.evals.cases import Corpus
    from discovercall.evals.files import ResultFolder
    from discovercall.evals.result_model import Family
    from discovercall.evals.semantic import SemanticLeg
    from discovercall.evals.surfaces import CommandOutcome


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The command's options; `out` is None where nothing is to be written."""

    family: str | None
    data: Path | None
    out: ResultFolder | None
    semantic: bool
    require_semantic: bool
    holdout: bool
    update_baseline: bool
    fail_on_regression: bool
    tolerance: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result, what to tell on standard error, and whether the answer is yes."""

    result: dict[str, Any]
    notes: tuple[str, ...]
    passed: bool


def measure(options: RunOptions) -> Outcome:
    """Measure and write.

    Raises:
        InputError: an option, the corpus or the baseline is wrong, or the folder can't be written.
    """
    from discovercall.evals.corpus import default_corpus_folder, load_corpus
    from discovercall.evals.semantic import open_leg

    families = _families(options)
    corpus = load_corpus(options.data or default_corpus_folder())
    baseline = options.out.read_baseline() if options.out else None
    if options.out:
        options.out.prepare()
    leg = open_leg(options.semantic, _vectors())
    result = _result(options, corpus, leg, families, baseline)
    notes, passed = _judged(options, result)
    if options.out:
        from discovercall.evals.files import becomes_baseline

        as_baseline = becomes_baseline(
            result, all_families=options.family is None, passed=passed, forced=options.update_baseline
        )
        notes += [f"wrote {path}" for path in options.out.write(result, as_baseline=as_baseline)]
    return Outcome(result, tuple(notes), passed)


def _families(options: RunOptions) -> tuple[Family, ...]:
    from discovercall.evals.result_model import FAMILIES

    if options.family is None:
        return FAMILIES
    found = tuple(family for family in FAMILIES if family == options.family)
    if not found:
        raise InputError(
            f"{options.family} is no family", where="eval run", fix="one of " + ", ".join(FAMILIES)
        )
    if options.update_baseline:
        raise InputError("needs a run of all families", where="--update-baseline", fix="name no family")
    if options.holdout and options.family != "discovery":
        raise InputError("concerns discovery", where="--holdout", fix="run discovery, or all families")
    return found


def _result(
    options: RunOptions,
    corpus: Corpus,
    leg: SemanticLeg,
    families: tuple[Family, ...],
    baseline: dict[str, Any] | None,
) -> dict[str, Any]:
    from discovercall.evals.provenance import Surroundings, this_host
    from discovercall.evals.suite import Plan, run_suite
    from discovercall.foundation.revision import installed_revision

    flags = {"--semantic": options.semantic, "--holdout": options.holdout}
    return run_suite(
        Plan(
            corpus=corpus,
            leg=leg,
            around=Surroundings(installed_revision(), this_host()),
            run_command=run_program,
            clock=time.time,
            monotonic=time.monotonic,
            families=families,
            holdout=options.holdout,
            require_semantic=options.require_semantic,
            baseline=baseline,
            flags=[flag for flag, given in flags.items() if given],
            progress=_progress,
        )
    )


def _judged(options: RunOptions, result: dict[str, Any]) -> tuple[list[str], bool]:
    """What is to be said beside the result, and whether the answer is yes."""
    from discovercall.evals.diff import regressions

    notes = []
    reason = result["provenance"]["semanticSkipReason"]
    if options.require_semantic and reason is not None:
        notes.append(f"failed: the semantic leg is required, and was skipped: {reason}")
    if options.fail_on_regression:
        diff = result.get("diff")
        if diff is None or not diff["comparable"]:
            why = diff["reason"] if diff else "there is no baseline"
            result["skipped"].append({"what": "regression check", "reason": why})
        else:
            worse = regressions(diff, options.tolerance)
            notes += [f"regression: {c['metric']} {c['baseline']} -> {c['current']}" for c in worse]
            if worse:
                result |= {"verdict": "fail", "regressions": [change["metric"] for change in worse]}
    return notes, result["verdict"] == "pass"


def run_program(words: Sequence[str]) -> CommandOutcome:
    """The program's own entry point in this process: its exit code, and what it wrote to standard output.

    Args:
        words: what follows the program's name.
    """
    from discovercall.cli.main import main
    from discovercall.evals.surfaces import CommandOutcome

    written = io.StringIO()
    saved = sys.argv
    sys.argv = ["discovercall", *words]
    try:
        # What commands say on standard error beside their result is not measured, and would drown ours.
        with contextlib.redirect_stdout(written), contextlib.redirect_stderr(io.StringIO()):
            main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    else:
        code = 0
    finally:
        sys.argv = saved
    if code == EXIT_INTERRUPTED:
        raise KeyboardInterrupt  # meant for the whole measurement, not for the one command that it met
    return CommandOutcome(code, written.getvalue())


def _progress(step: str) -> None:
    if sys.stderr.isatty():
        print(f"measuring {step} …", file=sys.stderr)


def _vectors() -> Path:
    """Where the vectors of measured texts are kept: the user's cache folder."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "discovercall" / "eval-vectors.npz"
