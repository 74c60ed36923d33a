"""Clients that hold a key: what they send, and what they don't keep."""

from __future__ import annotations

import asyncio
import json
import ssl
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import pytest

from discovercall.foundation.errors import InputError
from discovercall.foundation.http import is_compressed, open_client, open_model_client
from tests.support.loopback import LoopbackServer

KEY = "loopback-secret-key-000"


class Repeating(BaseHTTPRequestHandler):
    """Answers with the request's headers, a cookie, and a redirect to no address."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({name.lower(): value for name, value in self.headers.items()}).encode()
        self.send_response(307)
        self.send_header("Set-Cookie", "a=b")
        self.send_header("Location", "http://[")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


async def headers_of_two_requests(client: httpx.AsyncClient, url: str) -> list[dict[str, str]]:
    async with client:
        answers = [await client.post(url, content=b"{}") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [307, 307]
    return [answer.json() for answer in answers]


def test_a_model_client_follows_nothing_and_remembers_nothing() -> None:
    with LoopbackServer(Repeating) as server:
        client = open_model_client(server.origin, KEY, accept="text/event-stream", trust_env=False)
        first, second = asyncio.run(headers_of_two_requests(client, server.origin))
    assert first == {
        "host": server.origin.removeprefix("http://"),
        "user-agent": "discovercall",
        "connection": "close",
        "content-type": "application/json",
        "accept": "text/event-stream",
        "accept-encoding": "identity",
        "authorization": f"Bearer {KEY}",
        "content-length": "2",
    }
    assert second == first


def test_without_a_key_none_is_sent() -> None:
    with LoopbackServer(Repeating) as server:
        client = open_model_client(server.origin, None, accept="application/json", trust_env=False)
        first, _ = asyncio.run(headers_of_two_requests(client, server.origin))
    assert "authorization" not in first


@pytest.mark.parametrize(("keep_alive", "connection"), [(True, "keep-alive"), (False, "close")])
def test_connections_are_kept_where_this_was_asked_for(keep_alive: bool, connection: str) -> None:
    with LoopbackServer(Repeating) as server:
        client = open_client({}, certificates=None, keep_alive=keep_alive, trust_env=False)
        answers = asyncio.run(headers_of_two_requests(client, server.origin))
    assert [answer["connection"] for answer in answers] == [connection] * 2
    assert not any("cookie" in answer for answer in answers)


def test_a_client_without_certificates_trusts_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {}
    monkeypatch.setattr(httpx, "AsyncClient", settings.update)
    open_client({}, certificates=None, keep_alive=False, trust_env=False)
    assert settings["verify"].verify_mode == ssl.CERT_REQUIRED
    assert settings["verify"].check_hostname
    assert not settings["verify"].get_ca_certs()


def test_unusable_settings_of_the_environment_are_a_users_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "https://models.example/v1"
    monkeypatch.setenv("HTTPS_PROXY", "foo://user:proxy-secret@[")
    with pytest.raises(InputError, match="HTTP_PROXY, HTTPS_PROXY or ALL_PROXY") as raised:
        open_model_client(url, KEY, accept="application/json", trust_env=True)
    assert "secret" not in str(raised.value)
    monkeypatch.delenv("HTTPS_PROXY")
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere")
    with pytest.raises(InputError, match="SSL_CERT_FILE or SSL_CERT_DIR"):
        open_model_client(url, KEY, accept="application/json", trust_env=True)


@pytest.mark.parametrize(
    ("encoding", "compressed"), [(None, False), ("identity", False), ("Identity", False), ("gzip", True)]
)
def test_what_is_compressed(encoding: str | None, compressed: bool) -> None:
    headers = {} if encoding is None else {"Content-Encoding": encoding}
    assert is_compressed(httpx.Response(200, headers=headers)) == compressed
