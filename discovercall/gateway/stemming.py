"""The English stemmer of the Snowball project ("Porter2"), from its published description.

Source of the rules: M. F. Porter, "The English (Porter2) stemming algorithm", Snowball project, 2001.
"""

from __future__ import annotations

import re
from functools import lru_cache

_VOWELS = "aeiouy"
_DOUBLES = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")
_LI_ENDINGS = "cdeghkmnrt"
_EXCEPTIONS = {
    "skis": "ski",
    "skies": "sky",
    "idly": "idl",
    "gently": "gentl",
    "ugly": "ugli",
    "early": "earli",
    "only": "onli",
    "singly": "singl",
    "sky": "sky",
    "news": "news",
    "howe": "howe",
    "atlas": "atlas",
    "cosmos": "cosmos",
    "bias": "bias",
    "andes": "andes",
}
_KEPT_AFTER_PLURAL = frozenset(
    ["inning", "outing", "canning", "herring", "earring", "evening", "proceed", "exceed", "succeed"]
)
_STEP_2 = (
    ("ization", "ize"),
    ("ational", "ate"),
    ("ousness", "ous"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("tional", "tion"),
    ("lessli", "less"),
    ("biliti", "ble"),
    ("entli", "ent"),
    ("ation", "ate"),
    ("alism", "al"),
    ("aliti", "al"),
    ("fulli", "ful"),
    ("ousli", "ous"),
    ("iviti", "ive"),
    ("ogist", "og"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("abli", "able"),
    ("izer", "ize"),
    ("ator", "ate"),
    ("alli", "al"),
    ("bli", "ble"),
    ("ogi", "og"),
    ("li", ""),
)
_STEP_3 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("alize", "al"),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ative", ""),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
)
_STEP_4 = (
    "ement",
    "ance",
    "ence",
    "able",
    "ible",
    "ment",
    "ant",
    "ent",
    "ism",
    "ate",
    "iti",
    "ous",
    "ive",
    "ize",
    "ion",
    "al",
    "er",
    "ic",
)
_REGION = re.compile(f"[{_VOWELS}][^{_VOWELS}]")
_FIRST_REGION = re.compile("(?:gener|commun|arsen|past|univers|later|emerg|organ|inter)")
_SHORT_END = re.compile(f"(?:(?:^|.*[^{_VOWELS}])[{_VOWELS}][^{_VOWELS}wxY]|^[{_VOWELS}][^{_VOWELS}]|past)$")


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of a lower-case word; words under three letters and those in other scripts stay."""
    if len(word) < 3 or not word.isascii():
        return word
    if word in _EXCEPTIONS:
        return _EXCEPTIONS[word]
    word = re.sub(rf"(^|[{_VOWELS}])y", r"\1Y", word.removeprefix("'"))
    first, second = _regions(word)
    word = _plural(word)
    if word.lower() in _KEPT_AFTER_PLURAL:
        return word.lower()
    word = _past(word, first)
    if len(word) > 2 and word[-1] in "yY" and word[-2] not in _VOWELS:
        word = word[:-1] + "i"
    word = _replace(word, _STEP_2, first, second)
    word = _replace(word, _STEP_3, first, second)
    word = _drop(word, second)
    return _final(word, first, second).lower()


def _regions(word: str) -> tuple[int, int]:
    """Where the regions R1 and R2 begin."""
    special = _FIRST_REGION.match(word)
    found = special or _REGION.search(word)
    first = found.end() if found else len(word)
    again = _REGION.search(word, first)
    return first, again.end() if again else len(word)


def _plural(word: str) -> str:
    for ending in ("'s'", "'s", "'"):
        if word.endswith(ending):
            word = word[: -len(ending)]
            break
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith(("us", "ss")) or not word.endswith("s"):
        return word
    return word[:-1] if any(letter in _VOWELS for letter in word[:-2]) else word


def _past(word: str, first: int) -> str:
    for ending in ("eedly", "eed"):
        if word.endswith(ending):
            return word[: -len(ending)] + "ee" if len(word) - len(ending) >= first else word
    for ending in ("ingly", "edly", "ing", "ed"):
        if not word.endswith(ending):
            continue
        base = word[: -len(ending)]
        if ending == "ing" and re.fullmatch(f"[^{_VOWELS}]y", base):
            return base[:-1] + "ie"
        if not any(letter in _VOWELS for letter in base):
            return word
        if base.endswith(("at", "bl", "iz")):
            return base + "e"
        if base.endswith(_DOUBLES):
            return base if len(base) == 3 and base[0] in "aeo" else base[:-1]
        return base + "e" if len(base) <= first and _SHORT_END.match(base) else base
    return word


def _replace(word: str, table: tuple[tuple[str, str], ...], first: int, second: int) -> str:
    for ending, new in table:
        if not word.endswith(ending):
            continue
        base = word[: -len(ending)]
        if len(base) < (second if ending == "ative" else first):
            return word
        if ending == "ogi" and not base.endswith("l"):
            return word
        if ending == "li" and base[-1:] not in _LI_ENDINGS:
            return word
        return base + new
    return word


def _drop(word: str, second: int) -> str:
    for ending in _STEP_4:
        if word.endswith(ending):
            base = word[: -len(ending)]
            if len(base) < second or (ending == "ion" and base[-1:] not in ("s", "t")):
                return word
            return base
    return word


def _final(word: str, first: int, second: int) -> str:
    if word.endswith("e"):
        base = word[:-1]
        if len(base) >= second or (len(base) >= first and not _SHORT_END.match(base)):
            return base
    elif word.endswith("ll") and len(word) - 1 >= second:
        return word[:-1]
    return word
