"""Made-up but repeatable results: the same tool and arguments give the same JSON, without network or clock.

Nothing in a result is true of the world; each says so. Its shape follows what the tool is about, so that
readers of a rehearsal see something that looks like a real answer.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discovercall.foundation.json_text import compact_bytes
from discovercall.gateway.catalog import Tool
from discovercall.gateway.lexical import tokenize

NOTICE = "synthetic result of the embedded gateway; not real data"
_Maker = Callable[[random.Random], Any]
_WORDS = [
    "amber",
    "bridge",
    "canyon",
    "delta",
    "ember",
    "field",
    "garden",
    "harbor",
    "island",
    "juniper",
    "kernel",
    "lantern",
    "meadow",
    "north",
    "orchard",
    "pebble",
    "quarry",
    "river",
    "summit",
    "timber",
    "umbra",
    "valley",
    "willow",
    "yarrow",
    "zephyr",
]
_SHOWN_ARGUMENT = 200  # characters of an argument that a result repeats


def _number(low: float, high: float, digits: int = 2) -> _Maker:
    return lambda source: round(source.uniform(low, high), digits)


def _whole(low: int, high: int) -> _Maker:
    return lambda source: source.randint(low, high)


def _choice(*values: Any) -> _Maker:
    return lambda source: source.choice(values)


def _phrase(count: int) -> _Maker:
    return lambda source: " ".join(source.sample(_WORDS, count)).capitalize()


def _date(source: random.Random) -> str:
    return f"2025-{source.randint(1, 12):02d}-{source.randint(1, 28):02d}"


def _moment(source: random.Random) -> str:
    return f"{_date(source)}T{source.randint(0, 23):02d}:{source.randint(0, 59):02d}:00Z"


def _url(source: random.Random) -> str:
    return f"https://example.org/{source.choice(_WORDS)}/{source.randint(1000, 9999)}"


def _identifier(source: random.Random) -> str:
    return f"{source.getrandbits(40):010x}"


@dataclass(frozen=True, slots=True)
class _Family:
    """Results about one subject: the words that tell it, the list's name, how many, and each member."""

    words: frozenset[str]
    collection: str
    most: int
    members: Mapping[str, _Maker]


def _family(words: str, collection: str, most: int, **members: _Maker) -> _Family:
    return _Family(frozenset(words.split()), collection, most, members)


_FAMILIES: Sequence[_Family] = (
    _family("holiday holidays calendar", "days", 4, date=_date, name=_phrase(2), open=_choice(True, False)),
    _family(
        "weather forecast climate timeline",
        "days",
        5,
        date=_date,
        temperature_c=_number(-8, 34, 1),
        humidity=_whole(30, 95),
        summary=_choice("clear", "cloudy", "light rain", "windy"),
    ),
    _family(
        "pollution air quality", "readings", 2, aqi=_whole(1, 5), pm2_5=_number(2, 60), o3=_number(10, 120)
    ),
    _family(
        "news articles headlines",
        "articles",
        5,
        title=_phrase(5),
        source=_phrase(2),
        published_at=_moment,
        url=_url,
    ),
    _family(
        "paper papers academic scholarly citations",
        "papers",
        4,
        title=_phrase(6),
        year=_whole(2005, 2025),
        citations=_whole(0, 900),
        doi=lambda source: f"10.5555/{_identifier(source)}",
    ),
    _family(
        "exchange currency conversion forex", "rates", 1, rate=_number(0.2, 3, 5), amount=_number(1, 900)
    ),
    _family(
        "crypto cryptocurrency coin ticker", "prices", 1, price=_number(0.1, 90000), change=_number(-9, 9)
    ),
    _family(
        "stock quote equity shares market",
        "quotes",
        1,
        price=_number(5, 900),
        change_percent=_number(-5, 5),
        volume=_whole(1000, 9_000_000),
    ),
    _family(
        "geocode geocoding address coordinates place",
        "matches",
        2,
        latitude=_number(-80, 80, 5),
        longitude=_number(-180, 180, 5),
        label=_phrase(3),
        score=_number(0.6, 1),
    ),
    _family(
        "ip domain whois dns certificate",
        "records",
        2,
        owner=_phrase(2),
        country=_choice("CA", "DE", "JP", "NL", "US"),
        asn=_whole(1000, 65000),
        reputation=_whole(0, 100),
        created=_date,
    ),
    _family(
        "earthquake earthquakes seismic",
        "events",
        4,
        magnitude=_number(2.5, 7, 1),
        depth_km=_number(1, 300, 1),
        place=_phrase(3),
        time=_moment,
    ),
    _family(
        "standings league fixtures teams sports match",
        "table",
        6,
        rank=_whole(1, 20),
        team=_phrase(2),
        played=_whole(0, 38),
        points=_whole(0, 99),
    ),
    _family(
        "company filings fundamentals profile",
        "companies",
        1,
        name=_phrase(2),
        sector=_phrase(1),
        employees=_whole(20, 150_000),
        founded=_whole(1900, 2020),
    ),
    _family(
        "image images photo photos video videos",
        "media",
        5,
        title=_phrase(3),
        url=_url,
        width=_whole(320, 4000),
        height=_whole(240, 3000),
    ),
    _family(
        "timezone time zone",
        "zones",
        1,
        utc_offset_minutes=_choice(-300, 0, 60, 330, 540),
        dst=_choice(True, False),
    ),
)
_OTHER = _family("", "items", 4, id=_identifier, title=_phrase(4), url=_url, updated_at=_moment)


def synthesize(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a call, never empty.

    Args:
        tool: the tool that is called.
        arguments: valid arguments; they seed the result together with the tool's reference.
    """
    seed = hashlib.sha256(tool.tool_ref.encode() + b"\0" + compact_bytes(dict(arguments))).digest()
    source = random.Random(int.from_bytes(seed, "big"))  # noqa: S311 - made-up values, nothing secret
    family = _family_of(tool)
    count = source.randint(1, family.most)
    return {
        "request": {name: _shown(value) for name, value in arguments.items()},
        family.collection: [
            {name: make(source) for name, make in family.members.items()} for _ in range(count)
        ],
        "notice": NOTICE,
    }


def _family_of(tool: Tool) -> _Family:
    """The family that shares most words with the tool's title, name and description."""
    words = [*tokenize(tool.title) * 2, *tokenize(tool.name), *tokenize(tool.description)]
    best = max(_FAMILIES, key=lambda family: sum(word in family.words for word in words))
    return best if any(word in best.words for word in words) else _OTHER


def _shown(value: Any) -> Any:
    """Primitive arguments are repeated; of anything larger only the kind."""
    if isinstance(value, str):
        return value[:_SHOWN_ARGUMENT]
    if isinstance(value, (dict, list)):
        return f"{len(value)} entries"
    return value
