"""From inside an adapter nothing yields the catalog key, as far as the system can keep it at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discovercall.gateway.catalog import default_world_path, load_world
from discovercall.gateway.server import EmbeddedGateway
from tests.support.records import constraint

KEY = f"qv-secret-{secrets.token_hex(15)}"  # of its own in each process, for all of them are searched
BURGLAR = Path(__file__).with_name("burglar.py")
UNPRIVILEGED = ["setpriv", "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"]
WAYS = ("environment", "key file", "standard input")


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with EmbeddedGateway(load_world(default_world_path()), api_key=KEY) as gateway:
        yield gateway.base_url


def burgle(
    tmp_path: Path, base_url: str, way: str, prefix: list[str]
) -> tuple[set[str], dict[str, Any], str]:
    """Run one trial with the hostile adapter: where it found the key, the record, and what the run said."""
    work, reports_folder, keys = (tmp_path / name for name in ("work", "reports", "keys"))
    for folder in (work, reports_folder, keys):
        folder.mkdir()
    tasks = work / "tasks.jsonl"
    task = {"id": "t", "prompt": "p", "discover_query": "weather forecast", "constraints": [constraint()]}
    tasks.write_text(json.dumps(task) + "\n")
    report = reports_folder / "report.jsonl"
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    command: list[str | Path] = [*prefix, sys.executable, "-m", "discovercall", "run"]
    command += ["--api-base-url", base_url, "--tasks", tasks, "--model", "m", "--lane", "configured-model"]
    command += ["--adapter", sys.executable, "--adapter-revision", "1", "--trials", "1"]
    for argument in (BURGLAR, report, digest, str(len(KEY))):
        command += ["--adapter-arg", argument]
    command += ["--output", work / "records.jsonl"]
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    stdin = None
    if way == "environment":
        environment["QVERIS_API_KEY"] = KEY
    elif way == "key file":
        key_file = keys / "catalog.key"
        key_file.touch(0o600)
        key_file.write_text(KEY)
        command += ["--api-key-file", key_file]
    else:
        command += ["--api-key-file", "-"]
        stdin = KEY.encode()
    done = subprocess.run(
        list(map(str, command)), env=environment, input=stdin, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert KEY.encode() not in done.stdout + done.stderr
    reports = [json.loads(line) for line in report.read_text().splitlines()]
    assert [entry["stage"] for entry in reports] == ["select", "parameterize"]
    record = json.loads((work / "records.jsonl").read_text())
    return {place for entry in reports for place in entry["found"]}, record, done.stderr.decode()


def unprivileged() -> list[str]:
    """What a command is to begin with, so that it has no rights of root."""
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.fail("setpriv (util-linux) is needed to run this test as root")
    return UNPRIVILEGED if os.geteuid() == 0 else []


@pytest.mark.parametrize("way", WAYS)
def test_an_unprivileged_harness_keeps_its_key(tmp_path: Path, base_url: str, way: str) -> None:
    found, record, said = burgle(tmp_path, base_url, way, unprivileged())
    assert found == set()
    assert record["isolation"] == "same-user"
    assert "keeps adapters" not in said


@pytest.mark.parametrize(
    ("way", "place", "told"),
    [
        ("environment", "environ", "environment"),
        ("key file", "command line path", "command line"),
        ("standard input", None, None),
    ],
)
def test_what_started_the_harness_may_give_the_key_away_and_that_is_said(
    tmp_path: Path, base_url: str, way: str, place: str | None, told: str | None
) -> None:
    found, record, said = burgle(tmp_path, base_url, way, [*unprivileged(), "timeout", "100"])
    assert found == ({place} if place else set())
    assert record["isolation"] == ("none" if told else "same-user")
    warning = rf"adapters from the catalog key: process \d+ \(timeout\) has it in its {told}; start "
    assert len(re.findall(warning, said)) == (1 if told else 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="shows what root could see: only root can show it")
def test_the_same_adapter_finds_the_key_under_root(tmp_path: Path, base_url: str) -> None:
    """Shows that the burglar can find a key at all."""
    found, record, said = burgle(tmp_path, base_url, "environment", [])
    assert {"environ", "memory"} <= found
    assert record["isolation"] == "none"
    assert (
        said.count("Warning: nothing keeps adapters from the catalog key: this process has root's rights")
        == 1
    )
