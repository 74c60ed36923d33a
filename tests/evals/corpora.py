"""A small corpus in a folder of its own, to be broken in every way."""

import copy
import json
from pathlib import Path
from typing import Any

from tests.gateway.worlds import TOOLS

SERVERS = sorted({tool["serverId"] for tool in TOOLS})
BANK = [
    {"id": "chat", "capability": "Write chat messages", "requests": ["post a message", "tell the channel"]},
    {"id": "mail", "capability": "Send and search email", "requests": ["send an email", "find his mail"]},
    {"id": "wiki", "capability": "Read wiki pages", "requests": ["search the wiki", "open the wiki page"]},
    {
        "id": "weather",
        "capability": "Weather forecast",
        "requests": ["weather tomorrow", "forecast for a city"],
    },
    {"id": "pizza", "capability": "Order pizza", "requests": ["order a pizza", "margherita for two please"]},
]
DISCOVERY: dict[str, list[tuple[str, list[str]]]] = {
    "lexical": [
        ("search wiki pages about deploys", ["wiki.search_pages"]),
        ("convert a spreadsheet", ["files.convert"]),
        ("read a local file", ["files.read_file"]),
    ],
    "semantic": [("will it rain in Lisbon tomorrow", ["down.weather"])],
    "no_match": [("order a pizza margherita", []), ("book a flight to Rome", [])],
    "wrong_server": [("search mail for the invoice, not chat", ["mail.search"])],
    "ambiguous": [("search for the contract", ["mail.search", "chat.search_messages", "wiki.search_pages"])],
}
HOLDOUT: dict[str, list[tuple[str, list[str]]]] = {
    "lexical": [("post a message to the channel", ["chat.post_message"])],
    "no_match": [("margherita for four", [])],
}
SCENARIOS: list[dict[str, Any]] = [
    {
        "name": "plain call",
        "toolRef": "wiki.search_pages",
        "arguments": {"query": "deploy"},
        "expectedOutcome": "success",
        "rationale": "All that is needed.",
    },
    {
        "name": "missing text",
        "toolRef": "mail.send",
        "arguments": {"to": "a@example.org"},
        "expectedOutcome": "repair",
        "expectedError": "ARGUMENT_VALIDATION_FAILED",
        "corrected": {"to": "a@example.org", "subject": "x"},
        "rationale": "The subject is required.",
    },
    {
        "name": "renamed",
        "toolRef": "wiki.get_page",
        "arguments": {"page_id": "7"},
        "expectedOutcome": "error",
        "expectedError": "TOOL_SCHEMA_CHANGED",
        "liveSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
        "rationale": "The server renamed it.",
    },
]
CASES: list[dict[str, Any]] = [
    {
        "name": "wiki",
        "kind": "find",
        "query": "search wiki pages",
        "expectDecision": "use",
        "rationale": "Words.",
    },
    {"name": "page", "kind": "describe", "toolRef": "wiki.get_page", "rationale": "It is there."},
    {
        "name": "nobody",
        "kind": "call",
        "toolRef": "wiki.absent",
        "arguments": {},
        "expectErrorType": "TOOL_NOT_FOUND",
        "rationale": "It is not.",
    },
]


def line(intent: str, category: str, acceptable: list[str], rationale: str = "For a test.") -> dict[str, Any]:
    return {"intent": intent, "category": category, "acceptable": acceptable, "rationale": rationale}


class CorpusFolder:
    """The files as values; change them, then `write`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.world: dict[str, Any] = {
            "version": 1,
            "servers": [{"id": name, "status": "online"} for name in SERVERS],
            "tools": copy.deepcopy(TOOLS),
        }
        self.discovery = {
            category: [line(intent, category, refs) for intent, refs in cases]
            for category, cases in copy.deepcopy(DISCOVERY).items()
        }
        self.holdout = {
            category: [line(intent, category, refs) for intent, refs in cases]
            for category, cases in copy.deepcopy(HOLDOUT).items()
        }
        self.scenarios = copy.deepcopy(SCENARIOS)
        self.cases = copy.deepcopy(CASES)
        self.thresholds: dict[str, Any] | None = None
        self.bank: list[dict[str, Any]] | None = copy.deepcopy(BANK)

    def write(self) -> Path:
        files: dict[str, str] = {"catalog/world.json": json.dumps(self.world)}
        for prefix, group in (("", self.discovery), ("holdout-", self.holdout)):
            for category, lines in group.items():
                name = f"discovery/{prefix}{category.replace('_', '-')}.jsonl"
                files[name] = "".join(json.dumps(entry) + "\n" for entry in lines)
        files["invocation/all.json"] = json.dumps({"version": 1, "_note": "", "scenarios": self.scenarios})
        files["ergonomics/all.json"] = json.dumps({"version": 1, "_note": "", "cases": self.cases})
        if self.thresholds is not None:
            files["thresholds.json"] = json.dumps(self.thresholds)
        if self.bank is not None:
            files["capability-bank.jsonl"] = "".join(json.dumps(entry) + "\n" for entry in self.bank)
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return self.folder
