"""Random values that a strict schema accepts: what a model held to it could answer."""

import random
from typing import Any


def value_for(schema: dict[str, Any], source: random.Random) -> Any:
    if "anyOf" in schema:
        return value_for(source.choice(schema["anyOf"]), source)
    if "enum" in schema:
        return source.choice(schema["enum"])
    declared = schema["type"]
    kind = source.choice(declared) if isinstance(declared, list) else declared
    if kind == "object":
        return {name: value_for(child, source) for name, child in schema["properties"].items()}
    if kind == "array":
        least = schema.get("minItems", 0)
        count = source.randint(least, min(least + 2, schema.get("maxItems", least + 2)))
        return [value_for(schema["items"], source) for _ in range(count)]
    if kind in ("integer", "number"):
        return _number(schema, source)
    if kind == "string":
        formats = {
            "date": "2025-03-01",
            "date-time": "2025-03-01T10:00:00Z",
            "time": "10:00:00Z",
            "email": "a@example.org",
            "uuid": "0b7d6b0a-58a5-4f3e-9d55-4c1f7b0a4f11",
            "hostname": "example.org",
            "ipv4": "192.0.2.1",
            "ipv6": "2001:db8::1",
            "duration": "P1D",
        }
        return formats.get(schema.get("format", ""), source.choice(["", "text", "Ünïcode text"]))
    return {"boolean": source.random() < 0.5, "null": None}[kind]


def _number(schema: dict[str, Any], source: random.Random) -> int:
    low = schema.get("minimum", schema.get("exclusiveMinimum", -5) + 1)
    high = schema.get("maximum", schema.get("exclusiveMaximum", max(low, 0) + 11) - 1)
    return source.randint(int(low), int(high))
