"""Events: what an agent can bring about, as definitions in a registry."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Arguments = Mapping[str, Any]
Result = Mapping[str, Any]
Handler = Callable[[Arguments], Awaitable[Result]]
Template = Callable[[Arguments, Result], str]

_FUNCTION_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class ResultPolicy(StrEnum):
    """What becomes of a result: nothing, one fixed sentence, a second answer of the model, or the end."""

    SILENT = "silent"
    TEMPLATE = "template"
    MODEL_FOLLOWUP = "model_followup"
    TERMINAL = "terminal"


class EventSource(StrEnum):
    """Who detected an event."""

    CHAT_AGENT = "chat_agent"
    EVENT_AGENT = "event_agent"
    TOOL_CALL = "tool_call"


class EventStatus(StrEnum):
    """How far an event came, whatever its handler says."""

    ACCEPTED = "accepted"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REJECTED = "rejected"
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, slots=True)
class EventDefinition:
    """One kind of event.

    Args:
        name: dotted name, for instance `device.volume.adjust`.
        description: for the model.
        parameters: JSON Schema (2020-12) of the arguments, of type object.
        policy: what becomes of the result.
        handler: carries it out; called with arguments that fit the schema.
        time_limit_s: seconds that the handler may take.
        template: makes the sentence; goes with the policy `template` and with no other.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    policy: ResultPolicy
    handler: Handler
    time_limit_s: float
    template: Template | None = None

    def __post_init__(self) -> None:
        if (self.template is not None) != (self.policy is ResultPolicy.TEMPLATE):
            raise ValueError(f"{self.name}: a template goes with the policy `template` and with no other")

    @property
    def function_name(self) -> str:
        """The name as a function tool, which may have no dots."""
        return self.name.replace(".", "_")


@dataclass(frozen=True, slots=True)
class DetectedEvent:
    """An event that somebody asked for, not yet checked.

    Args:
        name: as it was asked for; may be unknown.
        arguments: None where they are no JSON object.
        source: who detected it.
        call_id: of the tool call that it came from.
    """

    name: str
    arguments: dict[str, Any] | None
    source: EventSource
    call_id: str | None = None


class EventRegistry:
    """The events that there are, in the order given.

    Raises:
        ValueError: two definitions share a name or a function name, or a name can't be a function's.
    """

    def __init__(self, definitions: Iterable[EventDefinition]) -> None:
        from jsonschema import Draft202012Validator

        self._definitions = {definition.name: definition for definition in definitions}
        self._by_function = {d.function_name: d for d in self._definitions.values()}
        if len(self._by_function) < len(self._definitions):
            raise ValueError("two events have the same function name")
        for name, definition in self._by_function.items():
            if not _FUNCTION_NAME.fullmatch(name):
                raise ValueError(f"{definition.name} cannot be the name of a function tool")
            Draft202012Validator.check_schema(definition.parameters)
        self._validators = {name: Draft202012Validator(d.parameters) for name, d in self._definitions.items()}

    def __iter__(self) -> Iterator[EventDefinition]:
        return iter(self._definitions.values())

    def get(self, name: str) -> EventDefinition | None:
        """The definition of that name, if there is one."""
        return self._definitions.get(name)

    def name_of_function(self, function: str) -> str:
        """The event's name for a function tool's; a name that is not known stays as it is."""
        definition = self._by_function.get(function)
        return function if definition is None else definition.name

    def only(self, names: Iterable[str]) -> EventRegistry:
        """A registry with these events alone.

        Raises:
            ValueError: a name is not known.
        """
        wanted = list(names)
        unknown = [name for name in wanted if name not in self._definitions]
        if unknown:
            raise ValueError(f"unknown events: {', '.join(unknown)}")
        return EventRegistry(self._definitions[name] for name in wanted)

    def fits(self, name: str, arguments: Arguments) -> bool:
        """Whether arguments fit the schema of a known event."""
        return bool(self._validators[name].is_valid(arguments))
