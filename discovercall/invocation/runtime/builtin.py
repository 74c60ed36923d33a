"""The four built-in events. Everything happens in memory: no device, calendar or service is reached."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

from discovercall.invocation.runtime.events import (
    Arguments,
    EventDefinition,
    EventRegistry,
    Result,
    ResultPolicy,
)

# What a device or a service would take, in seconds. The device is the slowest, so that results which come
# in the order of completion differ from those in the order of detection.
_DEVICE_S = 0.03
_CALENDAR_S = 0.005
_SEARCH_S = 0.01
_TIME_LIMIT_S = 5.0

_DOCUMENTS = (
    (
        "Tide tables",
        "Spring tides come about two days after full and new moon; neap tides after the quarters.",
    ),
    ("Heat pumps", "An air-source heat pump delivers two to four units of heat per unit of electricity."),
    ("Sourdough", "A starter is ready when it doubles within four to six hours of being fed."),
    ("Northern lights", "Auroras are seen most often within two hours of magnetic midnight."),
)


def built_in_events() -> EventRegistry:
    """The built-in events on a world of their own: volume 50, an empty calendar, four documents."""
    world = _World()
    return EventRegistry(
        (
            EventDefinition(
                name="device.volume.adjust",
                description="Turn the loudspeaker's volume up or down.",
                parameters=_object(
                    change={
                        "type": "integer",
                        "minimum": -100,
                        "maximum": 100,
                        "description": "Percentage points; negative is quieter.",
                    }
                ),
                policy=ResultPolicy.SILENT,
                handler=world.adjust_volume,
                time_limit_s=_TIME_LIMIT_S,
            ),
            EventDefinition(
                name="calendar.schedule.create",
                description="Put an appointment into the calendar.",
                parameters=_object(
                    title={"type": "string", "minLength": 1, "maxLength": 200},
                    start={
                        "type": "string",
                        "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}$",
                        "description": "Local time as YYYY-MM-DDTHH:MM.",
                    },
                    duration_minutes={"type": "integer", "minimum": 1, "maximum": 1440},
                ),
                policy=ResultPolicy.TEMPLATE,
                handler=world.create_schedule,
                time_limit_s=_TIME_LIMIT_S,
                template=_scheduled,
            ),
            EventDefinition(
                name="knowledge.web.search",
                description="Search the web for facts that are needed for the answer.",
                parameters=_object(query={"type": "string", "minLength": 1, "maxLength": 300}),
                policy=ResultPolicy.MODEL_FOLLOWUP,
                handler=world.search,
                time_limit_s=_TIME_LIMIT_S,
            ),
            EventDefinition(
                name="session.terminate",
                description="End the conversation, when the user says goodbye.",
                parameters=_object(),
                policy=ResultPolicy.TERMINAL,
                handler=world.terminate,
                time_limit_s=_TIME_LIMIT_S,
            ),
        )
    )


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


class _World:
    def __init__(self) -> None:
        self._volume = 50
        self._appointments: list[dict[str, str]] = []

    async def adjust_volume(self, arguments: Arguments) -> Result:
        await asyncio.sleep(_DEVICE_S)
        self._volume = min(100, max(0, self._volume + int(arguments["change"])))
        return {"volume": self._volume}

    async def create_schedule(self, arguments: Arguments) -> Result:
        await asyncio.sleep(_CALENDAR_S)
        start = datetime.fromisoformat(arguments["start"])
        end = start + timedelta(minutes=int(arguments["duration_minutes"]))
        entry = {"title": arguments["title"], "start": _minute(start), "end": _minute(end)}
        self._appointments.append(entry)
        return entry

    async def search(self, arguments: Arguments) -> Result:
        await asyncio.sleep(_SEARCH_S)
        words = set(arguments["query"].lower().split())
        ranked = sorted(_DOCUMENTS, key=lambda found: -len(words & set(" ".join(found).lower().split())))
        return {"results": [{"title": title, "text": text} for title, text in ranked[:2]]}

    async def terminate(self, arguments: Arguments) -> Result:
        return {"ended": True}


def _minute(moment: datetime) -> str:
    return moment.isoformat(timespec="minutes")


def _scheduled(arguments: Arguments, result: Result) -> str:
    del arguments
    day, _, start = result["start"].partition("T")
    return f"Scheduled: {result['title']} on {day} at {start}, until {result['end'].replace('T', ' ')}."
