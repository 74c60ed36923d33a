"""The capability API as a service: discover, inspect and call over one world. Values in, replies out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from discovercall.foundation.digests import sha256_hex
from discovercall.foundation.errors import InputError
from discovercall.foundation.models import NotBlank, check
from discovercall.gateway.arguments import problem_messages
from discovercall.gateway.catalog import Tool, World, properties_of
from discovercall.gateway.lexical import LexicalIndex
from discovercall.gateway.parameters import derive_params, example_arguments, one_of_required
from discovercall.gateway.synthetic import synthesize

API_VERSION = "sandbox-1"
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
    """Answers the three operations for one world; remembers which search listed which tools.

    Args:
        world: the catalog.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.catalog_version = f"world-{world.version}-{world.digest[:16]}"
        self._index = LexicalIndex(world.tools)
        self._searches: OrderedDict[str, frozenset[str]] = OrderedDict()
        self._search_count = 0
        self._calls = 0
        self._credits = _FIRST_CREDITS

    def search(self, body: Any) -> Reply:
        """Discover: the best tools that share a word with the query, as routing cards."""
        try:
            request = check(_SearchRequest, body, "request")
        except InputError as error:
            return failure(422, str(error))
        found = [entry for entry in self._index.rank(request.query, limit=request.limit) if entry.score > 0]
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
        results = [lean_view(self.world.by_ref[tool_id]) for tool_id in wanted if tool_id in listed]
        payload = {
            "search_id": request.search_id,
            "total": len(results),
            "results": results,
            "not_found": [tool_id for tool_id in wanted if tool_id not in listed],
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
        tool = self.world.by_ref.get(tool_id)
        if tool is None:
            return failure(404, f"no tool {tool_id[:200]}; search again")
        listed = self._searches.get(request.search_id)
        if listed is None:
            return _unknown_search()
        if tool_id not in listed:
            return failure(409, f"{tool_id} was not among the results of this search; search again")
        return self._call(tool, request.parameters)

    def _call(self, tool: Tool, parameters: dict[str, Any]) -> Reply:
        self._calls += 1
        problems = problem_messages(tool.input_schema, parameters)
        message = None
        if not tool.callable_now:
            message = (
                f"server {tool.server_id} is {tool.server_status}; choose another tool or try again later"
            )
        elif problems:
            message = "invalid parameters: " + "; ".join(problems)
        cost = 0 if message else _COSTS[cost_class(tool)]
        self._credits -= cost
        payload = {
            "execution_id": f"execution-{self._calls:08d}",
            "tool_id": tool.tool_ref,
            "success": message is None,
            "result": None if message else {"data": synthesize(tool, parameters)},
            "error_message": message,
            "cost": cost,
            "remaining_credits": self._credits,
        }
        return Reply(200, payload)

    def _remember(self, request: _SearchRequest, tool_refs: Sequence[str]) -> str:
        self._search_count += 1
        digest = sha256_hex(f"{request.session_id}\n{request.query}".encode("utf-8", "replace"))
        search_id = f"search-{self._search_count:08d}-{digest[:12]}"
        self._searches[search_id] = frozenset(tool_refs)
        while len(self._searches) > _REMEMBERED_SEARCHES:
            self._searches.popitem(last=False)
        return search_id


def routing_card(tool: Tool) -> dict[str, Any]:
    """What discovery tells of a tool; cost and reliability are made up, but always the same."""
    return {
        "tool_id": tool.tool_ref,
        "name": tool.title,
        "capability": f"{tool.title}. {tool.description}",
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
        "name": tool.title,
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
