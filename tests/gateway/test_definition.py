"""The digest of what a run over MCP servers is planned with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.one_server import SERVER, configure, digest, index


@pytest.mark.parametrize(
    "changed",
    [
        SERVER | {"command": "/bin/two"},
        SERVER | {"args": ["b"]},
        SERVER | {"args": []},
        SERVER | {"env": {"OTHER": "${SECRET}"}},
        SERVER | {"cwd": "elsewhere"},
        SERVER | {"enabled": False},
        {"url": "http://127.0.0.1:1/mcp"},
        {"url": "http://127.0.0.1:1/mcp", "headers": {"X-Key": "k"}},
    ],
)
def test_the_digest_tells_other_servers(tmp_path: Path, changed: dict[str, Any]) -> None:
    before = digest(configure(tmp_path))
    assert digest(configure(tmp_path)) == before
    assert digest(configure(tmp_path, changed)) != before


def test_the_digest_tells_another_place_setting_and_index(tmp_path: Path) -> None:
    path = configure(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    before = digest(path)
    found = {before, digest(configure(other))}
    found.add(digest(configure(tmp_path, more="[budgets]\nmax_results = 2\n")))
    configure(tmp_path)
    index(path, description="List none.")
    found.add(digest(path))
    path.with_name("gateway.index.json").write_text("{")
    found.add(digest(path))
    path.with_name("gateway.index.json").unlink()
    found.add(digest(path))
    assert len(found) == 6
    index(path, at=2)
    assert digest(path) == before, "the same tools, read again"


def test_values_of_secrets_are_not_part_of_the_digest(tmp_path: Path) -> None:
    path = configure(tmp_path)
    assert digest(path) == digest(path, SECRET="s-1") == digest(path, SECRET="s-2")
    address = {"url": "http://127.0.0.1:1/mcp", "headers": {"X-Key": "${SECRET}"}}
    path = configure(tmp_path, address)
    assert digest(path, SECRET="s-1") == digest(path, SECRET="s-2")
