"""Answers as text for a terminal: a few lines for people, or one line."""

from __future__ import annotations

from discovercall.foundation.json_text import compact, pretty
from discovercall.foundation.shown import plain, shown_line
from discovercall.gateway.listing import IndexRun
from discovercall.gateway.results import Answer, CallResult, DescribeResult, Failure, FindResult

_SHOWN = 200  # characters of a result on one line
_LINE = 10_000  # of any other line


def human(answer: Answer) -> str:
    """Some lines for a person."""
    if isinstance(answer, Failure):
        return "\n".join(map(_line, _failure_lines(answer)))
    if isinstance(answer, FindResult):
        lines = _find_lines(answer)
    elif isinstance(answer, DescribeResult):
        lines = _describe_lines(answer)
    else:
        lines = [answer.summary]
    lines = [_line(text) for text in (*lines, *(f"Note: {notice}" for notice in answer.notices))]
    if isinstance(answer, CallResult):
        result = answer.result if answer.text else pretty(answer.result)
        # A text keeps its lines and its indents.
        lines = [*(plain(line.expandtabs(4).rstrip("\r")) for line in result.split("\n")), "", *lines]
    return "\n".join(lines)


def concise(answer: Answer) -> str:
    """One line."""
    if isinstance(answer, Failure):
        text = f"{answer.error.type}: {answer.error.message}"
    elif isinstance(answer, FindResult):
        chosen = [answer.selected_tool_ref] if answer.selected_tool_ref else []
        if answer.decision == "ambiguous":
            chosen = [str(candidate["toolRef"]) for candidate in answer.candidates]
        sure = f" ({answer.confidence})" if answer.confidence else ""
        text = f"{answer.decision}{sure} {' '.join(chosen)}"
    elif isinstance(answer, DescribeResult):
        required = answer.input_schema.get("required")
        names = ", ".join(map(str, required)) if isinstance(required, list) and required else "nothing"
        text = f"{answer.tool_ref}: {answer.title}; requires {names}"
    else:
        text = answer.summary
        if isinstance(answer, CallResult) and not answer.text:
            text = f"{text} {compact(answer.result)}"
    line = plain(" ".join(text.split()))
    return line if len(line) <= _SHOWN or isinstance(answer, (Failure, FindResult)) else line[:_SHOWN] + "…"


def index_lines(run: IndexRun) -> list[str]:
    """What an index run did, for a person; the last line sums up."""
    lines = []
    for server in run.servers:
        failed = f"offline, {server.tools} tools kept ({server.error})"
        read = f"{server.tools} tools"
        if server.left_out:
            read += f", {server.left_out} left out (their names or schemas cannot be used)"
        lines.append(f"{server.server_id}: {failed if server.error else read}")
    lines += [f"{error.tool_ref}: no strict schema; {error.path}: {error.why}" for error in run.not_strict]
    lines += [f"{ref}: only null for {', '.join(paths)}" for ref, paths in sorted(run.forced_null.items())]
    total = sum(server.tools for server in run.servers)
    online = sum(not server.error for server in run.servers)
    lines.append(f"{total} tools of {len(run.servers)} servers, {online} read now; search: {run.search}")
    return [_line(line) for line in lines]


def _line(text: str) -> str:
    """One line whatever a server put into it, its indent kept."""
    shown = text.lstrip(" ")
    return " " * (len(text) - len(shown)) + shown_line(shown, _LINE)


def _find_lines(answer: FindResult) -> list[str]:
    if answer.decision in ("no_good_match", "catalog_empty"):
        first = f"No tool: {answer.reason}" if answer.reason else "No tool: the catalog is empty."
        return [first, "", answer.agent_instruction]
    sure = f", confidence {answer.confidence}" if answer.confidence else ""
    lines = [f"{answer.selected_tool_ref} ({answer.decision}{sure})", f"  {answer.reason}"]
    if answer.alternatives:
        lines += ["", "Others:"]
        lines += [f"  {entry['toolRef']}: {entry['reason']}" for entry in answer.alternatives]
    if answer.likely_followups:
        lines += ["", "Afterwards:"]
        lines += [f"  {entry['toolRef']}: {entry['when']}" for entry in answer.likely_followups]
    lines += [f"Avoid: {text}" for text in answer.avoid]
    return [*lines, "", answer.agent_instruction]


def _describe_lines(answer: DescribeResult) -> list[str]:
    lines = [answer.tool_ref, f"  {answer.title}".rstrip(), f"  {answer.description}".rstrip()]
    lines.append(f"  server {answer.status['serverStatus']}, catalog {answer.status['catalogFreshness']}")
    lines += ["", *pretty(dict(answer.input_schema)).split("\n"), ""]
    lines += answer.usage_hints
    lines += [f"Example: {compact(example['arguments'])}" for example in answer.examples]
    lines += [f"Related: {entry['toolRef']} ({entry['relationship']})" for entry in answer.related_tools]
    return [line for line in lines if line.strip() or line == ""]


def _failure_lines(answer: Failure) -> list[str]:
    error = answer.error
    retry = "never" if error.retry.when == "never" else f"after {error.retry.precondition}"
    return [f"{error.type}: {error.message}", f"  {error.agent_instruction}", f"  retry: {retry}"]
