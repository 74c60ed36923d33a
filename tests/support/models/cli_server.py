"""What the fake servers of the model command lines share: a scenario in the path, the key, and faults."""

from __future__ import annotations

from typing import Any

from tests.support.models.fake_server import FakeServer, Handler


class CliModelServer(FakeServer):
    """A server that one model command line talks to.

    Args:
        key: what requests have to authorise with; 401 otherwise.
        answer: the JSON value that the model answers with.
    """

    suffix = ""
    errors: tuple[str, ...] = ()

    def __init__(self, key: str, answer: Any) -> None:
        super().__init__(key=key)
        self.answer = answer

    def url(self, scenario: str) -> str:
        """Base URL with that scenario."""
        return f"{self.origin}/s/{scenario}{self.suffix}"

    def answer_request(self, handler: Handler, path: str, scenario: str, body: Any) -> None:
        if not self.serves(path) or handler.command != "POST" or not isinstance(body, dict):
            return self.not_found(handler)
        if not self.authorised(handler):
            return self.error(handler, "http401", body)
        if scenario in ("http500_once", "cut_once"):
            scenario = scenario.removesuffix("_once") if self.bump(scenario) == 1 else "ok"
        if scenario in self.errors:
            return self.error(handler, scenario, body)
        if scenario == "blackhole":
            handler.wait(120)
        self.message(handler, scenario, body)

    def serves(self, path: str) -> bool:
        raise NotImplementedError

    def not_found(self, handler: Handler) -> None:
        raise NotImplementedError

    def authorised(self, handler: Handler) -> bool:
        raise NotImplementedError

    def error(self, handler: Handler, name: str, body: dict[str, Any]) -> None:
        raise NotImplementedError

    def message(self, handler: Handler, scenario: str, body: dict[str, Any]) -> None:
        raise NotImplementedError
