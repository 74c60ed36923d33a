"""The capability API as a service: discover, inspect and call on one broker. Values in, replies out."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from discovercall.foundation.digests import sha256_hex, sha256_of_json
from discovercall.foundation.errors import InputError
from discovercall.foundation.models import NotBlank, check
from discovercall.gateway.broker import Broker
from discovercall.gateway.catalog import Tool, World, properties_of
from discovercall.gateway.parameters import derive_params, example_arguments, one_of_required
from discovercall.gateway.results import BrokerError, CallResult
from discovercall.gateway.settings import BrokerSettings

DEFAULT_RESULTS = 20
_REMEMBERED_SEARCHES = 10_000
_COSTS = {"free": 0, "low": 1, "medium": 5, "high": 20}
_FIRST_CREDITS = 1_000_000
# Words in a parameter's name that say the tool can answer for a moment in the past.
_PAST = ("date", "start", "end", "from_time", "since", "season", "year", "period")


class _Request(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    session_id: str | None = None


class _SearchRequest(_Request):
    query: NotBlank
    limit: Annotated[int, Field(ge=1, le=100)] = DEFAULT_RESULTS
    view: Literal["routing"] = "routing"


class _InspectRequest(_Request):
    tool_ids: Annotated[list[str], Field(min_length=1, max_length=100)]
    search_id: NotBlank
    view: Literal["lean"] = "lean"


class _ExecuteRequest(_Request):
    parameters: dict[str, Any]
    search_id: NotBlank
    model: str | None = None
    respond_with: Literal["full"] = "full"


@dataclass(frozen=True, slots=True)
class Reply:
    """Status and JSON body of an answer."""

    status: int
    payload: dict[str, Any]


def failure(status: int, message: str) -> Reply:
    """An error answer in the API's envelope."""
    return Reply(status, {"status": "failure", "status_code": status, "message": message})


class CapabilityApi:
    """Answers the three operations; remembers which search listed which tools.

    Safe to use from several threads, save that searches and inspections come from one.

    Args:
        tools: a broker, or a world. A world is searched by the frozen ranker, so that rehearsals stay
            comparable between releases, and its calls have made-up results and prices.
    """

    def __init__(self, tools: World | Broker) -> None:
        self._priced = isinstance(tools, World)
        if isinstance(tools, World):
            self.api_version = "sandbox-1"
            self.catalog_version = f"world-{tools.version}-{tools.digest[:16]}"
            self._broker = Broker(tools, settings=BrokerSettings(fusion="bm25", max_result_bytes=0))
        else:
            self._broker = tools
            self.api_version = "gateway-1"
            self.catalog_version = f"gateway-{_digest(tools)[:16]}"
        self._searches: OrderedDict[str, frozenset[str]] = OrderedDict()
        self._search_count = 0
        self._calls = 0
        self._credits = _FIRST_CREDITS
        self._lock = threading.Lock()

    def size(self) -> tuple[int, int]:
        """How many tools and servers there are."""
        catalog = self._broker.source.current()
        return len(catalog.tools()), len(catalog.servers())

    def search(self, body: Any) -> Reply:
        """Discover: the best tools for the query, as routing cards; none that nothing speaks for."""
        try:
            request = check(_SearchRequest, body, "request")
        except InputError as error:
            return failure(422, str(error))
        ranking = self._broker.rank(request.query, limit=request.limit)
        found = [entry for entry in ranking.entries if entry.score > 0]
        search_id = self._remember(request, [entry.tool.tool_ref for entry in found])
        payload = {
            "query": request.query,
            "search_id": search_id,
            "total": len(found),
            "results": [routing_card(entry.tool) for entry in found],
            "remaining_credits": self._credits,
        }
        return Reply(200, payload)

    def inspect(self, body: Any) -> Reply:
        """Inspect: the lean view of the asked tools, as far as the search listed them."""
        try:
            request = check(_InspectRequest, body, "request")
        except InputError as error:
            return failure(422, str(error))
        listed = self._searches.get(request.search_id)
        if listed is None:
            return _unknown_search()
        wanted = list(dict.fromkeys(request.tool_ids))
        known = {tool_id: tool for tool_id in wanted if tool_id in listed and (tool := self._tool(tool_id))}
        results = [lean_view(tool) for tool in known.values()]
        payload = {
            "search_id": request.search_id,
            "total": len(results),
            "results": results,
            "not_found": [tool_id for tool_id in wanted if tool_id not in known],
            "remaining_credits": self._credits,
        }
        return Reply(200, payload)

    def execute(self, tool_id: str | None, body: Any) -> Reply:
        """Call: a synthetic result, or `success` false when the tool refuses the arguments."""
        try:
            request = check(_ExecuteRequest, body, "request")
        except InputError as error:
            return failure(422, str(error))
        if not tool_id:
            return failure(422, "request: tool_id is missing in the query string")
        tool = self._tool(tool_id)
        if tool is None:
            return failure(404, f"no tool {tool_id[:200]}; search again")
        listed = self._searches.get(request.search_id)
        if listed is None:
            return _unknown_search()
        if tool_id not in listed:
            return failure(409, f"{tool_id} was not among the results of this search; search again")
        return self._call(tool, request.parameters)

    def _call(self, tool: Tool, parameters: dict[str, Any]) -> Reply:
        answer = self._broker.call(tool.tool_ref, parameters)
        with self._lock:
            self._calls += 1
            cost = _COSTS[cost_class(tool)] if self._priced and isinstance(answer, CallResult) else 0
            self._credits -= cost
            payload = {
                "execution_id": f"execution-{self._calls:08d}",
                "tool_id": tool.tool_ref,
                "success": isinstance(answer, CallResult),
                "result": {"data": answer.result} if isinstance(answer, CallResult) else None,
                "error_message": None if isinstance(answer, CallResult) else _told(answer.error),
                "cost": cost,
                "remaining_credits": self._credits,
            }
        return Reply(200, payload)

    def _tool(self, tool_id: str) -> Tool | None:
        entry = self._broker.source.current().entry(tool_id)
        return entry.tool if entry else None

    def _remember(self, request: _SearchRequest, tool_refs: Sequence[str]) -> str:
        self._search_count += 1
        digest = sha256_hex(f"{request.session_id}\n{request.query}".encode("utf-8", "replace"))
        search_id = f"search-{self._search_count:08d}-{digest[:12]}"
        self._searches[search_id] = frozenset(tool_refs)
        while len(self._searches) > _REMEMBERED_SEARCHES:
            self._searches.popitem(last=False)
        return search_id


def _told(error: BrokerError) -> str:
    if error.type == "ARGUMENT_VALIDATION_FAILED":
        return "invalid parameters: " + error.message.removeprefix("Invalid arguments: ").rstrip(".")
    if error.type == "DOWNSTREAM_SERVER_OFFLINE":
        return f"{error.message}; choose another tool or try again later"
    return error.message


def _digest(broker: Broker) -> str:
    """Digest of what the catalog's tools are, whatever their servers' state."""
    tools = broker.source.current().tools()
    return sha256_of_json([[tool.tool_ref, tool.title, tool.description, tool.schema_hash] for tool in tools])


def routing_card(tool: Tool) -> dict[str, Any]:
    """What discovery tells of a tool; cost and reliability are made up, but always the same."""
    return {
        "tool_id": tool.tool_ref,
        "name": tool.title or tool.name,
        "capability": f"{tool.title or tool.name}. {tool.description}",
        "cost_class": cost_class(tool),
        "reliability": _reliability(tool),
        "as_of_support": any(
            word in name.lower() for name in properties_of(tool.input_schema) for word in _PAST
        ),
    }


def lean_view(tool: Tool) -> dict[str, Any]:
    """What inspection tells of a tool: its parameters and one example of valid ones."""
    return {
        "tool_id": tool.tool_ref,
        "name": tool.title or tool.name,
        "description": tool.description,
        "params": derive_params(tool.input_schema),
        "one_of_required": one_of_required(tool.input_schema),
        "examples": [{"parameters": example_arguments(tool.input_schema)}],
    }


def cost_class(tool: Tool) -> str:
    """`free`, `low`, `medium` or `high`: made up from the reference."""
    return tuple(_COSTS)[_dice(tool, 0) % len(_COSTS)]


def _reliability(tool: Tool) -> str:
    return "C" if not tool.callable_now else "AAB"[_dice(tool, 1) % 3]


def _dice(tool: Tool, place: int) -> int:
    return int(sha256_hex(tool.tool_ref.encode())[2 * place : 2 * place + 2], 16)


def _unknown_search() -> Reply:
    return failure(404, "search_id is not known here; search again")
