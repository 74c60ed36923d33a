"""Turns text into the word-piece numbers that the embedding model reads.

The uncased scheme of Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers" (NAACL 2019):
clean, lower, strip accents, split at spaces and punctuation, then longest-match-first pieces.
"""

from __future__ import annotations

import gzip
import unicodedata
from functools import cache
from pathlib import Path

from discovercall.foundation.digests import sha256_hex

VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
_PATH = Path(__file__).with_name("data") / "wordpiece-vocab.txt.gz"
_MAX_WORD = 100  # characters; a longer word is unknown
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """The tokenizer; use `wordpiece()` for the shared one.

    Args:
        vocabulary: pieces in the order of their numbers; continuations begin with "##".
    """

    def __init__(self, vocabulary: list[str]) -> None:
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self._unknown = self._numbers["[UNK]"]
        self._start, self._end = self._numbers["[CLS]"], self._numbers["[SEP]"]

    def encode(self, text: str, *, max_length: int = 256) -> list[int]:
        """Numbers with the start and end marks, at most `max_length` of them."""
        numbers: list[int] = []
        for word in _words(text):
            numbers += self._pieces(word)
            if len(numbers) >= max_length - 2:
                break
        return [self._start, *numbers[: max_length - 2], self._end]

    def _pieces(self, word: str) -> list[int]:
        if len(word) > _MAX_WORD:
            return [self._unknown]
        numbers, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                number = self._numbers.get(word[start:end] if start == 0 else f"##{word[start:end]}")
                if number is not None:
                    break
            else:
                return [self._unknown]
            numbers.append(number)
            start = end
        return numbers


@cache
def wordpiece() -> WordPiece:
    """The tokenizer over the vocabulary that travels with the code.

    Raises:
        ValueError: the vocabulary is not the pinned one.
    """
    data = gzip.decompress(_PATH.read_bytes())
    if sha256_hex(data) != VOCABULARY_SHA256:
        raise ValueError(f"{_PATH.name} does not have the pinned SHA-256")
    return WordPiece(data.decode("utf-8").split("\n")[:-1])


def _words(text: str) -> list[str]:
    spaced = []
    for character in text:
        category = unicodedata.category(character)
        if character in "\t\n\r" or category == "Zs":
            spaced.append(" ")
        elif character in "\0\ufffd" or category in ("Cc", "Cf", "Co", "Cs"):
            continue
        elif _is_ideograph(ord(character)):
            spaced.append(f" {character} ")
        else:
            spaced.append(character)
    words: list[str] = []
    for word in "".join(spaced).split():
        words += _split_at_punctuation(_without_marks(word.lower()))
    return words


def _without_marks(word: str) -> str:
    if word.isascii():
        return word
    # Letter by letter: ordering the marks of one that has thousands takes the square of their number.
    apart = (part for letter in word for part in unicodedata.normalize("NFD", letter))
    return "".join(part for part in apart if unicodedata.category(part) != "Mn")


def _split_at_punctuation(word: str) -> list[str]:
    if word.isalnum():
        return [word]
    return "".join(f" {c} " if _is_punctuation(c) else c for c in word).split()


def _is_punctuation(character: str) -> bool:
    if character.isascii():
        return not character.isalnum() and character.isprintable() and character != " "
    return unicodedata.category(character).startswith("P")


def _is_ideograph(point: int) -> bool:
    return point >= 0x3400 and any(low <= point <= high for low, high in _IDEOGRAPHS)
