"""Small worlds for tests of the broker."""

from typing import Any

from discovercall.gateway.catalog import parse_world

BIG = {
    "type": "object",
    "properties": {f"field_{n}": {"type": "string", "description": "x" * 80} for n in range(40)},
    "required": ["field_1"],
}


def entry(
    ref: str, title: str, description: str, schema: dict[str, Any] | None = None, read_only: bool = True
):
    server, name = ref.split(".", 1)
    return {
        "toolRef": ref,
        "serverId": server,
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": schema if schema is not None else {"type": "object", "properties": {}},
        "readOnly": read_only,
    }


def text(*names: str, required: tuple[str, ...] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": list(names if required is None else required),
    }


TOOLS = [
    entry(
        "chat.post_message", "Post a Message", "Post a message to a channel.", text("channel", "text"), False
    ),
    entry("chat.search_messages", "Search Messages", "Search past chat messages.", text("query")),
    entry("chat.get_message", "Get a Message", "Read one chat message in full.", text("message_id")),
    entry("mail.send", "Send an Email", "Compose and send an email.", text("to", "subject"), False),
    entry("mail.search", "Search Mail", "Search the mailbox for emails.", text("query")),
    entry("wiki.search_pages", "Search Wiki Pages", "Search wiki pages.", text("query")),
    entry("wiki.get_page", "Read a Wiki Page", "Read the content of a wiki page.", text("page_id")),
    entry("files.read_file", "Read a File", "Read the contents of a local file.", text("path")),
    entry("files.convert", "Convert a Spreadsheet", "Convert a spreadsheet to another format.", BIG),
    entry("git.log", "Commit History", "List the commits of a repository.", text("repo_path")),
    entry("down.weather", "Weather Forecast", "Weather forecast for a city.", text("city")),
]


def world(tools=TOOLS, **statuses: str):
    servers = sorted({tool["serverId"] for tool in tools})
    value = {
        "version": 1,
        "servers": [{"id": name, "status": statuses.get(name, "online")} for name in servers],
        "tools": tools,
    }
    return parse_world(value, where="test")
