"""The citation names the version that is installed."""

from __future__ import annotations

from pathlib import Path

import yaml  # type: ignore[import-untyped]

import discovercall

ROOT = Path(__file__).resolve().parents[2]


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == discovercall.__version__
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
