"""What a request gives away beside its topic: a server it names or rules out, whether it asks or commands,
and typed values that some argument takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from discovercall.gateway.catalog import Tool, properties_of
from discovercall.gateway.lexical import tokenize
from discovercall.gateway.words import split_camel, word_list

ASKING = word_list("asking")
COMMANDING = word_list("commanding")
READING = word_list("reading")
CHANGING = COMMANDING - {"open", "log", "file", "record", "text", "order", "book", "play", "label", "let"}
_LEAD_INS = re.compile(
    r"^\W*(?:(?:please|kindly|hey|hi|hello|ok|okay|so|also|now|then|just|can|could|would|will|you|i|i'd|we|"
    r"want|need|like|to|help|me|us|let's|go|ahead|and|for|quickly|try)\b[\s,!]*)+",
    re.IGNORECASE,
)
_GIVE_TO_ME = re.compile(r"^(?:tell|give|let)\s+(?:me|us)\b", re.IGNORECASE)
_RULING_OUT = re.compile(
    r"\b(?:not|rather than|instead of|except(?: for)?|without|other than|don't use|do not use)\b"
)
_CLAUSE_END = re.compile(r"[.;:!?,]|\b(?:but|and then|then|use|please)\b")
_RULED_WORDS = 6
_GENERIC_ID_WORDS = frozenset(["mcp", "server", "api", "service", "tools", "app"])
_MAX_ID_WORDS = 4


@dataclass(frozen=True, slots=True)
class ServerCue:
    """Servers that a request names, and those among them that it rules out."""

    named: frozenset[str]
    ruled_out: frozenset[str]


class ServerNames:
    """Finds the servers of a catalog in requests, also where an id is written apart or together."""

    def __init__(self, server_ids: Iterable[str]) -> None:
        self._by_key: dict[str, set[str]] = {}
        for server_id in server_ids:
            words = tokenize(split_camel(server_id))
            own = [word for word in words if word not in _GENERIC_ID_WORDS] or words
            for key in {"".join(words), "".join(own)} - {""}:
                self._by_key.setdefault(key, set()).add(server_id)

    def cue(self, query: str) -> ServerCue:
        """What a request says of servers."""
        text = query.lower().replace("’", "'")
        ruled: set[str] = set()
        rest = []
        position = end = 0
        for trigger in _RULING_OUT.finditer(text):
            if trigger.start() < position:
                continue
            if end < trigger.end():  # else the clause that this one stands in is known
                stop = _CLAUSE_END.search(text, trigger.end())
                end = stop.start() if stop else len(text)
            found = self._named(_first_words(text, trigger.end(), end))
            if found:
                ruled |= found
                rest.append(text[position : trigger.start()])
                position = end
        rest.append(text[position:])
        named = self._named(tokenize(" ".join(rest)))
        return ServerCue(frozenset(named - ruled), frozenset(ruled))

    def _named(self, words: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for start in range(len(words)):
            for end in range(start + 1, min(len(words), start + _MAX_ID_WORDS) + 1):
                found |= self._by_key.get("".join(words[start:end]), set())
        return found


def _first_words(text: str, start: int, end: int) -> list[str]:
    """The first words between two places, without reading on to a far end."""
    width = 64
    while True:
        words = tokenize(text[start : min(end, start + width)])
        # One word more than needed: the last one may be cut.
        if len(words) > _RULED_WORDS or start + width >= end:
            return words[:_RULED_WORDS]
        width *= 2


def request_mood(query: str) -> int:
    """+1 for a request that asks, -1 for one that commands, 0 where it does not say."""
    text = _LEAD_INS.sub("", query)
    if _GIVE_TO_ME.match(text):
        return 1
    words = tokenize(text)
    if not words:
        return 0
    if words[0] in ASKING or query.rstrip().endswith("?"):
        return 1
    return -1 if words[0] in COMMANDING or words[0] == "tell" else 0


def tool_effect(tool: Tool) -> int:
    """+1 for a tool that reads, -1 for one that changes something, 0 where nothing tells."""
    if tool.read_only or "read-only" in tool.description.lower():
        return 1
    for word in tokenize(split_camel(tool.name)):
        if word in CHANGING:
            return -1
        if word in READING:
            return 1
    return 0


@dataclass(frozen=True, slots=True)
class _ValueKind:
    pattern: re.Pattern[str]
    properties: frozenset[str]


def _kind(pattern: str, properties: str) -> _ValueKind:
    return _ValueKind(re.compile(pattern), frozenset(properties.split()))


# A request may be long, so that no pattern may read on to its end from each of its places. Only whether
# a value is there counts: a pattern need not find where one begins.
VALUE_KINDS: Mapping[str, _ValueKind] = {
    "path": _kind(
        r"(?:^|\s)(?:~|\.{1,2})?/[\w.~-]+(?:/[\w.~-]+)*|\w-*(?:/-+)*\.(?:csv|doc|docx|html|ini|java|js|"
        r"json|log|md|pdf|png|py|rs|sh|toml|ts|txt|xlsx?|xml|ya?ml|zip)\b",
        "path paths file filename filepath dir directory folder",
    ),
    "issue key": _kind(r"\b[A-Z][A-Z0-9]+-\d+\b", "issue key ticket issuekey"),
    "channel": _kind(r"(?:^|\s)#[a-z][\w-]+", "channel channels room"),
    "mail address": _kind(r"\w[.+-]*@[\w-]+\.[\w-]", "email mail to recipient recipients cc address"),
    "symbol": _kind(
        r"\b\w+\(\)|\b[a-z][a-z0-9]*[A-Z]|\b[a-z]+_[a-z_]+\b", "symbol function class identifier"
    ),
    "repository": _kind(
        r"(?<![\w/.])[A-Za-z](?:\w|-(?![A-Za-z]))*+/[A-Za-z][\w.-]*(?![\w/])", "repo repository owner"
    ),
    "time": _kind(
        r"\b\d{1,2}:\d{2}\b|\b\d{1,2}\s?(?:am|pm)\b|\b\d{4}-\d{2}-\d{2}\b",
        "time date datetime start end since until when day at",
    ),
    "url": _kind(r"\bhttps?://\S+", "url urls uri link"),
}


def value_kinds(query: str) -> frozenset[str]:
    """The kinds of typed values in a request."""
    return frozenset(name for name, kind in VALUE_KINDS.items() if kind.pattern.search(query))


def accepted_kinds(tool: Tool) -> frozenset[str]:
    """The kinds of typed values that some property of a tool takes, by the words of its name."""
    words: set[str] = set()
    for name in properties_of(tool.input_schema):
        words.update(tokenize(split_camel(name)))
    return frozenset(name for name, kind in VALUE_KINDS.items() if words & kind.properties)
