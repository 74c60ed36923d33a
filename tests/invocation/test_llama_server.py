"""The benchmark against llama.cpp's own server with a tiny random model: the protocol, not the answers."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from discovercall.foundation.resources import checkout_root, resource_path
from tests.invocation.running import bundles, environment, invoke, live, read
from tests.invocation.streams import KEY

START_S = 30


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Base URL of a server that ends with its standard input."""
    missing = [name for name in ("xllamacpp", "gguf") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed")
    root = checkout_root()
    assert root is not None
    programs = root / "tests" / "support" / "models"
    model = tmp_path_factory.mktemp("model") / "tiny.gguf"
    subprocess.run([sys.executable, programs / "tiny_model.py", model], check=True, timeout=START_S)
    with subprocess.Popen(
        [sys.executable, programs / "llama_server.py", model, KEY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), "the server did not start"
            yield f"{address}/v1"
        finally:
            process.stdin.close()
            process.wait(START_S)


@pytest.mark.slow
@pytest.mark.part("llama.cpp server")
def test_every_run_is_measured_whole(server: str, tmp_path: Path) -> None:
    done = live(tmp_path, server, "--timeout", "60", "--runs-per-case", "2")
    assert done.returncode in (0, 1), done.stderr
    report = read(bundles(tmp_path)[0])
    schema = json.loads(resource_path("schemas", "invocation-report.schema.json").read_bytes())
    jsonschema.Draft202012Validator(schema).validate(report)
    assert len(report["runs"]) == 24
    assert sum(run["first_visible_ms"] is not None for run in report["runs"]) >= 12
    for run in report["runs"]:
        assert run["error"] is None
        # An empty answer has no first token, and then the value is null.
        assert (run["first_token_ms"] is None) == (run["model_calls"][0]["first_token_ms"] is None)
        for kind in ("prompt", "completion", "total", "cached"):
            assert run["tokens"][kind] >= 0
        assert run["tokens"]["total"] == run["tokens"]["prompt"] + run["tokens"]["completion"]
        assert all(call["status"] == "completed" for call in run["model_calls"])
        # A random model writes no directive, so the EventAgent is always asked.
        assert run["event_agent_fallbacks"] == (run["mode"] == "dual_agent")


@pytest.mark.slow
@pytest.mark.part("llama.cpp server")
def test_a_wrong_key_fails_every_run_and_is_told_nowhere(server: str, tmp_path: Path) -> None:
    wrong = "wrong-Key-987654321"
    words = ("run", "--base-url", server, "--model", "m", "--case", "ordinary_chat")
    done = invoke(tmp_path, *words, env=environment(AGENT_LAB_OPENAI_API_KEY=wrong))
    assert done.returncode == 1
    assert done.stdout.count("unauthorized: HTTP 401") == 2
    assert wrong not in done.stdout + done.stderr + (bundles(tmp_path)[0] / "report.json").read_text()
