"""An MCP server over standard streams that says raw lines, and a gateway.toml that names it.

python hostile.py STATE, where STATE is {banner?, noise?, stderr?, list?, call?}; in a raw line $ID is the
request's id and $TOK the secret that the server was given. `noise` is
how many bytes it writes to its error stream.
"""

import json
import os
import sys
from pathlib import Path

SECRET = "SEKRET0123456789"
SCHEMA = {"type": "object", "properties": {}}


def configure_hostile(folder, *, timeout_ms=60000, **state):
    """The configuration of one hostile server `s`."""
    from tests.support.mcp.scripted import configure

    path = folder / "state.json"
    path.write_text(json.dumps(state))
    program = json.dumps([__file__, str(path)])
    text = f"[servers.s]\ncommand = {json.dumps(sys.executable)}\nargs = {program}\n"
    text += f'env = {{ TOK = "{SECRET}" }}\n'
    return configure(folder, f"{text}[timeouts]\ndiscovery_ms = {timeout_ms}\ncall_ms = {timeout_ms}\n")


def result(value):
    return '{"jsonrpc":"2.0","id":$ID,"result":' + json.dumps(value) + "}"


def listed(*tools):
    return result({"tools": [{"inputSchema": SCHEMA, **tool} for tool in tools]})


def main():
    state = json.loads(Path(sys.argv[1]).read_text())
    fill = lambda text: text.replace("$TOK", os.environ["TOK"])  # noqa: E731
    if "banner" in state:
        print(fill(state["banner"]), flush=True)
    sys.stderr.write("x" * state.get("noise", 0))
    if "stderr" in state:
        sys.stderr.write(fill(state["stderr"]))
        sys.exit(1)
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if number is None:
            continue
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
            answer = result({"protocolVersion": version, **about})
        elif method == "tools/list":
            answer = state.get("list", listed({"name": "ok"}))
        elif method == "tools/call":
            answer = state["call"]
        else:
            answer = '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no"}}'
        print(fill(answer).replace("$ID", json.dumps(number)), flush=True)


if __name__ == "__main__":
    main()
