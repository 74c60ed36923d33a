"""What a search and a description say about tools: the parts of their documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from discovercall.foundation.json_text import compact_bytes
from discovercall.gateway import wording
from discovercall.gateway.catalog import Tool, properties_of, split_tool_ref
from discovercall.gateway.lexical import tokenize
from discovercall.gateway.parameters import example_arguments, one_of_required
from discovercall.gateway.ranking import Ranking
from discovercall.gateway.results import DescribeResult, FindResult, NextAction
from discovercall.gateway.settings import BrokerSettings
from discovercall.gateway.store import Catalog, CatalogStats, Entry

FAST_PATH_BYTES = 2048
MAX_RELATED = 5
MAX_FOLLOWUPS = 3
_SEARCHING = frozenset(["search", "find", "list", "query", "lookup"])
_READING = frozenset(["get", "read", "fetch", "retrieve", "show", "describe", "open", "view", "download"])
_NO_NOUN = (
    _SEARCHING | _READING | {"create", "update", "delete", "add", "set", "by", "id", "all", "new", "v1"}
)


def find_document(
    ranking: Ranking, catalog: Catalog, settings: BrokerSettings, stats: CatalogStats
) -> FindResult:
    """The result of a search.

    Args:
        ranking: the ranked tools and the decision.
        catalog: what was searched.
        settings: how many tools are named, and when a schema is inlined.
        stats: counts of the catalog.
    """
    scores = ranking.numbers() if settings.scores else None
    before = f"{wording.degraded(ranking.degraded)} " if ranking.degraded else ""
    if ranking.decision == "catalog_empty":
        return FindResult(ranking.query, "catalog_empty", before + wording.EMPTY, stats, scores=scores)
    if ranking.decision == "no_good_match":
        return _refusal(ranking, stats, before, scores)
    entries = ranking.entries[: max(1, settings.max_results)]
    top = entries[0].tool
    selected, action, instruction = _selection(top, settings)
    candidates: tuple[Mapping[str, Any], ...] = ()
    if ranking.decision == "ambiguous":
        candidates = tuple(_candidate(entry.tool) for entry in ranking.entries[:2])
        action = NextAction("callTool", {"arguments": {}}, wording.NEXT_CHOOSE)
        instruction = wording.AMBIGUOUS
    elif not top.callable_now:
        instruction = f"{wording.USE_NOT_CALLABLE} {instruction}"
    return FindResult(
        query=ranking.query,
        decision=ranking.decision,
        agent_instruction=before + instruction,
        stats=stats,
        selected_tool_ref=top.tool_ref,
        confidence=ranking.confidence,
        reason=ranking.explain(top.tool_ref),
        selected=selected,
        candidates=candidates,
        alternatives=tuple(
            {"toolRef": entry.tool.tool_ref, "reason": ranking.explain(entry.tool.tool_ref)}
            for entry in entries[1:]
        ),
        likely_followups=tuple(_followups(top, catalog)),
        avoid=tuple(f"Tools of {server}: the request rules this server out." for server in ranking.ruled_out),
        next_action=action,
        scores=scores,
    )


def recommended_call(tool: Tool) -> dict[str, Any]:
    """A call with a placeholder for each required argument."""
    properties = properties_of(tool.input_schema)
    required = tool.input_schema.get("required")
    skeleton = {
        name: f"<{kind}>" if isinstance(kind := properties.get(name, {}).get("type"), str) else "<value>"
        for name in (required if isinstance(required, list) else ())
        if isinstance(name, str)
    }
    return {"tool": "callTool", "arguments": {"toolRef": tool.tool_ref, "arguments": skeleton}}


def describe_document(entry: Entry, catalog: Catalog) -> DescribeResult:
    """One tool with its schema, its state, an example and its neighbours."""
    tool = entry.tool
    schema = tool.input_schema
    hints = tuple(f"Give at least one of {', '.join(group)}." for group in one_of_required(schema))
    request = (tool.description or tool.title or tool.name).split(". ")[0].rstrip(".")
    return DescribeResult(
        tool_ref=tool.tool_ref,
        title=tool.title,
        description=tool.description,
        input_schema=schema,
        recommended_call=recommended_call(tool),
        status={
            "callableNow": tool.callable_now,
            "serverStatus": tool.server_status,
            "catalogFreshness": entry.freshness,
        },
        usage_hints=hints,
        examples=({"request": request, "arguments": example_arguments(schema)},),
        related_tools=tuple(_related(tool, catalog)),
    )


def _refusal(ranking: Ranking, stats: CatalogStats, before: str, scores: dict[str, Any] | None) -> FindResult:
    query = ranking.query if ranking.query.strip() else wording.ASK_IN_WORDS
    instruction, reason = wording.NO_MATCH, "No indexed tool matches the request closely enough."
    if ranking.missing_capability:
        instruction = f"{wording.missing(ranking.missing_capability)} {instruction}"
        reason = f"Asked for seems: {ranking.missing_capability}; no indexed tool offers it."
    return FindResult(
        query=ranking.query,
        decision="no_good_match",
        agent_instruction=before + instruction,
        stats=stats,
        reason=reason,
        next_action=NextAction("findTool", {"query": query}, wording.NEXT_REFINE),
        scores=scores,
    )


def _selection(tool: Tool, settings: BrokerSettings) -> tuple[dict[str, Any], NextAction, str]:
    selected: dict[str, Any] = {
        "toolRef": tool.tool_ref,
        "title": tool.title,
        "callableNow": tool.callable_now,
        "serverStatus": tool.server_status,
    }
    schema = dict(tool.input_schema)
    fits = settings.include_full_schemas or len(compact_bytes(schema)) <= FAST_PATH_BYTES
    if schema and fits:
        call = recommended_call(tool)
        selected |= {"inputSchema": schema, "recommendedCall": call}
        action = NextAction("callTool", call["arguments"], wording.NEXT_CALL, tool.tool_ref)
        return selected, action, wording.USE_FAST
    required = schema.get("required")
    preview = {
        "required": list(required) if isinstance(required, list) else [],
        "properties": sorted(properties_of(schema)),
    }
    if preview["required"] or preview["properties"]:
        selected["schemaPreview"] = preview
    why, instruction = (
        (wording.NEXT_DESCRIBE, wording.USE_BIG_SCHEMA)
        if schema
        else (wording.NEXT_DESCRIBE_BARE, wording.USE_NO_SCHEMA)
    )
    action = NextAction("describeTool", {"toolRef": tool.tool_ref}, why, tool.tool_ref)
    return selected, action, instruction


def _candidate(tool: Tool) -> dict[str, Any]:
    return {
        "toolRef": tool.tool_ref,
        "serverId": tool.server_id,
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": dict(tool.input_schema),
    }


def _nouns(tool: Tool) -> set[str]:
    """The words of a name that say what it works on, singular."""
    return {word.removesuffix("s") for word in tokenize(tool.name) if word not in _NO_NOUN}


def _neighbours(tool: Tool, catalog: Catalog) -> Iterator[Tool]:
    """Tools of the same server that work on the same object."""
    nouns = _nouns(tool)
    for other in catalog.tools_of(tool.server_id):
        if other.tool_ref != tool.tool_ref and nouns & _nouns(other):
            yield other


def _related(tool: Tool, catalog: Catalog) -> list[dict[str, str]]:
    related = []
    for other in _neighbours(tool, catalog):
        shared = ", ".join(sorted(_nouns(tool) & _nouns(other)))
        related.append({"toolRef": other.tool_ref, "relationship": f"same server, also about: {shared}"})
    return related[:MAX_RELATED]


def _followups(tool: Tool, catalog: Catalog) -> list[dict[str, str]]:
    """After a search, the tools of the same server that read one thing by its id."""
    if not _SEARCHING & set(tokenize(tool.name)) or split_tool_ref(tool.tool_ref) is None:
        return []
    found = []
    for other in _neighbours(tool, catalog):
        required = other.input_schema.get("required")
        if not isinstance(required, list) or len(required) != 1:
            continue
        if _READING & set(tokenize(other.name)):
            when = f"to read one result in full, once {tool.name} has given its {required[0]}"
            found.append({"toolRef": other.tool_ref, "when": when})
    return found[:MAX_FOLLOWUPS]
