"""One trial: discover, select, inspect, parameterize, call; each arrow a gate."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from discovercall.adapter.protocol import (
    answer_parameters,
    answer_tool_id,
    notes_of,
    parameterize_request,
    select_request,
    usage_of,
)
from discovercall.adapter.schema import (
    UnsupportedParameterSchema,
    one_of_groups,
    parameter_response_schema,
    required_parameters,
)
from discovercall.adapter.values import check_parameters, strip_top_level_nulls
from discovercall.capability.client import CallAnswer, Discovery, Inspection
from discovercall.contract.plan import PlannedTrial, RunPlan
from discovercall.contract.record import Evidence, Failure
from discovercall.contract.spend import tool_price
from discovercall.foundation.ecmascript import is_blank, trim

T = TypeVar("T")
Decide = Callable[[dict[str, Any]], Awaitable[Any]]
"""Puts one request to a lane's adapter and gives its answer."""


class ApiClient(Protocol):
    """The three operations of the capability API, as a trial asks for them."""

    async def discover(self, query: str, limit: int, session_id: str) -> Discovery:
        """Tools for a query."""

    async def inspect(self, tool_ids: list[str], search_id: str, session_id: str) -> Inspection:
        """Descriptions of tools."""

    async def call(
        self,
        tool_id: str,
        parameters: dict[str, Any],
        search_id: str,
        session_id: str,
        model: str,
        on_send: Callable[[], None],
        on_wait: Callable[[bool], None],
    ) -> CallAnswer:
        """One billed call; `on_send` runs right before its first request leaves, `on_wait` with true when
        the API has turned it away (429) and false right before the next try."""


class GateFailed(Exception):
    """A gate that the trial did not pass."""

    def __init__(self, stage: str, reason_code: str | None, message: str) -> None:
        self.failure = Failure(stage, reason_code, message)
        super().__init__(message)


def usable_id(value: Any) -> str | None:
    """A tool id as it is compared: trimmed; None for anything but a non-blank string."""
    return trim(value) if isinstance(value, str) and not is_blank(value) else None


def listed_ids(results: list[Any]) -> tuple[str, ...]:
    """The usable tool ids of discovery or inspection results, in order."""
    ids = (usable_id(result.get("tool_id")) for result in results if isinstance(result, dict))
    return tuple(tool_id for tool_id in ids if tool_id is not None)


class Session:
    """What the lanes of one planned trial share: one session id, one discovery, one inspection per tool."""

    def __init__(
        self,
        api: ApiClient,
        plan: RunPlan,
        planned: PlannedTrial,
        session_id: str,
        timer: Callable[[], float],
    ) -> None:
        self.api = api
        self.plan = plan
        self.planned = planned
        self.session_id = session_id
        self.timer = timer
        self._shared: dict[str, asyncio.Task[Any]] = {}

    async def discover(self) -> Discovery:
        """The trial's one discovery."""
        query, limit = self.planned.task.query, self.plan.discovery_limit
        return await self._once("", lambda: self.api.discover(query, limit, self.session_id))

    async def inspect(self, tool_id: str, search_id: str) -> Inspection:
        """The one inspection of this tool."""
        return await self._once(tool_id, lambda: self.api.inspect([tool_id], search_id, self.session_id))

    async def _once(self, key: str, request: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if key not in self._shared:
            self._shared[key] = asyncio.create_task(request())
        answer: T = await asyncio.shield(self._shared[key])
        return answer

    def close(self) -> None:
        """Abandon what is still under way."""
        for task in self._shared.values():
            task.cancel()


class LaneTrial:
    """One lane's way through one planned trial.

    Attributes:
        evidence: what was learnt so far, also after a failure.
        before_call: runs right before the billed request leaves, with the price that the tool names;
            may raise to forbid it.
        calling: true while a billed request is under way: sent, and neither answered nor turned away.
        turned_away: true while the API has turned the call away (429), so that nothing was billed.
        cost: credits of the call, where its answer tells.
    """

    before_call: Callable[[float | None], None]

    def __init__(self, session: Session, model: str, decide: Decide) -> None:
        self.session = session
        self.model = model
        self.decide = decide
        self.evidence = Evidence()
        self.calling = False
        self.turned_away = False
        self.cost: float | None = None

    def _learn(self, **facts: Any) -> None:
        self.evidence = replace(self.evidence, **facts)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        started = self.session.timer()
        try:
            yield
        finally:
            elapsed = round((self.session.timer() - started) * 1000)
            self._learn(durations_ms={**self.evidence.durations_ms, name: elapsed})

    async def run(self) -> None:
        """Pass every gate.

        Raises:
            GateFailed: a gate failed.
            ApiFailure: a request failed (stage `api`).
            AdapterFailure: the adapter process failed (stage `adapter`).
        """
        with self._stage("discover"):
            discovery = await self.session.discover()
        self._learn(result_tool_ids=listed_ids(discovery.results))
        search_id = usable_id(discovery.search_id)
        if search_id is None:
            raise GateFailed("discover", "missing_search_id", "discovery gave no search_id")
        tool_id = await self._select(discovery)
        tool = await self._inspect(tool_id, search_id)
        parameters = await self._parameterize(tool)
        if self.session.plan.execute:
            await self._call(tool_id, parameters, search_id, tool_price(tool))

    async def _ask(self, stage: str, request: dict[str, Any]) -> Any:
        with self._stage(stage):
            answer = await self.decide(request)
        usage = usage_of(answer)
        if usage:
            self._learn(usage={**self.evidence.usage, stage: usage})
        notes = notes_of(answer)
        if notes:
            self._learn(notes={**self.evidence.notes, stage: notes})
        return answer

    def _request_head(self) -> dict[str, Any]:
        planned, plan = self.session.planned, self.session.plan
        return {
            "model": self.model,
            "trial": planned.trial,
            "task_set_sha256": plan.task_set.sha256,
            "task_id": planned.task.id,
            "prompt": planned.task.prompt,
        }

    async def _select(self, discovery: Discovery) -> str:
        answer = await self._ask("select", select_request(**self._request_head(), results=discovery.results))
        tool_id = usable_id(answer_tool_id(answer))
        if tool_id is None:
            raise GateFailed("select", "missing_tool_id", "the adapter gave no tool_id")
        self._learn(tool_id=tool_id)
        if tool_id not in self.evidence.result_tool_ids:
            raise GateFailed("select", "ungrounded_tool_id", "the selected tool is not among the results")
        return tool_id

    async def _inspect(self, tool_id: str, search_id: str) -> dict[str, Any]:
        with self._stage("inspect"):
            inspection = await self.session.inspect(tool_id, search_id)
        self._learn(returned_tool_ids=listed_ids(inspection.results))
        for result in inspection.results:
            if isinstance(result, dict) and usable_id(result.get("tool_id")) == tool_id:
                return result
        raise GateFailed(
            "inspect", "selected_tool_not_returned", "inspection did not return the selected tool"
        )

    async def _parameterize(self, tool: dict[str, Any]) -> dict[str, Any]:
        names = tuple(required_parameters(tool))
        self._learn(required_parameters=names)
        try:
            schema = parameter_response_schema(tool)
            groups = one_of_groups(tool)
        except UnsupportedParameterSchema as problem:
            raise GateFailed("parameterize", "unsupported_parameter_schema", str(problem)) from None
        self._learn(required_parameters=(*names, *(tuple(group) for group in groups)))
        request = parameterize_request(**self._request_head(), tool=tool, response_schema=schema)
        parameters = answer_parameters(await self._ask("parameterize", request))
        if parameters is None:
            raise GateFailed("parameterize", "invalid_parameters", "the adapter gave no parameters object")
        parameters = strip_top_level_nulls(parameters)
        self._learn(parameters=parameters)
        misfit = check_parameters(parameters, tool)
        if misfit is not None:
            raise GateFailed("parameterize", "invalid_parameter_values", misfit)
        return parameters

    async def _call(
        self, tool_id: str, parameters: dict[str, Any], search_id: str, price: float | None
    ) -> None:
        def on_send() -> None:
            self.before_call(price)
            self.calling = True
            self._learn(attempted=True)

        def on_wait(waiting: bool) -> None:
            self.turned_away, self.calling = waiting, not waiting

        try:
            with self._stage("call"):
                answer = await self.session.api.call(
                    tool_id, parameters, search_id, self.session.session_id, self.model, on_send, on_wait
                )
        finally:
            self.calling = False
        self.cost = answer.cost
        self._learn(success=answer.success, result_nonempty=answer.success and answer.result_nonempty)
