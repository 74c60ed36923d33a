"""The steps of one call: reference, configuration, arguments, live schema, execution, budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discovercall.foundation.json_text import compact
from discovercall.foundation.redaction import Redactor
from discovercall.gateway import wording
from discovercall.gateway.arguments import check_arguments
from discovercall.gateway.catalog import split_tool_ref
from discovercall.gateway.downstream import (
    AuthRefusedError,
    CallTimeoutError,
    CredentialsMissingError,
    Downstream,
    DownstreamError,
    DownstreamResult,
    ServerOfflineError,
    TransportLostError,
)
from discovercall.gateway.results import BrokerError, CallResult, Failure, Retry
from discovercall.gateway.settings import BrokerSettings
from discovercall.gateway.store import Catalog, Entry
from discovercall.gateway.truncation import bound

OFFLINE_WAIT_S = 30
BACKOFF_S = 5
_SUMMARY_CHARACTERS = 160


class Caller:
    """Carries calls out.

    Args:
        downstream: reaches the servers.
        settings: the call's time limit and budget.
        redact: masks secrets in messages.
    """

    def __init__(self, downstream: Downstream, settings: BrokerSettings, redact: Redactor) -> None:
        self._downstream = downstream
        self._settings = settings
        self._redact = redact

    def call(self, catalog: Catalog, tool_ref: str, arguments: Mapping[str, Any]) -> CallResult | Failure:
        """One call, never repeated; the first step that fails decides the answer."""
        refused = self._refused_by_catalog(catalog, tool_ref, arguments)
        if refused is not None:
            return Failure(refused)
        server_id, name = tool_ref.split(".", 1)
        entry = catalog.entry(tool_ref)
        sent = False
        try:
            session = self._downstream.connect(server_id, self._settings.call_timeout_ms / 1000)
            live = session.live_schema(name)
            stale = self._refused_by_server(entry, tool_ref, live, arguments)
            if stale is not None:
                return Failure(stale)
            sent = True
            result = session.call(name, arguments)
        except CallTimeoutError:
            return Failure(self._timed_out(tool_ref, server_id, sent))
        except DownstreamError as error:
            read_only = entry is not None and entry.tool.read_only
            return Failure(self._downstream_error(error, tool_ref, server_id, read_only))
        notices = _drift_notice(entry, live)
        return self._answer(tool_ref, server_id, name, result, notices)

    def _refused_by_catalog(
        self, catalog: Catalog, tool_ref: str, arguments: Mapping[str, Any]
    ) -> BrokerError | None:
        parts = split_tool_ref(tool_ref)
        if parts is None:
            message = f"{tool_ref[:200]!r} is no tool reference; one looks like server.tool."
            return self._error("TOOL_NOT_FOUND", message, wording.NOT_FOUND, tool_ref=tool_ref)
        server_id = parts[0]
        server = catalog.server(server_id)
        if server is None or not server.enabled:
            return self.no_such_server(catalog, tool_ref)
        entry = catalog.entry(tool_ref)
        if entry is None:
            if catalog.is_unread(server_id):
                return None  # the live server decides
            message = f"Server {server_id} has no tool {parts[1][:200]} in the catalog."
            return self._error(
                "TOOL_NOT_FOUND", message, wording.NOT_FOUND, tool_ref=tool_ref, server_id=server_id
            )
        problems = check_arguments(entry.tool.input_schema, arguments)
        if not problems:
            return None
        return self._error(
            "ARGUMENT_VALIDATION_FAILED",
            "Invalid arguments: " + "; ".join(problem.message for problem in problems) + ".",
            wording.INVALID_ARGUMENTS,
            tool_ref=tool_ref,
            server_id=server_id,
            problems=tuple(problem.to_json() for problem in problems),
        )

    def no_such_server(self, catalog: Catalog, tool_ref: str) -> BrokerError:
        """Why a tool is out of reach whose server is not configured or disabled."""
        server_id = tool_ref.partition(".")[0]
        state = "disabled" if catalog.server(server_id) else "not configured"
        others = [server.server_id for server in catalog.servers() if server.enabled][:12]
        instruction = wording.unknown_server(server_id, others)
        message = f"Server {server_id} is {state}."
        return self._error("CONFIG_ERROR", message, instruction, tool_ref=tool_ref, server_id=server_id)

    def _refused_by_server(
        self,
        entry: Entry | None,
        tool_ref: str,
        live: Mapping[str, Any] | None,
        arguments: Mapping[str, Any],
    ) -> BrokerError | None:
        server_id, name = tool_ref.split(".", 1)
        if live is None:
            message = f"Server {server_id} {'no longer offers' if entry else 'does not offer'} {name[:200]}."
            return self._error(
                "TOOL_NOT_FOUND", message, wording.NOT_FOUND, tool_ref=tool_ref, server_id=server_id
            )
        if entry is None or live == entry.tool.input_schema:
            return None
        problems = check_arguments(live, arguments)
        if not problems:
            return None
        told = "; ".join(problem.message for problem in problems)
        return self._error(
            "TOOL_SCHEMA_CHANGED",
            f"The schema of {tool_ref} has changed since it was indexed; the live one says: {told}.",
            wording.SCHEMA_CHANGED,
            retry=Retry("after", "index_refreshed"),
            tool_ref=tool_ref,
            server_id=server_id,
            problems=tuple(problem.to_json() for problem in problems),
        )

    def _downstream_error(
        self, error: DownstreamError, tool_ref: str, server_id: str, read_only: bool
    ) -> BrokerError:
        about = {"tool_ref": tool_ref, "server_id": server_id}
        match error:
            case ServerOfflineError():
                return self._error(
                    "DOWNSTREAM_SERVER_OFFLINE",
                    f"Server {server_id} cannot be reached: {error}",
                    wording.offline(server_id),
                    retryable=True,
                    retry=Retry("after", "server_online", OFFLINE_WAIT_S),
                    **about,
                )
            case CredentialsMissingError():
                message = f"Server {server_id} was not contacted: {error}"
                return self._error("AUTH_UNAVAILABLE", message, wording.AUTH, **about)
            case AuthRefusedError():
                message = f"Server {server_id} refused the credentials: {error}"
                return self._error("AUTH_UNAVAILABLE", message, wording.AUTH, **about)
            case TransportLostError():
                return self._error(
                    "DOWNSTREAM_CALL_FAILED",
                    f"The connection to server {server_id} broke during the call: {error}",
                    wording.transport_lost(server_id, read_only),
                    retryable=True,
                    retry=Retry("after", "backoff", BACKOFF_S),
                    **about,
                )
        message = f"{tool_ref} failed: {error}"
        return self._error("DOWNSTREAM_CALL_FAILED", message, wording.TOOL_ERROR, **about)

    def _timed_out(self, tool_ref: str, server_id: str, sent: bool) -> BrokerError:
        limit = self._settings.call_timeout_ms
        within = f"within {wording.TIME_LIMIT} ({limit} ms)."
        if sent:
            message, instruction = f"{tool_ref} did not answer {within}", wording.timed_out(limit)
        else:
            message = f"Server {server_id} was not ready for the call {within}"
            instruction = wording.not_ready(server_id, limit)
        return self._error(
            "DOWNSTREAM_CALL_FAILED", message, instruction, tool_ref=tool_ref, server_id=server_id
        )

    def _answer(
        self, tool_ref: str, server_id: str, name: str, result: DownstreamResult, notices: list[str]
    ) -> CallResult | Failure:
        text = "\n".join(result.text)
        if result.is_error:
            said = text
            if not text.strip() and result.structured is not None:
                said = compact(result.structured)
            told = bound(self._redact(said) or "no message", 2000).value
            return Failure(
                self._error(
                    "DOWNSTREAM_CALL_FAILED",
                    f"{tool_ref} reported an error: {told}",
                    wording.TOOL_ERROR,
                    tool_ref=tool_ref,
                    server_id=server_id,
                )
            )
        structured = result.structured is not None
        bounded = bound(result.structured if structured else text, self._settings.max_result_bytes)
        summary = _summary(name, self._redact(text), structured)
        if bounded.notice:
            notices.append(bounded.notice)
            summary += " (shortened)"
        if result.left_out and not structured:
            kinds = ", ".join(dict.fromkeys(result.left_out))
            notices.append(f"Content without text was left out: {kinds}.")
        is_text = isinstance(bounded.value, str) and not (structured and not bounded.notice)
        return CallResult(tool_ref, bounded.value, summary, tuple(notices), text=is_text)

    def _error(self, kind: Any, message: str, instruction: str, **members: Any) -> BrokerError:
        return BrokerError(kind, self._redact(message), instruction, **members)


def _drift_notice(entry: Entry | None, live: Mapping[str, Any] | None) -> list[str]:
    if entry is None or live is None or live == entry.tool.input_schema:
        return []
    return [
        f"The live schema of {entry.tool.tool_ref} differs from the cataloged one; these arguments fit both. "
        f"Refresh the catalog with `{wording.INDEX_COMMAND}`."
    ]


def _summary(name: str, text: str, structured: bool) -> str:
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if structured:
        what = "structured content"
    elif first:
        what = first if len(first) <= _SUMMARY_CHARACTERS else first[:_SUMMARY_CHARACTERS] + "…"
    else:
        what = "no content"
    return f"{name}: {what}"
