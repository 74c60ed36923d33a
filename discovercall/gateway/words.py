"""The words of a text as the better search sees them: split, lowered, without function words, stemmed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from discovercall.gateway.lexical import tokenize
from discovercall.gateway.stemming import stem

_LISTS = tomllib.loads(Path(__file__).with_name("data").joinpath("words.toml").read_text("utf-8"))


def word_list(name: str) -> frozenset[str]:
    """A list of `data/words.toml`."""
    return frozenset(_LISTS[name].split())


FUNCTION_WORDS = word_list("function_words")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def split_camel(text: str) -> str:
    """`getIssueById` as `get Issue By Id`."""
    return _CAMEL.sub(" ", text)


def terms(text: str) -> list[str]:
    """Stems of a text's content words, in order and with repetitions."""
    return [stem(word) for word in tokenize(split_camel(text)) if word not in FUNCTION_WORDS]


def name_words(name: str) -> str:
    """A tool's name as words: `search_pages.v2` as `search pages v2`."""
    return " ".join(tokenize(split_camel(name)))
