"""The scoreboard's sections on calls, texts, tokens, speed and the cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from discovercall.evals.omissions import omission_lines
from discovercall.evals.shown import DASH, interval, percent, whole
from discovercall.report.markdown import code, table
from discovercall.report.numbers import saved

TOKEN_HEADER = ("", "all tools given", "broker", "calls")
PATH_HEADER = ("path", "p50, ms", "p95, ms", "per second")
ONCE_HEADER = ("once", "ms")
Section = Callable[[Mapping[str, Any]], list[str]]


def family_sections(result: Mapping[str, Any]) -> list[str]:
    """One section per family that ran, in the order of the page."""
    sections: tuple[tuple[str, Section], ...] = (
        ("invocation", lambda found: _rates("Invocation and repair", found)),
        ("ergonomics", lambda found: _rates("Ergonomics and parity", found)),
        ("tokens", _tokens),
        ("performance", _performance),
        ("cache", lambda found: _rates("Cache", found)),
    )
    return [
        line
        for name, section in sections
        if result.get(name)
        for line in (*section(result[name]), *omission_lines(name, result[name]))
    ]


def _rates(title: str, found: Mapping[str, Any]) -> list[str]:
    intervals: Mapping[str, Any] = found["intervals"]
    rows = [
        (name, str(spread["of"]) if spread else "0", percent(found[name]), interval(spread) or DASH)
        for name, spread in intervals.items()
        if name in found
    ]
    lines = ["", f"## {title}", "", *table(("metric", "cases", "rate", "95%"), rows, right=(1, 2, 3))]
    if found["offenders"]:
        lines += ["", "Cases that fell short:", ""]
        lines += [
            f"- {metric}: {', '.join(code(name) for name in names)}"
            for metric, names in found["offenders"].items()
        ]
    return lines


def _tokens(found: Mapping[str, Any]) -> list[str]:
    lines = [
        "",
        "## Token economy",
        "",
        f"At the start an agent reads {whole(found['brokerStartup'])} tokens instead of"
        f" {whole(found['directStartup'])}: {saved(found['startupReduction'])}. Estimated as"
        f" {found['estimator']}.",
        "",
    ]
    tasks = found["tasks"]
    lines += table(TOKEN_HEADER, token_rows(found), right=(1, 2, 3))
    if tasks and tasks["breakEvenTasks"] is not None:
        lines += ["", f"What is saved at the start is used up after {tasks['breakEvenTasks']} solved tasks."]
    growth = [
        (f"{step['factor']}× ({whole(step['tools'])} tools)", whole(step["directStartup"]),
         whole(step["brokerStartup"]), percent(step["startupReduction"]), whole(step["meanFind"]))
        for step in found["growth"]
    ]  # fmt: skip
    header = ("catalog", "all tools given", "broker", "less", "a search's answer")
    return [*lines, "", *table(header, growth, right=(1, 2, 3, 4))]


def token_rows(found: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """What an agent reads with and without the broker, at the start and for tasks; for `TOKEN_HEADER`."""
    fixed, tasks = found["fixedTask"], found["tasks"]
    rows = [("at the start", whole(found["directStartup"]), whole(found["brokerStartup"]), DASH)]
    if fixed:
        real = fixed["realPath"]
        direct = whole(fixed["directTokensToSuccess"])
        rows += [
            ("a fixed task, every operation once", direct, whole(fixed["brokerTokensToSuccess"]), "3"),
            (
                "the same on the path that the broker tells" + ("" if real["success"] else " (not solved)"),
                direct,
                whole(real["brokerTokensToSuccess"]),
                whole(real["brokerCalls"]),
            ),
        ]
    if tasks:
        rows.append(
            (
                f"mean of {tasks['n']} intents, {percent(tasks['successRate'])} solved, per solved one",
                whole(tasks["directTokensToSuccess"]),
                whole(tasks["brokerTokensToSuccess"]),
                f"{tasks['meanCalls']:.2f}",
            )
        )
    return rows


def _performance(found: Mapping[str, Any]) -> list[str]:
    host = found["host"]
    machine = f"{host['system']} {host['machine']}, {host['cpus']} processors, Python {host['python']}"
    return [
        "",
        "## Performance",
        "",
        f"Not gated: these figures hang on the machine ({machine}), and on what else it did. {found['tools']}"
        " tools.",
        "",
        *table(PATH_HEADER, path_rows(found), right=(1, 2, 3)),
        "",
        *table(ONCE_HEADER, once_rows(found), right=(1,)),
    ]


def path_rows(found: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """The latencies of what is done again and again; for `PATH_HEADER`."""
    scale = found["scale"]
    paths = dict(found["paths"])
    paths |= {f"{name}, {whole(scale['tools'])} tools": scale[name] for name in ("lexical", "endToEnd")}
    return [
        (name, f"{path['p50Us'] / 1000:.2f}", f"{path['p95Us'] / 1000:.2f}", whole(path["opsPerSecond"]))
        for name, path in paths.items()
    ]


def once_rows(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How long takes what is done once; for `ONCE_HEADER`."""
    scale = found["scale"]
    once = found["onceMs"] | {f"index build by words, {whole(scale['tools'])} tools": scale["indexBuildMs"]}
    return [(name, f"{value:.2f}") for name, value in once.items()]
