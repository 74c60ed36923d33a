"""An attacker who knows the whole catalog tries every id against every digest of an artifact."""

from __future__ import annotations

import hashlib
import json
import re

from discovercall import sanitize_records
from discovercall.foundation.jsonl import dump_lines
from tests.publication.runs import ROOT, policy_json, private_run, success, task_set

CATALOG = [
    tool["toolRef"] for tool in json.loads((ROOT / "tasks/gateway/catalog/world.json").read_bytes())["tools"]
]
APPROVED = set(policy_json(2)["approved_selected_tool_ids"])
UNAPPROVED = [tool_id for tool_id in CATALOG if tool_id not in APPROVED]


def artifacts(version: int) -> str:
    """Public records of runs that together select every tool of the catalog, each among ten results."""
    parts = []
    for start in range(0, len(CATALOG), 54):
        chosen = CATALOG[start : start + 54]
        chosen += CATALOG[: 54 - len(chosen)]
        kinds = (
            (success(tool_id, [t for t in CATALOG if t != tool_id][at % 60 : at % 60 + 9]), None)
            for at, tool_id in enumerate(chosen)
        )
        parts.append(dump_lines(sanitize_records(private_run(kinds), policy_json(version), task_set().raw)))
    return b"".join(parts).decode()


def found(artifact: str) -> set[str]:
    """Ids that the artifact gives away by name or by a digest of them."""
    digests = set(re.findall("[0-9a-f]{64}", artifact))
    attempts = {
        tool_id: (
            tool_id,
            *(f"{mark}\0{tool_id}" for mark in ("tool_id", "selected_tool")),
            json.dumps(tool_id),
            json.dumps([tool_id]),
            json.dumps({"tool_id": tool_id}, separators=(",", ":")),
        )
        for tool_id in CATALOG
    }
    return {
        tool_id
        for tool_id, texts in attempts.items()
        if tool_id in artifact or any(hashlib.sha256(text.encode()).hexdigest() in digests for text in texts)
    }


def test_plain_digests_give_every_id_away_and_keyed_ones_none() -> None:
    assert len(UNAPPROVED) >= 100
    assert set(UNAPPROVED) <= found(artifacts(1))
    assert not set(UNAPPROVED) & found(artifacts(2))
