"""A scripted capability API on loopback, down to the wire: resets, cuts, stalls and drips."""

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field

from discovercall.capability.client import CapabilityClient
from discovercall.capability.exchange import ClientLimits

KEY = "loopback-secret-key-000"


@dataclass(frozen=True)
class Reply:
    """A reply, broken by `fault`: reset, close, stall (no head); these with _body (half a body); drip."""

    body: bytes = b"{}"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    fault: str = ""
    head: bytes | None = None
    chunked: bool = False


@dataclass(frozen=True)
class Seen:
    """A request as it came in."""

    connection: int
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


def answer(value, **more) -> Reply:
    return Reply(json.dumps(value).encode(), **more)


@dataclass
class LoopbackApi:
    """Replies with `replies` in order, the last one for ever; or with what a function says."""

    replies: Iterable[Reply] | Callable[[Seen], Reply]
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0
    port: int = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v1"

    def client(self, sleeps: list[float] | None = None, **options) -> CapabilityClient:
        async def sleep(seconds: float) -> None:
            if sleeps is not None:
                sleeps.append(seconds)

        options.setdefault("limits", ClientLimits(timeout_s=5))
        options.setdefault("sleep", sleep)
        return CapabilityClient(
            options.pop("base_url", self.base_url), options.pop("api_key", KEY), **options
        )

    def reply_to(self, request: Seen) -> Reply:
        if callable(self.replies):
            return self.replies(request)
        replies = list(self.replies)
        return replies[min(len(self.seen), len(replies)) - 1]

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection = self.connections
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = {
                    k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)
                }
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                request = Seen(connection, head[0].split(" ")[1], headers, body)
                self.seen.append(request)
                if not await self.send(self.reply_to(request), reader, writer):
                    break
        writer.close()

    async def send(self, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        length = (
            ("transfer-encoding", "chunked") if reply.chunked else ("content-length", str(len(reply.body)))
        )
        lines = [f"{name}: {value}\r\n" for name, value in (length, *reply.headers)]
        head = reply.head or f"HTTP/1.1 {reply.status} Status\r\n{''.join(lines)}\r\n".encode("latin-1")
        if reply.fault.endswith("_body"):
            half = reply.body[: len(reply.body) // 2]
            writer.write(head + (b"%x\r\n%b\r\n" % (len(half), half) if reply.chunked else half))
            await writer.drain()
            await asyncio.sleep(0.02)
        if reply.fault.startswith("reset"):
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
            return False
        if reply.fault.startswith("close"):
            return False
        if reply.fault.startswith("stall"):
            await reader.read(1)  # until the client gives up
            return False
        writer.write(head)
        if reply.fault == "drip":
            for byte in reply.body:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.02)
            return True
        if reply.chunked:
            for at in range(0, len(reply.body), 2**16):
                part = reply.body[at : at + 2**16]
                writer.write(b"%x\r\n%b\r\n" % (len(part), part))
                await writer.drain()
            writer.write(b"0\r\n\r\n")
        else:
            writer.write(reply.body)
        await writer.drain()
        return True


@contextlib.asynccontextmanager
async def serving(replies: Iterable[Reply] | Callable[[Seen], Reply]) -> AsyncIterator[LoopbackApi]:
    api = LoopbackApi(replies)
    server = await asyncio.start_server(api.handle, "127.0.0.1", 0, limit=2**22)
    api.port = server.sockets[0].getsockname()[1]
    try:
        yield api
    finally:
        server.close()


async def perform(client: CapabilityClient, operation: str, on_send: Callable[[], None] = lambda: None):
    """Send one request of an operation with fixed arguments."""
    if operation == "discover":
        return await client.discover("weather", 10, "session-1")
    if operation == "inspect":
        return await client.inspect(["a.b"], "search-1", "session-1")
    return await client.call("a.b", {"city": "Paris"}, "search-1", "session-1", "model-1", on_send)
