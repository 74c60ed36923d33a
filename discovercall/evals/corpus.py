"""Reads a corpus and checks all of it before anything is measured."""

from __future__ import annotations

from pathlib import Path

from discovercall.evals.cases import (
    CATEGORIES,
    KINDS,
    OUTCOMES,
    Category,
    Corpus,
    DiscoveryCase,
    ErgonomicsCase,
    Kind,
    Outcome,
    Scenario,
)
from discovercall.evals.corpus_files import Reader
from discovercall.evals.thresholds import Thresholds
from discovercall.foundation.resources import resource_path

__all__ = [
    "CATEGORIES",
    "KINDS",
    "OUTCOMES",
    "Category",
    "Corpus",
    "DiscoveryCase",
    "ErgonomicsCase",
    "Kind",
    "Outcome",
    "Scenario",
    "Thresholds",
    "corpus_problems",
    "default_corpus_folder",
    "load_corpus",
]


def default_corpus_folder() -> Path:
    """Where the corpus that comes with the toolkit lies."""
    return resource_path("tasks", "gateway")


def load_corpus(folder: Path) -> Corpus:
    """Read and check a corpus: `catalog/world.json`, `discovery/*.jsonl`, and what else is there.

    Args:
        folder: see tasks/gateway/README.md for its shape.

    Raises:
        InputError: for the first problem; names the file, the line or case, and the field.
    """
    reader = Reader(folder)
    corpus = reader.read()
    if corpus is None or reader.problems:
        raise reader.problems[0]
    return corpus


def corpus_problems(folder: Path) -> list[str]:
    """Everything that is wrong with a corpus, in the order of its files; empty for a sound one."""
    reader = Reader(folder)
    reader.read()
    return [str(problem) for problem in reader.problems]
