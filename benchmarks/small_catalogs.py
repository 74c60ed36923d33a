"""How the search fares on small catalogs, drawn from the committed world: 24 tools instead of hundreds.

    python benchmarks/small_catalogs.py [--holdout] [--output benchmarks/small-catalogs.json]

Each labelled intent meets a catalog of 24 tools on several servers that has one of its right tools and none
of the others, and one that has none: the first asks whether the tool is found and not refused, the second
whether the search refuses. No-match intents meet a catalog that knows nothing of them. Needs the model. The
set-aside cases are measured with `--holdout` only, once, and join the open ones in the file.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from discovercall.evals.corpus import DiscoveryCase, default_corpus_folder, load_corpus
from discovercall.foundation.files import write_atomic
from discovercall.gateway.assembly import load_encoder
from discovercall.gateway.catalog import Tool
from discovercall.gateway.discovery import DiscoveryRanker
from discovercall.gateway.encoder import CachingEncoder
from discovercall.statistics.wilson import wilson

TOOLS = 24
NEIGHBOURS = 4
"""Tools of the right tool's own server that come with it."""
PER_SERVER = 3
SEED = 20
OUTPUT = Path(__file__).with_name("small-catalogs.json")


class Catalogs:
    """Draws catalogs of `TOOLS` tools.

    Args:
        tools: the world.
        seed: of the draws.
    """

    def __init__(self, tools: Sequence[Tool], seed: int) -> None:
        self._by_ref = {tool.tool_ref: tool for tool in tools}
        self._by_server: defaultdict[str, list[Tool]] = defaultdict(list)
        for tool in tools:
            self._by_server[tool.server_id].append(tool)
        self._random = random.Random(seed)

    def draw(self, right: str | None, without: Collection[str]) -> list[Tool]:
        """A catalog with one tool, if one is named, and none of some others."""
        chosen = [self._by_ref[right]] if right else []
        taken = {tool.server_id for tool in chosen}
        for tool in list(chosen):
            rest = [other for other in self._by_server[tool.server_id] if other.tool_ref not in without]
            chosen += [other for other in rest if other != tool][:NEIGHBOURS]
        servers = sorted(self._by_server.keys() - taken)
        self._random.shuffle(servers)
        for server in servers:
            chosen += [tool for tool in self._by_server[server] if tool.tool_ref not in without][:PER_SERVER]
        return chosen[:TOOLS]

    def right_tool(self, case: DiscoveryCase) -> str:
        """One of a case's right tools."""
        return self._random.choice(case.acceptable)


def measure(
    cases: Sequence[DiscoveryCase], tools: Sequence[Tool], encoder: CachingEncoder | None
) -> dict[str, Any]:
    """Hits and counts by scope: `top1`, `refused` (of what is there: false) and `refusedWithout`."""
    catalogs = Catalogs(tools, SEED)
    hits: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for case in cases:
        scopes = [case.category] if case.category == "no_match" else ["matchable", case.category]
        seen: dict[str, bool] = {}
        if case.acceptable:
            right = catalogs.right_tool(case)
            others = set(case.acceptable) - {right}
            found = DiscoveryRanker(catalogs.draw(right, others), encoder=encoder).rank(case.intent)
            seen["top1"] = found.entries[0].tool.tool_ref == right
            seen["refused"] = found.decision == "no_good_match"
        without = DiscoveryRanker(catalogs.draw(None, set(case.acceptable)), encoder=encoder)
        seen["refusedWithout"] = without.rank(case.intent).decision == "no_good_match"
        for scope in scopes:
            hits[scope].update({"n": 1, **seen})
    return {scope: _rates(counts) for scope, counts in sorted(hits.items())}


def _rates(counts: Counter[str]) -> dict[str, Any]:
    n = counts["n"]
    names = sorted(name for name in counts if name != "n")
    return {
        "n": n,
        **{name: {"rate": counts[name] / n, "interval": list(wilson(counts[name], n))} for name in names},
    }


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--holdout", action="store_true", help="measure the set-aside cases instead")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    corpus = load_corpus(default_corpus_folder())
    encoder, _ = load_encoder("require", None)
    cases = corpus.holdout if options.holdout else corpus.discovery
    document = json.loads(options.output.read_text()) if options.output.exists() else {}
    document["tools"], document["bank"] = TOOLS, corpus.bank.version
    document["heldOut" if options.holdout else "open"] = {
        "model": measure(cases, corpus.world.tools, encoder),
        "words": measure(cases, corpus.world.tools, None),
    }
    write_atomic(options.output, (json.dumps(document, indent=2, sort_keys=True) + "\n").encode(), mode=0o644)
    return 0


if __name__ == "__main__":
    sys.exit(main())
