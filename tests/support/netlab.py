"""Runs a command with a loopback network only, and notes every host that it tries to reach.

    python netlab.py EGRESS_FILE COMMAND ...

Names are answered with 127.0.0.1 by a name server of its own; what then comes in on ports 80 and 443 is noted
too, one JSON object a line: `{"dns": name}`, `{"tls": name}` or `{"plain": port}`. Needs Linux and root: the
command gets network and mount namespaces of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

INSIDE = "DISCOVERCALL_NETLAB"


def why_not() -> str | None:
    """Why this machine can't; None where it can."""
    for program in ("unshare", "ip", "mount"):
        if shutil.which(program) is None:
            return f"no {program}"
    done = subprocess.run(["unshare", "-n", "-m", "true"], capture_output=True, check=False)
    return "no network namespaces" if done.returncode else None


def hosts(egress: Path) -> set[str]:
    """Names and ports of everything that was tried."""
    lines = egress.read_text().splitlines() if egress.exists() else []
    return {str(value) for line in lines for value in json.loads(line).values()}


class Sinks:
    """The name server and the listeners."""

    def __init__(self, egress: Path) -> None:
        self._egress = egress
        self._lock = threading.Lock()

    def start(self) -> None:
        names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        names.bind(("127.0.0.1", 53))
        threading.Thread(target=self._serve_names, args=(names,), daemon=True).start()
        for port in (80, 443):
            listener = socket.create_server(("127.0.0.1", port))
            threading.Thread(target=self._accept, args=(listener, port), daemon=True).start()

    def _note(self, **found: Any) -> None:
        with self._lock, self._egress.open("a") as stream:
            stream.write(json.dumps(found) + "\n")

    def _serve_names(self, server: socket.socket) -> None:
        while True:
            query, client = server.recvfrom(2048)
            at, labels = 12, []
            while query[at]:
                labels.append(query[at + 1 : at + 1 + query[at]].decode("ascii", "replace"))
                at += 1 + query[at]
            (kind,) = struct.unpack(">H", query[at + 1 : at + 3])
            self._note(dns=".".join(labels))
            question = query[12 : at + 5]
            address = b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4\x7f\0\0\1" if kind == 1 else b""
            count = b"\0\1" if address else b"\0\0"
            server.sendto(query[:2] + b"\x81\x80\0\1" + count + b"\0\0\0\0" + question + address, client)

    def _accept(self, listener: socket.socket, port: int) -> None:
        while True:
            client, _ = listener.accept()
            threading.Thread(target=self._look, args=(client, port), daemon=True).start()

    def _look(self, client: socket.socket, port: int) -> None:
        with client:
            client.settimeout(3)
            try:
                first = client.recv(4096)
            except OSError:
                first = b""
            name = _server_name(first)
            if name:
                self._note(tls=name)
            else:
                self._note(plain=port)


def _server_name(hello: bytes) -> str | None:
    """The server_name of a TLS ClientHello."""
    at = hello.find(b"\0\0", 43) if hello[:1] == b"\x16" else -1
    while at != -1:
        head = hello[at + 2 : at + 9]
        if len(head) == 7:
            length, names, kind, size = struct.unpack(">HHBH", head)
            if kind == 0 and length == names + 2 and names == size + 3:
                return hello[at + 9 : at + 9 + size].decode("ascii", "replace")
        at = hello.find(b"\0\0", at + 1)
    return None


def main(arguments: list[str]) -> int:
    egress, command = Path(arguments[0]).resolve(), arguments[1:]
    if os.environ.get(INSIDE) != "1":
        os.environ[INSIDE] = "1"
        os.execvp(
            "unshare", ["unshare", "-n", "-m", sys.executable, str(Path(__file__).resolve()), *arguments]
        )
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.NamedTemporaryFile("w", suffix=".resolv") as resolver:
        resolver.write("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        resolver.flush()
        target = os.path.realpath("/etc/resolv.conf")
        subprocess.run(["mount", "--bind", resolver.name, target], check=True)
        Sinks(egress).start()
        time.sleep(0.1)
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
