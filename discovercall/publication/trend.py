"""Trends over releases: which measurements are comparable, and whether the newest has lost successes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from discovercall.foundation.digests import is_commit
from discovercall.report.results import Measurement, ReleaseNotice, Result, Trend

_OF_THE_RELEASE = "<release>"


def trends_of(results: Iterable[tuple[Result, str]]) -> tuple[Trend, ...]:
    """A trend for each lane and configuration that was measured, the one measured last first.

    Releases come in the order in which each was measured for the first time, in whatever lane: measuring an
    old one again gives it new figures, and does not make it the newest.

    Args:
        results: official results, each with the version of its task set; rehearsals have no place in a trend.
    """
    known = list(results)
    first = first_measured(result for result, _ in known)
    groups: dict[tuple[Any, ...], list[tuple[Result, str]]] = {}
    for result, version in known:
        groups.setdefault(_key(result), []).append((result, version))
    ordered = [sorted(group, key=lambda pair: pair[0].measured_at) for group in groups.values()]
    ordered.sort(key=lambda group: group[-1][0].measured_at, reverse=True)
    return tuple(_trend([result for result, _ in group], group[-1][1], first) for group in ordered)


def release_of(result: Result) -> str:
    """The commit of the release that was measured."""
    return str(result.lane.provenance["toolkit_revision"])


def first_measured(results: Iterable[Result]) -> dict[str, str]:
    """When each release was measured for the first time, by its commit."""
    first: dict[str, str] = {}
    for result in results:
        release = release_of(result)
        first[release] = min(first.get(release, result.measured_at), result.measured_at)
    return first


def configuration_of(result: Result) -> dict[str, Any]:
    """What a model's configuration is beside its name; a release's own commit is no part of it."""
    found = result.lane.provenance
    return {
        "model_revision": without_commit(str(found["model_revision"])),
        "adapter_revision": without_commit(str(found["adapter_revision"])),
        "discovery_limit": found["discovery_limit"],
        "api_base_url": found["api_base_url"],
    }


def without_commit(revision: str) -> str:
    """A revision whose leading commit, which changes with each release, is left out."""
    commit, slash, rest = revision.partition("/")
    return f"{_OF_THE_RELEASE}{slash}{rest}" if is_commit(commit) else revision


def _key(result: Result) -> tuple[Any, ...]:
    lane = result.lane
    return (
        lane.provenance["task_set_sha256"],
        result.methodology,
        result.trials,
        lane.lane,
        lane.model,
        *configuration_of(result).values(),
    )


def _trend(results: Sequence[Result], version: str, first: Mapping[str, str]) -> Trend:
    by_release = {release_of(result): result for result in results}  # the last measurement of each
    releases = [by_release[release] for release in sorted(by_release, key=lambda name: (first[name], name))]
    newest = releases[-1]
    check, unchecked = _check(releases)
    return Trend(
        lane=newest.lane.lane,
        model=newest.lane.model,
        task_set=version,
        tasks=newest.tasks,
        trials=newest.trials,
        configuration=configuration_of(newest),
        measurements=tuple(
            Measurement(
                release=release_of(result),
                date=result.measured_at[:10],
                stem=result.lane.stem,
                success=result.lane.success,
                headline_95=result.lane.headline_95,
                design_effect=result.lane.design_effect,
            )
            for result in releases
        ),
        check=check,
        unchecked=unchecked,
    )


def _check(releases: Sequence[Result]) -> tuple[ReleaseNotice | None, str | None]:
    """The newest release against those before it; where it can't be tested, the reason."""
    from discovercall.statistics.regression import MAXIMUM_HISTORY, MINIMUM_HISTORY, check_release

    *earlier, newest = releases
    names = [task.task for task in newest.by_task]
    release = _successes(newest, names)
    if release is None:
        return None, "the newest release has trials whose success is unknown"
    known = [counts for one in earlier if (counts := _successes(one, names)) is not None]
    history = known[-MAXIMUM_HISTORY:]
    if len(history) < MINIMUM_HISTORY:
        return None, (
            f"the test needs {MINIMUM_HISTORY} comparable releases before the newest; there"
            f" {'is' if len(history) == 1 else 'are'} {len(history) or 'none'}"
        )
    found = check_release(history, release)
    return (
        ReleaseNotice(
            history=len(history),
            p_value=found.p_value,
            notice=found.notice,
            lower=tuple(names[index] for index in found.lower_tasks),
            dark=tuple(names[index] for index in found.dark_tasks),
        ),
        None,
    )


def _successes(result: Result, names: Sequence[str]) -> list[int] | None:
    """Successes of each task in the order of the names; None where one is unknown."""
    counts = {task.task: task.successes for task in result.by_task}
    found = [counts.get(name) for name in names]
    return [count for count in found if count is not None] if None not in found else None
