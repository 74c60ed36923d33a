"""Speed and memory of the gateway's search on large catalogs.

    python benchmarks/gateway_scale.py [--runs 200] [--sizes 100 1000] [--hybrid]

Prints one JSON object per catalog size. The searched catalog is made up: verbs times objects times servers.
With --hybrid requests are embedded by the real model, and tools have random unit vectors: ranking costs the
same, and encoding 50,000 texts is timed on a sample instead. Beside wall time stands the CPU time of the
searching thread, which a busy machine changes less.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from discovercall.gateway.broker import Broker
from discovercall.gateway.catalog import Server, Tool
from discovercall.gateway.discovery import DiscoveryRanker
from discovercall.gateway.encoder import DIMENSIONS, CachingEncoder, MiniLmEncoder
from discovercall.gateway.store import Catalog

SIZES = (100, 1_000, 10_000, 40_000)
HYBRID_SIZES = (100, 10_000)
WORDS = {
    "verbs": "get list search create update delete send export import sync archive restore share approve",
    "adjectives": "recent archived shared internal public weekly draft overdue pinned external nightly",
    "objects": """
    invoice ticket message channel page report customer order product shipment branch commit build
    deployment alert metric trace user role permission file folder bucket queue topic table row column
    dashboard chart contract lead deal campaign survey form event meeting room recording transcript
    image  video song playlist recipe flight hotel booking payment refund subscription plan balance
    transfer
    """,
}
VERBS, ADJECTIVES, OBJECTS = (text.split() for text in WORDS.values())
REQUESTS = [
    "send a message to the team about the new release",
    "which invoices are overdue for this customer",
    "create a draft report of last week's metrics",
    "how do I restore the archived folder",
    "list all shared dashboards of the sales team",
    "refund the payment of order 1182",
    "find the recording of yesterday's meeting",
    "give Anna the permission to approve deployments",
    "zzzz nothing of that kind",
    "book a hotel room in Lisbon for two nights, not with server17",
]


def catalog(size: int) -> Catalog:
    source = random.Random(size)
    made = Catalog()
    servers = max(4, size // 12)
    for number in range(servers):
        made.put_server(Server(f"server{number}"))
    tools = []
    for number in range(size):
        verb, noun = source.choice(VERBS), source.choice(OBJECTS)
        other, kind = source.choice(OBJECTS), source.choice(ADJECTIVES)
        name = f"{verb}_{kind}_{noun}_{number}"
        properties = {
            f"{noun}_id": {"type": "string", "description": f"Which {noun}"},
            "limit": {"type": "integer"},
        }
        tools.append(
            Tool(
                tool_ref=f"server{number % servers}.{name}",
                server_id=f"server{number % servers}",
                name=name,
                title=f"{verb.title()} {kind.title()} {noun.title()}",
                description=f"{verb.title()} a {kind} {noun}, with its {other} and all that hangs on it.",
                input_schema={"type": "object", "properties": properties, "required": [f"{noun}_id"]},
                read_only=verb in ("get", "list", "search", "export"),
            )
        )
    made.put_tools(tools)
    return made


class RandomVectors:
    """Random unit vectors for tools and bank; the real model for requests."""

    def __init__(self, model: MiniLmEncoder) -> None:
        self.model = model
        self.identity = "random"
        self.indexing = True
        self._source = np.random.default_rng(1)

    def encode(self, texts: Any) -> Any:
        if not self.indexing:
            return self.model.encode(texts)
        rows = self._source.standard_normal((len(texts), DIMENSIONS)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def timed(find: Callable[[str], object], runs: int) -> dict[str, float]:
    for request in REQUESTS:
        find(request)
    wall, cpu = [], []
    for number in range(runs):
        started, worked = time.perf_counter(), time.thread_time()
        find(f"{REQUESTS[number % len(REQUESTS)]} {number}")
        wall.append((time.perf_counter() - started) * 1000)
        cpu.append((time.thread_time() - worked) * 1000)
    figures = {"runs": float(runs)}
    for name, taken in (("", wall), ("Cpu", cpu)):
        taken.sort()
        figures[f"p50{name}Ms"] = round(nearest_rank(taken, 50), 3)
        figures[f"p95{name}Ms"] = round(nearest_rank(taken, 95), 3)
    return figures


def nearest_rank(ordered: list[float], percent: int) -> float:
    return ordered[max(0, -(-percent * len(ordered) // 100) - 1)]


def measure(
    size: int, runs: int, encoder: CachingEncoder | None = None, model: RandomVectors | None = None
) -> None:
    made = catalog(size)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    ranker = DiscoveryRanker(made.tools(), encoder=encoder)
    build = time.perf_counter() - started
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if model is not None:
        model.indexing = False
    broker = Broker(made, ranker=lambda tools: ranker)
    result = {
        "tools": size,
        "leg": "hybrid" if encoder else "lexical",
        "find": timed(broker.find, runs),
        "rank": timed(lambda query: broker.rank(query, limit=5), runs),
        "indexBuildS": round(build, 3),
        "indexPeakGrowthMiB": round(grown / 1024, 1),
    }
    print(json.dumps(result), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--hybrid", action="store_true")
    options = parser.parse_args()
    if not options.hybrid:
        for size in options.sizes:
            measure(size, options.runs)
        return
    started = time.perf_counter()
    model = MiniLmEncoder()
    loaded = time.perf_counter() - started
    texts = [f"{tool.title}. {tool.description}" for tool in catalog(100).tools()]
    started = time.perf_counter()
    model.encode(texts)
    per_text = (time.perf_counter() - started) / len(texts)
    print(
        json.dumps({"modelLoadS": round(loaded, 3), "encodeMsPerText": round(per_text * 1000, 3)}), flush=True
    )
    for size in HYBRID_SIZES:
        vectors = RandomVectors(model)
        measure(size, options.runs, CachingEncoder(vectors), vectors)


if __name__ == "__main__":
    main()
