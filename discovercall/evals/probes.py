"""What the broker makes of servers that misbehave: each mood of the fixture over calls that are right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from discovercall.evals.cases import Scenario
from discovercall.evals.dispositions import is_clear
from discovercall.evals.fixture import TOOL_ERROR, FixtureDownstream, Mode, success_text
from discovercall.evals.tally import Tally
from discovercall.foundation.json_text import compact, compact_bytes
from discovercall.gateway.broker import Broker
from discovercall.gateway.cache import BrokerLike
from discovercall.gateway.catalog import World
from discovercall.gateway.operations import carry_out
from discovercall.gateway.settings import BrokerSettings
from discovercall.gateway.wording import TIME_LIMIT

SECRET = "fixture-key-7Q2xW9"  # noqa: S105 - opens nothing; it must not come out
# A late answer comes after the time for discovery and before that for calls.
SETTINGS = BrokerSettings(call_timeout_ms=20, discovery_timeout_ms=5, max_result_bytes=4096)
BrokerFactory = Callable[[World, FixtureDownstream, BrokerSettings, tuple[str, ...]], BrokerLike]


def make_broker(
    world: World, downstream: FixtureDownstream, settings: BrokerSettings, secrets: tuple[str, ...]
) -> BrokerLike:
    """The real broker over a fixture, its servers all configured and enabled."""
    return Broker(world, downstream, settings=settings, secrets=secrets)


def call_document(broker: BrokerLike, tool_ref: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The document of one call, as every face would give it."""
    return carry_out(broker, "callTool", {"toolRef": tool_ref, "arguments": dict(arguments)}).to_json()


def probe_modes(
    world: World, scenarios: Iterable[Scenario], new_broker: BrokerFactory = make_broker
) -> dict[Mode, Tally]:
    """How often each mood is handled as it should be, over calls that would succeed otherwise.

    Args:
        world: the catalog, which every server agrees with.
        scenarios: calls with right arguments.
        new_broker: makes the broker that is measured.
    """
    cases = tuple(scenarios)
    tallies: dict[Mode, Tally] = {mode: Tally() for mode in CHECKS}
    for mode, holds in CHECKS.items():
        for case in cases:
            downstream = FixtureDownstream(world, mode=mode, secret=SECRET)
            broker = new_broker(world, downstream, SETTINGS, (SECRET,))
            document = call_document(broker, case.tool_ref, case.arguments)
            tallies[mode].note(case.name, holds(document, downstream))
    return tallies


def told(document: Mapping[str, Any], kind: str, precondition: str | None) -> bool:
    """Whether a document is the clear error of a type with a certain precondition for a retry."""
    error = document.get("error")
    if not isinstance(error, Mapping) or error.get("type") != kind or not is_clear(error):
        return False
    return bool(error["retry"].get("precondition") == precondition)


def timeout_handled(document: Mapping[str, Any], downstream: FixtureDownstream) -> bool:
    """One call, never to be repeated, and the limit that ended it is named."""
    return (
        told(document, "DOWNSTREAM_CALL_FAILED", None)
        and len(downstream.calls) == 1
        and TIME_LIMIT in document["error"]["agentInstruction"]
    )


def offline_handled(document: Mapping[str, Any], downstream: FixtureDownstream) -> bool:
    """Nothing was called, and a retry waits until the server is back."""
    return told(document, "DOWNSTREAM_SERVER_OFFLINE", "server_online") and not downstream.calls


def auth_handled(document: Mapping[str, Any], downstream: FixtureDownstream) -> bool:
    """Nothing was called, and no retry makes sense."""
    return told(document, "AUTH_UNAVAILABLE", None) and not downstream.calls


def succeeded(document: Mapping[str, Any], downstream: FixtureDownstream, tool_ref: str) -> bool:
    """The one call reached the server, which accepted it, and its own answer came back."""
    return (
        document.get("ok") is True
        and document.get("result") == success_text(tool_ref)
        and [call.tool_ref for call in downstream.calls if call.accepted] == [tool_ref]
        and len(downstream.calls) == 1
    )


def _late(document: Mapping[str, Any], downstream: FixtureDownstream) -> bool:
    return any(succeeded(document, downstream, call.tool_ref) for call in downstream.calls)


def _tool_error(document: Mapping[str, Any], downstream: FixtureDownstream) -> bool:
    once = told(document, "DOWNSTREAM_CALL_FAILED", None) and len(downstream.calls) == 1
    return once and TOOL_ERROR in document["error"]["message"]


def _transport_drop(document: Mapping[str, Any], downstream: FixtureDownstream) -> bool:
    return told(document, "DOWNSTREAM_CALL_FAILED", "backoff") and len(downstream.calls) == 1


def _huge_result(document: Mapping[str, Any], downstream: FixtureDownstream) -> bool:
    kept = document.get("result")
    return (
        document.get("ok") is True
        and isinstance(kept, list)
        and 0 < len(compact_bytes(kept)) <= SETTINGS.max_result_bytes
        and kept == [{"row": number} for number in range(len(kept))]
        and any(str(len(kept)) in notice for notice in document.get("notices", ()))
        and len(downstream.calls) == 1
    )


def _secret(document: Mapping[str, Any], downstream: FixtureDownstream) -> bool:
    error = document.get("error", {})
    kept = SECRET not in compact(dict(document)) and "backend refused token" in str(error.get("message"))
    return kept and told(document, "DOWNSTREAM_CALL_FAILED", None) and len(downstream.calls) == 1


CHECKS: Mapping[Mode, Callable[[Mapping[str, Any], FixtureDownstream], bool]] = {
    "offline": offline_handled,
    "auth_refused": auth_handled,
    "late": _late,
    "slow": timeout_handled,
    "tool_error": _tool_error,
    "transport_drop": _transport_drop,
    "huge_result": _huge_result,
    "secret_in_message": _secret,
}
