"""The capability API over real HTTP on loopback, healthy and with every fault."""

import asyncio
import contextlib
import json
import socket
import threading
import time

import httpx
import pytest

from discovercall.contract.plan import SANDBOX_BASE_URL
from discovercall.foundation.errors import InputError
from discovercall.gateway.catalog import default_world_path, load_world, parse_world
from discovercall.gateway.faults import Effect, Fault, parse_faults
from discovercall.gateway.server import EmbeddedGateway, listen

WORLD = load_world(default_world_path())
WEATHER = "visualcrossing.timeline.retrieve.v1"
ALL = ("search", "inspect", "execute")


class Client:
    """A plain client of the capability API."""

    def __init__(self, gateway, timeout=5.0, key=None):
        headers = {"Authorization": f"Bearer {key or gateway.api_key}"}
        alone = httpx.Limits(max_keepalive_connections=0)  # nothing is left to be closed
        self.http = httpx.Client(headers=headers, timeout=timeout, trust_env=False, limits=alone)
        self.base = gateway.base_url

    def post(self, path, value):
        return self.http.post(self.base + path, json=value)

    def search(self, query="daily weather forecast", **more):
        return self.post(
            "/search", {"query": query, "limit": 10, "session_id": "s1", "view": "routing"} | more
        )

    def inspect(self, search_id, *tool_ids):
        body = {"tool_ids": list(tool_ids), "search_id": search_id, "session_id": "s1", "view": "lean"}
        return self.post("/tools/by-ids", body)

    def execute(self, search_id, tool_id, parameters):
        body = {"parameters": parameters, "search_id": search_id, "session_id": "s1", "model": "m"}
        return self.post(f"/tools/execute?tool_id={tool_id}", body | {"respond_with": "full"})

    def run(self, operation):
        """One request of that operation, after the searches it needs."""
        search_id = "none" if operation == "search" else self.search().json()["search_id"]
        if operation == "search":
            return self.search()
        if operation == "inspect":
            return self.inspect(search_id, WEATHER)
        return self.execute(search_id, WEATHER, {"location": "Oslo"})


@pytest.fixture(scope="module")
def gateway():
    with EmbeddedGateway(WORLD) as running:
        yield running


@pytest.fixture(scope="module")
def client(gateway):
    return Client(gateway)


def test_search_gives_routing_cards(client):
    answer = client.search(limit=3)
    body = answer.json()
    assert answer.status_code == 200
    assert body["total"] == len(body["results"]) == 3
    for card in body["results"]:
        assert set(card) == {"tool_id", "name", "capability", "cost_class", "reliability", "as_of_support"}
        assert card["tool_id"] in WORLD.by_ref
        assert isinstance(card["as_of_support"], bool)


def test_search_without_a_match_is_an_empty_list(client):
    body = client.search("zzzz qqqq").json()
    assert body["results"] == []
    assert body["search_id"]


def test_each_search_has_an_id_of_its_own(client):
    assert client.search().json()["search_id"] != client.search().json()["search_id"]


def test_inspect_gives_the_lean_view_of_listed_tools(client):
    search_id = client.search().json()["search_id"]
    body = client.inspect(search_id, WEATHER, "slack.post_message", "no.such").json()
    assert body["not_found"] == ["slack.post_message", "no.such"]
    [view] = body["results"]
    assert set(view) == {"tool_id", "name", "description", "params", "one_of_required", "examples"}
    assert view["params"][0]["name"] == "location"


def test_execute_answers_the_same_for_the_same_arguments(client):
    results = []
    for _ in range(2):
        body = client.run("execute").json()
        assert body["success"] is True
        assert body["error_message"] is None
        results.append(body["result"])
    assert results[0] == results[1]
    assert results[0]["data"]


def test_execute_refuses_bad_arguments(client):
    search_id = client.search().json()["search_id"]
    answer = client.execute(search_id, WEATHER, {"location": 7, "unitGroup": "cubits"})
    body = answer.json()
    assert answer.status_code == 200
    assert body["success"] is False
    assert body["result"] is None
    assert body["cost"] == 0
    assert "location" in body["error_message"]
    assert "unitGroup" in body["error_message"]


def test_execute_on_a_server_that_is_offline(client):
    search_id = client.search("set the heating").json()["search_id"]
    body = client.execute(search_id, "homehub.set_heating", {"room": "kitchen", "celsius": 20}).json()
    assert body["success"] is False
    assert "offline" in body["error_message"]


def test_unknown_search_and_tools(client):
    search_id = client.search().json()["search_id"]
    refusals = [
        (client.inspect("unknown", WEATHER), 404, "search_id"),
        (client.execute("unknown", WEATHER, {}), 404, "search_id"),
        (client.execute(search_id, "no.such", {}), 404, "no.such"),
        (client.execute(search_id, "slack.post_message", {}), 409, "slack.post_message"),
        (client.post("/tools/execute", {"parameters": {}, "search_id": search_id}), 422, "tool_id"),
        (client.post("/search", {"query": " "}), 422, "query"),
        (client.post("/search", {"query": "x", "limit": 0}), 422, "limit"),
        (client.post("/search", []), 422, "request"),
        (client.post("/tools/by-ids", {"tool_ids": "x", "search_id": search_id}), 422, "tool_ids"),
        (client.post("/elsewhere", {}), 404, "/api/v1/search"),
        (client.http.post(client.base + "/search", content=b"{oops"), 400, "JSON"),
        (client.http.get(client.base + "/search"), 405, "/api/v1/search"),
    ]
    for answer, status, word in refusals:
        body = answer.json()
        assert answer.status_code == status == body["status_code"]
        assert body["status"] == "failure"
        assert word in body["message"]


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic x"}])
def test_the_key_is_required(gateway, header):
    answer = httpx.post(f"{gateway.base_url}/search", json={"query": "x"}, headers=header, trust_env=False)
    assert answer.status_code == 401
    assert gateway.api_key not in answer.text


def test_revision_headers_follow_the_world(client):
    headers = client.search().headers
    assert headers["x-qveris-api-version"] == "sandbox-1"
    assert WORLD.digest[:16] in headers["x-qveris-catalog-version"]
    assert headers["content-type"] == "application/json"
    assert client.inspect("unknown", "a.b").headers["x-qveris-catalog-version"]


def test_health_needs_no_key(gateway):
    answer = httpx.get(gateway.base_url.removesuffix("/api/v1") + "/healthz", trust_env=False)
    assert answer.json() == {"status": "ok", "tools": len(WORLD.tools), "servers": len(WORLD.servers)}


def test_deep_arguments_do_not_break_the_server(client):
    search_id = client.search().json()["search_id"]
    depth = 20_000
    body = f'{{"search_id":"{search_id}","parameters":{{"location":"x","extra":{"[" * depth}{"]" * depth}}}}}'
    answer = client.http.post(f"{client.base}/tools/execute?tool_id={WEATHER}", content=body.encode())
    assert answer.json()["success"] is True


def test_many_at_once(gateway):
    async def ask():
        headers = {"Authorization": f"Bearer {gateway.api_key}"}
        async with httpx.AsyncClient(headers=headers, trust_env=False) as http:
            jobs = [http.post(f"{gateway.base_url}/search", json={"query": "weather"}) for _ in range(60)]
            return [answer.json()["search_id"] for answer in await asyncio.gather(*jobs)]

    assert len(set(asyncio.run(ask()))) == 60


def test_two_gateways_answer_alike():
    answers = []
    for _ in range(2):
        with EmbeddedGateway(WORLD, api_key="fixed-key") as running:
            client = Client(running)
            answers.append([client.search().json(), client.run("execute").json()])
    assert answers[0] == answers[1]


def test_embedded_gateway_is_on_loopback_and_stops():
    assert SANDBOX_BASE_URL == "sandbox://embedded"
    with EmbeddedGateway(WORLD) as running:
        assert running.base_url.startswith("http://127.0.0.1:")
        client = Client(running)
        assert client.search().status_code == 200
    with pytest.raises(httpx.TransportError):
        client.search()


def test_stops_at_once_though_a_client_hangs():
    with EmbeddedGateway(WORLD, faults=[Fault(Effect(hang_s=60))]) as running:
        client = Client(running, timeout=30)
        failures = []

        def hang():
            try:
                client.search()
            except httpx.TransportError as error:
                failures.append(error)

        thread = threading.Thread(target=hang)
        thread.start()
        time.sleep(0.2)
    thread.join(10)
    assert len(failures) == 1


# --- faults


def struck(do, operation="search"):
    """A gateway whose first request of an operation meets the fault."""
    return EmbeddedGateway(WORLD, faults=parse_faults([{"on": operation, "do": do}], where="test"))


@pytest.mark.parametrize("operation", ALL)
def test_fault_status(operation):
    with struck({"status": 503}, operation) as running:
        client = Client(running)
        answer = client.run(operation)
        assert (answer.status_code, answer.json()["status"]) == (503, "failure")
        assert answer.headers["x-qveris-api-version"]
        assert client.run(operation).status_code == 200


@pytest.mark.parametrize(("value", "header"), [(3, "3"), (0.5, "0.5"), ("soon 5", "soon 5")])
def test_fault_retry_after(value, header):
    with struck({"retry_after": value}) as running:
        answer = Client(running).search()
        assert (answer.status_code, answer.headers["retry-after"]) == (429, header)


def test_fault_retry_after_with_another_status():
    with struck({"status": 503, "retry_after": 1}) as running:
        assert Client(running).search().status_code == 503


@pytest.mark.parametrize("operation", ALL)
def test_fault_reset_is_a_tcp_reset(operation):
    with struck({"reset": True}, operation) as running:
        client = Client(running)
        with pytest.raises(httpx.ReadError) as error:
            client.run(operation)
        assert "reset" in repr(error.value.__cause__).lower() or "reset" in str(error.value).lower()
        assert client.run(operation).status_code == 200


def test_fault_hang_closes_without_an_answer():
    with struck({"hang_s": 0.2}) as running, pytest.raises(httpx.RemoteProtocolError):
        Client(running).search()


def test_fault_hang_lasts_longer_than_an_impatient_client():
    with struck({"hang_s": 60}) as running:
        client = Client(running, timeout=0.3)
        with pytest.raises(httpx.ReadTimeout):
            client.search()
        client.http.timeout = 5
        assert client.search().status_code == 200


def raw_search(running):
    """Send a search on a bare socket, to see the bytes as they come."""
    host, port = running.base_url.removeprefix("http://").split("/")[0].split(":")
    body = json.dumps({"query": "weather"}).encode()
    connection = socket.create_connection((host, int(port)), timeout=5)
    connection.sendall(
        b"POST /api/v1/search HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
        + running.api_key.encode()
        + b"\r\nContent-Length: %d\r\n\r\n" % len(body)
        + body
    )
    return connection


def test_fault_body_hang_sends_headers_and_half_a_body():
    with struck({"body_hang_s": 60}) as running, raw_search(running) as connection:
        connection.settimeout(1)
        data = b""
        with contextlib.suppress(TimeoutError):
            while chunk := connection.recv(65536):
                data += chunk
            pytest.fail("the connection was closed")
        head, _, body = data.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")
        [length] = [
            int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
        ]
        assert 0 < len(body) < length


def test_fault_body_hang_ends_with_a_close():
    with (
        struck({"body_hang_s": 0.2}) as running,
        pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body"),
    ):
        Client(running).search()


def test_fault_bad_json():
    with struck({"bad_json": True}) as running:
        answer = Client(running).search()
        assert answer.status_code == 200
        with pytest.raises(json.JSONDecodeError):
            answer.json()


def test_fault_pad_bytes():
    with struck({"pad_bytes": 3_000_000}) as running:
        answer = Client(running).search()
        assert len(answer.content) > 3_000_000
        assert answer.json()["results"]


@pytest.mark.parametrize("operation", ALL)
def test_fault_empty(operation):
    with struck({"empty": True}, operation) as running:
        body = Client(running).run(operation).json()
    if operation == "execute":
        assert (body["success"], body["result"]) == (True, None)
    else:
        assert (body["total"], body["results"]) == (0, [])
        assert body["search_id"]


def test_fault_latency():
    with struck({"latency_ms": 300}) as running:
        before = time.monotonic()
        assert Client(running).search().status_code == 200
        assert time.monotonic() - before >= 0.3


def test_fault_match_strikes_one_tool_only():
    faults = parse_faults(
        [{"on": "execute", "match": WEATHER, "times": -1, "do": {"status": 500}}], where="t"
    )
    with EmbeddedGateway(WORLD, faults=faults) as running:
        client = Client(running)
        assert client.run("execute").status_code == 500
        search_id = client.search("web search").json()["search_id"]
        assert client.execute(search_id, "cloudsway.smart_search_overseas", {"q": "x"}).json()["success"]


# --- journal


def read_journal(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_journal_has_a_line_per_request_on_arrival(tmp_path):
    path = tmp_path / "requests.jsonl"
    faults = [Fault(Effect(reset=True), ("execute",))]
    with EmbeddedGateway(WORLD, journal=path, faults=faults) as running:
        client = Client(running)
        with pytest.raises(httpx.TransportError):
            client.run("execute")
        client.run("execute")
        Client(running, key="wrong").search()
        lines = read_journal(path)  # complete before the gateway stops
    assert [(line["seq"], line["operation"], line["tool_id"]) for line in lines] == [
        (1, "search", None),
        (2, "execute", WEATHER),
        (3, "search", None),
        (4, "execute", WEATHER),
        (5, "search", None),
    ]
    # The body of a client without the key is not read.
    assert [line["session_id"] for line in lines] == ["s1", "s1", "s1", "s1", None]
    assert [line["fault"] for line in lines] == [None, "reset", None, None, None]
    assert [line["authorized"] for line in lines] == [True] * 4 + [False]
    assert running.api_key not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


def test_journal_is_appended_to(tmp_path):
    path = tmp_path / "requests.jsonl"
    for _ in range(2):
        with EmbeddedGateway(WORLD, journal=path) as running:
            Client(running).search()
    assert [line["seq"] for line in read_journal(path)] == [1, 1]


def test_journal_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="none"):
        EmbeddedGateway(WORLD, journal=tmp_path / "none" / "requests.jsonl")


# --- addresses


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org", "::", ""])
def test_only_loopback(host):
    with pytest.raises(InputError, match="loopback"):
        listen(host, 0)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
def test_loopback(host):
    listen(host, 0).close()


def test_a_taken_port_is_named():
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(InputError, match=str(port)):
            listen("127.0.0.1", port)


def test_small_world():
    tool = {
        "toolRef": "a.b",
        "serverId": "a",
        "name": "b",
        "title": "T",
        "description": "D",
        "inputSchema": {},
    }
    world = parse_world({"version": 1, "tools": [tool]}, where="small")
    with EmbeddedGateway(world) as running:
        body = Client(running).search("nothing of it").json()
    assert body["results"] == []
