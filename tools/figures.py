"""Recomputes every figure of the documents from committed files.

    python -m tools.figures [--check]

Rewrites the documents; with `--check` nothing is written, and the exit status is 1 when a figure is not what
the files give, or when something looks like a measurement and nobody says where it is from. In a document,

    <!-- figures: NAME -->
    …
    <!-- /figures -->

holds what `figure_sources.BLOCKS[NAME]` gives. Figures in prose are groups of a pattern in
`figure_sources.SENTENCES`; whole generated files are in `figure_sources.PAGES`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.figure_sources import BLOCKS, GIVEN, PAGES, SENTENCES, Sentence

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("README.md", "METHODOLOGY.md", "results/README.md", "docs/*.md")
_BLOCK = re.compile(r"(<!-- figures: ([\w-]+) -->\n).*?(\n<!-- /figures -->)", re.DOTALL)
# Code in fences, in lines that are indented and within a line, and targets of links tell no measurements.
_NO_PROSE = re.compile(r"```.*?```|^    [^\n]*$|`[^`\n]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)
_MEASUREMENT = re.compile(
    r"(?<![\w.,/-])[-+]?\d[\d,]*(?:\.\d+)?(?:\s?%|\s(?:ms|s|MB|GB|MiB|kB|µs|times|percent)\b)"
    r"|(?<![\w.])[-+]?\d*\.\d\d+(?!\w|\.\d)|\b\d+ of \d+\b"
)


class FigureError(Exception):
    """A document that can't be recomputed: names document and figure."""


def recomputed(root: Path, name: str, text: str) -> str:
    """A document with all its figures as the committed files give them.

    Args:
        root: the repository's top.
        name: the document's path from there.
        text: its text.

    Raises:
        FigureError: an unknown block, or a registered sentence that is not there.
    """

    def block(found: re.Match[str]) -> str:
        if found[2] not in BLOCKS:
            raise FigureError(f"{name}: nothing computes the block {found[2]!r}")
        return found[1] + BLOCKS[found[2]](root) + found[3]

    if text.count("<!-- figures:") != len(_BLOCK.findall(text)):
        raise FigureError(f"{name}: a block of figures has no line between its marks, or no end")
    text = _BLOCK.sub(block, text)
    for sentence in SENTENCES.get(name, ()):
        text = _with_figures(root, name, text, sentence)
    return text


def _with_figures(root: Path, name: str, text: str, sentence: Sentence) -> str:
    places = list(re.finditer(sentence.pattern, text, re.MULTILINE))
    if not places:
        raise FigureError(f"{name}: no text fits {sentence.pattern!r}")
    for found in reversed(places):
        values = sentence.compute(root, found)
        for group, value in reversed(list(enumerate(values, 1))):
            text = text[: found.start(group)] + value + text[found.end(group) :]
    return text


def unexplained(name: str, text: str) -> Iterator[str]:
    """What looks like a measurement outside of blocks, sentences and what is given by definition."""
    text = _BLOCK.sub("", text)
    for sentence in SENTENCES.get(name, ()):
        text = re.sub(sentence.pattern, "", text, flags=re.MULTILINE)
    text = _NO_PROSE.sub("", text)
    for phrase in (*GIVEN["*"], *GIVEN.get(name, ())):
        text = text.replace(phrase, "")
    for line in text.splitlines():
        for found in _MEASUREMENT.finditer(line):
            yield f"{name}: nobody says where {found[0].strip()!r} is from: {line.strip()[:90]}"


def documents(root: Path) -> Iterator[tuple[str, str]]:
    """Name and text of each document; those that are generated whole are left out."""
    for pattern in DOCUMENTS:
        for path in sorted(root.glob(pattern)):
            name = path.relative_to(root).as_posix()
            if name not in PAGES:
                yield name, path.read_text(encoding="utf-8")


def changes(root: Path) -> dict[str, tuple[str, str]]:
    """Old and new text of every document whose figures are not what the files give.

    Raises:
        FigureError: a document can't be recomputed.
    """
    found = {name: (text, recomputed(root, name, text)) for name, text in documents(root)}
    for name, compute in PAGES.items():
        path = root / name
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if (page := compute(root)) is not None:
            found[name] = (text, page)
    return {name: texts for name, texts in found.items() if texts[0] != texts[1]}


def problems(root: Path) -> list[str]:
    """Everything that `--check` complains of."""
    try:
        stale = changes(root)
    except FigureError as error:
        return [str(error)]
    found = [f"{name}: {line}" for name, texts in stale.items() for line in _differences(*texts)]
    for name, text in documents(root):
        found += unexplained(name, text)
    return found


def _differences(old: str, new: str) -> Iterator[str]:
    left, right = old.splitlines(), new.splitlines()
    if len(left) != len(right):
        yield f"has {len(left)} lines, recomputed {len(right)}"
    for number, (before, after) in enumerate(zip(left, right, strict=False), 1):
        if before != after:
            yield f"line {number} says {before!r}, the files give {after!r}"


def main() -> int:
    """Rewrite the documents, or check them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not options.check:
        for name, (_, text) in changes(ROOT).items():
            (ROOT / name).write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    found = problems(ROOT)
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
