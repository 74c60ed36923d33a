"""The image: built from the real Dockerfile, small, hardened, and without keys or addresses in it."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.actions.lab import HARNESS, build, lab, require
from tests.actions.workflow import add_workflow
from tests.cadence.checkout import ROOT, Checkout, make_checkout

MOST_ADDED_BYTES = 280_000_000
BASE = "python:3.13-slim-trixie"

pytestmark = [pytest.mark.slow, pytest.mark.part("container image")]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    require()
    checkout = add_workflow(make_checkout(tmp_path_factory.mktemp("context")))
    build(checkout.root, HARNESS, "harness", checkout.sha)
    return checkout


def size(tag: str) -> int:
    done = lab("podman", "image", "inspect", "--format", "{{.Size}}", tag)
    return int(done.stdout)


def test_the_harness_is_small(built: Checkout) -> None:
    assert size(HARNESS) - size(BASE) < MOST_ADDED_BYTES


def test_the_demo_runs_hardened_as_nobody_in_particular(built: Checkout) -> None:
    done = lab("run", HARNESS, "--", "demo", "--out", "/tmp/demo")
    assert done.returncode == 0, done.stderr
    assert "reference.jsonl" in done.stdout
    program = (
        "import json, os, pathlib; from discovercall.foundation.revision import installed_revision as r;"
        "status = pathlib.Path('/proc/self/status').read_text();"
        "print(json.dumps([os.getuid(), status, r().commit, os.access('/opt', os.W_OK)]))"
    )
    inside = lab("run", HARNESS, "--entrypoint", "python", "--", "-c", program)
    uid, status, commit, writable = json.loads(inside.stdout)
    assert uid == 10001
    assert re.search(r"CapBnd:\s+0+\n", status)
    assert re.search(r"NoNewPrivs:\s+1\n", status)
    assert commit == built.sha
    assert not writable


def test_no_layer_holds_a_key_or_an_index_address(built: Checkout, tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    assert lab("podman", "save", "-o", str(archive), HARNESS).returncode == 0
    wanted = index_addresses()
    shapes = re.compile(
        rb"(?:ghp_|github_pat_|sk-proj-|sk-ant-)[A-Za-z0-9_-]{20,}|BEGIN [A-Z ]*PRIVATE KEY-----\n"
    )
    found = []
    with tarfile.open(archive) as image:
        layers = json.load(image.extractfile("manifest.json"))[0]["Layers"]  # type: ignore[arg-type]
        for layer in layers[1:]:  # the first is the base
            with tarfile.open(fileobj=image.extractfile(layer)) as files:
                for member in files:
                    if not member.isfile():
                        continue
                    data = files.extractfile(member).read()  # type: ignore[union-attr]
                    found += [(member.name, address) for address in wanted if address in data]
                    found += [(member.name, match.group()[:12]) for match in shapes.finditer(data)]
        config = next(name for name in image.getnames() if name.endswith(".json") and name != "manifest.json")
        text = image.extractfile(config).read()  # type: ignore[union-attr]
    assert not [address for address in wanted if address in text]
    # Only libraries' own documentation and tests of key formats may look like a key.
    assert not [entry for entry in found if "discovercall/" in entry[0] or entry[1] in wanted], found


def index_addresses() -> list[bytes]:
    """Addresses of this machine's own package indexes."""
    said = subprocess.run(["pip", "config", "list"], capture_output=True, text=True, check=False).stdout
    hosts = re.findall(r"https?://([^/'\s]+)", said)
    return [host.encode() for host in hosts]


@pytest.mark.part("container image with the model CLI")
def test_the_model_cli_starts_without_node(built: Checkout) -> None:
    tag = "discovercall-test:cli"
    build(built.root, tag, "harness-cli", built.sha)
    version = json.loads((ROOT / "cadence.json").read_text())["configured_model"]["cli_version"]
    done = lab("run", tag, "--entrypoint", "codex", "--", "--version")
    assert version in done.stdout, done.stderr
    nothing = lab(
        "run", tag, "--entrypoint", "python", "--", "-c", "import shutil; print(shutil.which('node'))"
    )
    assert nothing.stdout.strip() == "None"
