"""The agent runtime: a session in one mode, to which texts are sent, and which answers with outputs."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from typing import Any

from discovercall.foundation.clocks import Clock, iso_milliseconds
from discovercall.invocation.runtime.chat import ChatClient, ChatError, Message
from discovercall.invocation.runtime.kernel import EventKernel
from discovercall.invocation.runtime.ledger import TurnLedger
from discovercall.invocation.runtime.modes import AGENTS, ModeName, TurnInput
from discovercall.invocation.runtime.outputs import ErrorOutput, Output, TurnCompleted
from discovercall.invocation.runtime.store import SESSION_OPEN, SESSION_TERMINAL, SessionStore
from discovercall.invocation.runtime.timing import Monotonic
from discovercall.invocation.runtime.turn import Turn


class AgentRuntime:
    """One session at a time, one turn at a time.

    Args:
        client: the model; closed with the runtime.
        kernel: carries events out.
        mode: the agent design.
        store: keeps the session; closed with the runtime.
        parameters: request parameters of every model call.
        clock: for the session's time.
        monotonic: for times within a turn.
        new_id: makes session ids.
    """

    def __init__(
        self,
        *,
        client: ChatClient,
        kernel: EventKernel,
        mode: ModeName,
        store: SessionStore,
        parameters: Mapping[str, Any],
        clock: Clock,
        monotonic: Monotonic,
        new_id: Callable[[], str],
    ) -> None:
        self._client = client
        self._kernel = kernel
        self._mode = mode
        self._store = store
        self._parameters = parameters
        self._clock = clock
        self._monotonic = monotonic
        self._new_id = new_id
        self._session: str | None = None
        self._state = SESSION_OPEN
        self._busy = False
        self._history: list[Message] = []

    def start_session(self) -> str:
        """Begin a session with an empty history; returns its id."""
        self._session = self._new_id()
        self._state = SESSION_OPEN
        self._history = []
        self._store.insert(
            "sessions",
            id=self._session,
            mode=self._mode.value,
            state=SESSION_OPEN,
            created_at=iso_milliseconds(self._clock()),
        )
        return self._session

    async def send(self, text: str) -> AsyncGenerator[Output]:
        """Say something; yields outputs up to `turn_completed` or `error`.

        A session that has ended, or in which a turn is under way, refuses with an error and asks no model.
        Closing the generator before its end abandons the turn and cancels what still runs.
        """
        refusal = self._refusal()
        if refusal is not None or self._session is None:
            yield refusal or ErrorOutput("no_session", "no session was started")
            return
        self._busy = True
        try:
            ledger = TurnLedger(self._store, self._session, text, self._monotonic)
            async with contextlib.aclosing(self._turn(ledger, text)) as outputs:
                async for output in outputs:
                    yield output
        finally:
            self._busy = False

    async def _turn(self, ledger: TurnLedger, text: str) -> AsyncGenerator[Output]:
        agent = AGENTS[self._mode](
            TurnInput(
                history=tuple(self._history),
                text=text,
                registry=self._kernel.registry,
                ask=partial(ledger.call, self._client),
                parameters=self._parameters,
            )
        )
        turn = Turn(agent, self._kernel, ledger, self._end_session)
        try:
            async with contextlib.aclosing(turn.outputs()) as outputs:
                async for output in outputs:
                    yield output
        except ChatError as error:
            ledger.failed(error.code, error.message)
            yield ErrorOutput(error.code, error.message)
            return
        except BaseException:
            ledger.abandoned()
            raise
        self._history.append({"role": "user", "content": text})
        if turn.spoken:
            self._history.append({"role": "assistant", "content": "\n".join(turn.spoken)})
        yield TurnCompleted(ledger.completed(), self._state == SESSION_OPEN)

    def _refusal(self) -> ErrorOutput | None:
        if self._busy:
            return ErrorOutput("turn_in_progress", "the turn before is not over")
        if self._state == SESSION_TERMINAL:
            return ErrorOutput("session_terminal", "the session has ended")
        return None

    def _end_session(self) -> None:
        self._state = SESSION_TERMINAL
        self._store.update("sessions", {"id": self._session}, state=SESSION_TERMINAL)

    async def aclose(self) -> None:
        """Close client and store."""
        try:
            await self._client.aclose()
        finally:
            self._store.close()
