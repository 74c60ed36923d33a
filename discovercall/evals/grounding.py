"""Whether what an answer tells an agent to do can be done: what it names exists, and its next step works."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discovercall.evals.fixture import first_problem
from discovercall.gateway.catalog import World, split_tool_ref
from discovercall.gateway.operations import definitions
from discovercall.gateway.truncation import BUDGET
from discovercall.gateway.wording import TIME_LIMIT
from discovercall.gateway.words import FUNCTION_WORDS

Perform = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""Carries an operation out: its name and its arguments to the document of its answer."""

LOST = frozenset({"TOOL_NOT_FOUND", "CONFIG_ERROR"})
"""Errors that the next step of an answer must never lead to."""
SETTINGS = frozenset({BUDGET, TIME_LIMIT})
"""Dotted names of settings, which instructions may name beside references."""
_REFERENCE = re.compile(r"(?<![\w./-])([A-Za-z_][\w-]+(?:\.[\w-]+)+)(?![\w/])")
_SERVER = re.compile(r"\b[Ss]ervers?\s+[`'\"]?([\w-]+)")
_SERVERS = re.compile(r"(?:Configured are:|Tools of)\s+([\w-]+(?:, [\w-]+)*)")
_INSIDE = frozenset({"inputSchema", "arguments", "examples", "result", "schemaPreview", "scores"})
"""Members that hold a tool's own data: what is called toolRef there is none of the broker's."""


@dataclass(frozen=True)
class Grounds:
    """What answers are held against.

    Attributes:
        world: the catalog.
        perform: carries the next steps out.
    """

    world: World
    perform: Perform

    @cached_property
    def servers(self) -> frozenset[str]:
        """Ids of all servers."""
        listed = {server.server_id for server in self.world.servers}
        return frozenset(listed | {tool.server_id for tool in self.world.tools})

    @cached_property
    def schemas(self) -> Mapping[str, Mapping[str, Any]]:
        """Input schemas of the operations."""
        return {operation["name"]: operation["inputSchema"] for operation in definitions()}

    def faults(self, document: Mapping[str, Any], asked_for: str | None) -> list[str]:
        """Everything that an answer says without ground; empty for a grounded one.

        Args:
            document: the answer.
            asked_for: the reference that the agent itself gave. An error may repeat it, and its server.
        """
        error = document.get("error")
        echo = {asked_for} if isinstance(error, Mapping) and asked_for else set()
        found = [f"{ref} is named, which does not exist" for ref in self._unknown_refs(document, echo)]
        found += [f"server {name} is named, which does not exist" for name in self._unknown(document, echo)]
        if isinstance(action := document.get("nextAction"), Mapping):
            found += self._dead_ends(action, document)
        return found

    def _unknown_refs(self, document: Mapping[str, Any], echo: set[str]) -> Iterator[str]:
        failed = "error" in document
        for name, value in () if failed else _named(document):
            known = self.servers if name == "serverId" else self.world.by_ref
            if value not in known:
                yield value
        for text in _told(document):
            for match in _REFERENCE.findall(text):
                if match not in self.world.by_ref and match not in SETTINGS | echo:
                    yield match

    def _unknown(self, document: Mapping[str, Any], echo: set[str]) -> Iterator[str]:
        echoed = {parts[0] for ref in echo if (parts := split_tool_ref(ref))}
        for text in _told(document):
            names = [name for name in _SERVER.findall(text) if name.lower() not in FUNCTION_WORDS]
            names += [name for listed in _SERVERS.findall(text) for name in listed.split(", ")]
            yield from (name for name in names if name not in self.servers | echoed)

    def _dead_ends(self, action: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
        """What is wrong with a next step, each step carried out."""
        operation, arguments = str(action.get("tool")), action.get("arguments")
        if operation not in self.schemas or not isinstance(arguments, Mapping):
            yield f"nextAction names no operation with arguments: {operation}"
            return
        refs: list[Any] = [None]
        if document.get("decision") == "ambiguous":
            if "toolRef" in action or "toolRef" in arguments:
                yield "nextAction chooses for the agent"
            refs = [candidate.get("toolRef") for candidate in document.get("candidates", ())]
            if not refs:
                yield "nothing to choose from"
        elif action.get("toolRef") != arguments.get("toolRef"):
            yield "nextAction names two tools"
        for ref in refs:
            step = {**arguments} if ref is None else {**arguments, "toolRef": ref}
            problem = first_problem(self.schemas[operation], step)
            if problem is not None:
                yield f"{operation} does not take nextAction's arguments: {problem}"
            kind = self.perform(operation, step).get("error", {}).get("type")
            if kind in LOST:
                yield f"nextAction leads to {kind}"


def has_grounds_to_check(document: Mapping[str, Any]) -> bool:
    """Whether an answer tells an agent anything: all do but the results of calls."""
    return "error" in document or "agentInstruction" in document or "recommendedCall" in document


def _told(document: Mapping[str, Any]) -> list[str]:
    """What an agent is told in words: instructions, the reason of the next step, what to avoid."""
    texts = [document.get("agentInstruction"), *document.get("avoid", ())]
    if isinstance(error := document.get("error"), Mapping):
        texts.append(error.get("agentInstruction"))
    if isinstance(action := document.get("nextAction"), Mapping):
        texts.append(action.get("reason"))
    return [text for text in texts if isinstance(text, str)]


def _named(value: Any) -> Iterator[tuple[str, str]]:
    """References and servers in the members of a document, with the member's name."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if name in ("toolRef", "selectedToolRef", "serverId") and isinstance(item, str):
                yield name, item
            elif name == "arguments" and isinstance(item, Mapping) and isinstance(item.get("toolRef"), str):
                yield name, item["toolRef"]  # arguments of an operation; a tool's own lie one deeper
            elif name not in _INSIDE:
                yield from _named(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _named(item)
