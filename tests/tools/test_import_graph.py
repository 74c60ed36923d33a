"""The picture of the architecture is that of the source."""

from __future__ import annotations

import pytest

from tools import import_graph
from tools.house import LAYERS, edges


def test_the_picture_is_current() -> None:
    assert import_graph.PICTURE.read_text(encoding="utf-8") == import_graph.draw(), "make graph"


def test_every_package_and_every_import_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    svg = import_graph.draw()
    assert all(f">{name}</text>" in svg for name in sum(LAYERS, ()))
    assert svg.count("<title>") == len(edges())
    monkeypatch.setattr(import_graph, "edges", lambda: edges() - {("cli", "contract")})
    assert import_graph.draw() != svg
