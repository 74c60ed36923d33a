"""Clients without the key, and bodies that stall: they neither hold the gateway nor fill its journal."""

import json
import socket
import time

import httpx
import pytest

from discovercall.gateway import http_app
from discovercall.gateway.catalog import default_world_path, load_world
from discovercall.gateway.journal import MAX_TURNED_AWAY, RequestJournal
from discovercall.gateway.server import EmbeddedGateway

WORLD = load_world(default_world_path())


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "journal.jsonl"


@pytest.fixture
def gateway(journal):
    with EmbeddedGateway(WORLD, journal=journal) as running:
        yield running


def post(gateway, key, body, path="/search"):
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with httpx.Client(trust_env=False, timeout=20) as http:
        return http.post(gateway.base_url + path, content=body, headers=headers)


def test_a_stranger_leaves_one_short_line(gateway, journal):
    body = json.dumps({"query": "x", "session_id": "s" * 500_000})
    for path in ("/search", "/tools/by-ids", "/tools/execute?tool_id=" + "t" * 4000):
        assert post(gateway, "wrong", body, path).status_code == 401
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [(line["authorized"], line["session_id"], line["tool_id"]) for line in lines] == [
        (False, None, None)
    ] * 3
    assert journal.stat().st_size < 1000


def test_lines_of_strangers_are_bounded(journal):
    requests = RequestJournal(journal)
    for _ in range(MAX_TURNED_AWAY + 5):
        requests.turned_away(operation="search")
    assert requests.arrived(operation="search") == MAX_TURNED_AWAY + 6
    requests.close()
    assert len(journal.read_text().splitlines()) == MAX_TURNED_AWAY + 1


@pytest.mark.parametrize("session", ["s" * 500_000, {"a": "b" * 500_000}])
def test_names_in_the_journal_are_bounded(gateway, journal, session):
    post(gateway, gateway.api_key, json.dumps({"query": "x", "session_id": session}))
    assert 50 < journal.stat().st_size < 1000


def stalled(gateway, key):
    """Status of a request whose body stops in the middle, when the server has ended it."""
    host, port = gateway.base_url.split("/")[2].split(":")
    head = f"POST /api/v1/search HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
    head += "Content-Length: 99\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=15) as line:
        line.sendall(head.encode() + b'{"query"')
        return int(line.recv(4096).split()[1])


def test_stalled_body_of_a_stranger(gateway):
    started = time.monotonic()
    assert stalled(gateway, "wrong") == 401
    assert time.monotonic() - started < 10  # a promise: strangers hold nothing


def test_stalled_body_with_the_key(gateway, monkeypatch):
    monkeypatch.setattr(http_app, "BODY_LIMIT_S", 0.3)
    assert stalled(gateway, gateway.api_key) == 408
