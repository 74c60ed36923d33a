"""Events: what is accepted, how they end, and in which order results stand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import pytest

from discovercall.invocation.runtime.builtin import built_in_events
from discovercall.invocation.runtime.events import (
    DetectedEvent,
    EventDefinition,
    EventRegistry,
    EventSource,
    ResultPolicy,
)
from discovercall.invocation.runtime.kernel import Dispatch, EventKernel

OBJECT = {"type": "object", "properties": {"x": {"type": "integer"}}, "additionalProperties": False}


async def works(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return dict(arguments)


async def breaks(arguments: Mapping[str, Any]) -> dict[str, Any]:
    raise RuntimeError("planted-secret")


async def times_out_by_itself(arguments: Mapping[str, Any]) -> dict[str, Any]:
    raise TimeoutError


async def hangs(arguments: Mapping[str, Any]) -> dict[str, Any]:
    await asyncio.sleep(60)
    return {}


def definition(name: str, handler: Any = works, limit: float = 5.0, **changes: Any) -> EventDefinition:
    values = {"policy": ResultPolicy.SILENT, "parameters": OBJECT, **changes}
    return EventDefinition(name, "x", handler=handler, time_limit_s=limit, **values)


def event(name: str, arguments: Any = None) -> DetectedEvent:
    return DetectedEvent(name, {} if arguments is None else arguments, EventSource.CHAT_AGENT)


def dispatch(registry: EventRegistry, *events: DetectedEvent) -> tuple[Dispatch, list[tuple[int, str]]]:
    async def run() -> tuple[Dispatch, list[tuple[int, str]]]:
        going = EventKernel(registry, time.monotonic).dispatch(events)
        changes = [(change.outcome.ordinal, change.status.value) async for change in going.changes()]
        return going, changes

    return asyncio.run(run())


def test_every_status_is_a_normalised_one() -> None:
    registry = EventRegistry(
        [
            definition("works"),
            definition("breaks", breaks),
            definition("hangs", hangs, 0.02),
            definition("own", times_out_by_itself),
        ]
    )
    going, changes = dispatch(registry, event("works"), event("breaks"), event("hangs"), event("own"))
    assert [(result.status.value, result.reason) for result in going.results] == [
        ("succeeded", None),
        ("failed", "handler_error"),
        ("timed_out", "time_limit"),
        ("failed", "handler_error"),
    ]
    assert changes[:4] == [(n, "accepted") for n in range(4)]
    assert sorted(changes[4:]) == [(0, "succeeded"), (1, "failed"), (2, "timed_out"), (3, "failed")]
    assert "planted-secret" not in repr(going.results)
    assert all(result.handler_latency_ms is not None for result in going.results)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (event("unknown"), "unknown_event"),
        (event("works", {"x": "1"}), "invalid_arguments"),
        (event("works", {"x": True}), "invalid_arguments"),
        (event("works", {"y": 1}), "invalid_arguments"),
        (DetectedEvent("works", None, EventSource.TOOL_CALL), "invalid_arguments"),
    ],
)
def test_what_does_not_fit_is_rejected_and_not_run(asked: DetectedEvent, reason: str) -> None:
    going, changes = dispatch(EventRegistry([definition("works")]), asked, event("works", {"x": 1}))
    assert [(result.status.value, result.reason) for result in going.results] == [
        ("rejected", reason),
        ("succeeded", None),
    ]
    assert going.results[0].handler_latency_ms is None
    assert changes == [(0, "rejected"), (1, "accepted"), (1, "succeeded")]


def test_a_turn_has_at_most_four_events() -> None:
    going, _ = dispatch(EventRegistry([definition("works")]), *[event("works")] * 6)
    assert [result.status.value for result in going.results] == ["succeeded"] * 4 + ["rejected"] * 2
    assert {result.reason for result in going.results[4:]} == {"too_many_events"}


def test_handlers_run_side_by_side_and_results_keep_the_order_of_detection() -> None:
    ends: list[int] = []
    ended = [asyncio.Event() for _ in range(3)]

    async def after_the_next(arguments: Mapping[str, Any]) -> dict[str, Any]:
        # One after the other, the first would wait for ever.
        number = arguments["x"]
        if number < 2:
            await ended[number + 1].wait()
        ends.append(number)
        ended[number].set()
        return {"number": number}

    registry = EventRegistry([definition("e", after_the_next)])
    going, changes = dispatch(registry, *(event("e", {"x": n}) for n in range(3)))
    assert ends == [2, 1, 0]
    assert [ordinal for ordinal, status in changes if status == "succeeded"] == [2, 1, 0]
    assert [result.result for result in going.results] == [{"number": n} for n in range(3)]


def test_closing_early_cancels_what_still_runs() -> None:
    ended: list[str] = []

    async def watched(arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")
        return {}

    async def run() -> None:
        going = EventKernel(EventRegistry([definition("w", watched)]), time.monotonic).dispatch([event("w")])
        changes = going.changes()
        await anext(changes)
        await asyncio.sleep(0.01)
        await changes.aclose()

    asyncio.run(run())
    assert ended == ["cancelled"]


def test_definitions_that_cannot_work_are_refused() -> None:
    with pytest.raises(ValueError, match="template"):
        definition("a", policy=ResultPolicy.TEMPLATE)
    with pytest.raises(ValueError, match="same function name"):
        EventRegistry([definition("a.b"), definition("a_b")])
    with pytest.raises(ValueError, match="function tool"):
        EventRegistry([definition("a b")])
    with pytest.raises(ValueError, match="unknown events: b"):
        EventRegistry([definition("a")]).only(["a", "b"])


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("device.volume.adjust", {"change": -15}, {"volume": 35}),
        ("device.volume.adjust", {"change": 100}, {"volume": 100}),
        ("device.volume.adjust", {"change": 101}, None),
        ("device.volume.adjust", {"change": 1.5}, None),
        (
            "calendar.schedule.create",
            {"title": "A", "start": "2031-12-31T23:30", "duration_minutes": 45},
            {"title": "A", "start": "2031-12-31T23:30", "end": "2032-01-01T00:15"},
        ),
        ("calendar.schedule.create", {"title": "A", "start": "tomorrow", "duration_minutes": 45}, None),
        (
            "calendar.schedule.create",
            {"title": "A", "start": "2031-02-30T10:00", "duration_minutes": 4},
            None,
        ),
        ("session.terminate", {}, {"ended": True}),
        ("session.terminate", {"now": True}, None),
    ],
)
def test_the_built_in_events(name: str, arguments: dict[str, Any], result: dict[str, Any] | None) -> None:
    going, _ = dispatch(built_in_events(), event(name, arguments))
    assert going.results[0].result == result


def test_the_search_finds_what_is_in_memory() -> None:
    going, _ = dispatch(built_in_events(), event("knowledge.web.search", {"query": "northern lights hour"}))
    found = going.results[0].result
    assert found is not None
    assert found["results"][0]["title"] == "Northern lights"


def test_policies_of_the_built_in_events() -> None:
    assert {definition.name: definition.policy.value for definition in built_in_events()} == {
        "device.volume.adjust": "silent",
        "calendar.schedule.create": "template",
        "knowledge.web.search": "model_followup",
        "session.terminate": "terminal",
    }
