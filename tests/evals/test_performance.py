"""Latencies: plain arithmetic by hand, every path that can run, and slowness that is seen where it is."""

import itertools
import json
import subprocess
import sys
import time

import pytest

from discovercall.evals.cases import Corpus
from discovercall.evals.performance import FIXED_QUERY, STARTS, Latency, measure_performance, nearest_rank
from discovercall.gateway.discovery import DiscoveryRanker
from tests.gateway.worlds import TOOLS, world

QUICK = (sys.executable, "-c", "pass")
WORLD = world()


def measured(folder, **members):
    corpus = Corpus(folder, 1, WORLD, (), (), (), (), None, "0" * 64)
    members = {"encoder": None, "runs": 3, "program": QUICK, "scale_tools": 30} | members
    return measure_performance(corpus, **members).document()


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([7], 0.5, 7), ([1, 2], 0.5, 1), ([3, 1, 2], 0.5, 2), (range(1, 101), 0.95, 95), (range(1, 101), 1, 100),
     (range(1, 21), 0.95, 19), ([5, 4], 0, 4)],
)  # fmt: skip
def test_percentiles_are_values_that_occurred(values, share, expected):
    assert nearest_rank(list(values), share) == expected


def test_nothing_has_no_percentile():
    with pytest.raises(ValueError, match="no values"):
        nearest_rank([], 0.5)


def test_latencies_in_microseconds_and_per_second():
    assert Latency([1_000, 3_000, 2_500]).document() == {
        "runs": 3,
        "p50Us": 2.5,
        "p95Us": 3.0,
        "opsPerSecond": pytest.approx(3e9 / 6_500),
    }


def test_every_path_without_a_model(tmp_path):
    result = measured(tmp_path, timer=itertools.count(0, 1_000).__next__)
    assert set(result["paths"]) == {"lexical", "endToEnd", "mcpRoundTrip"}
    for latency in (*result["paths"].values(), result["scale"]["lexical"], result["scale"]["endToEnd"]):
        assert latency == {"runs": 3, "p50Us": 1.0, "p95Us": 1.0, "opsPerSecond": 1e6}
    assert result["onceMs"] == {"indexBuildLexical": 0.001, "coldStart": 0.001}
    assert set(result["skipped"]) == {"semantic", "fusion", "modelLoad"}
    assert result["scale"]["tools"] == 30
    assert result["gated"] is False
    assert result["query"] == FIXED_QUERY
    assert result["host"]["cpus"] >= 1
    json.dumps(result)


def test_slowness_is_seen_in_the_paths_it_is_in(tmp_path, monkeypatch):
    rank = DiscoveryRanker.rank

    def slow(self, query, *, limit=None):
        time.sleep(0.01)
        return rank(self, query, limit=limit)

    monkeypatch.setattr(DiscoveryRanker, "rank", slow)
    result = measured(tmp_path)
    assert all(latency["p50Us"] >= 10_000 for latency in result["paths"].values())
    assert result["scale"]["lexical"]["p50Us"] >= 10_000
    assert result["paths"]["lexical"]["opsPerSecond"] <= 100


def test_a_cold_start_is_a_process_of_its_own(tmp_path, monkeypatch):
    started = []
    run = subprocess.run

    def recording(command, **members):
        started.append(command)
        return run(command, **members)

    monkeypatch.setattr(subprocess, "run", recording)
    slow = (sys.executable, "-c", "import time; time.sleep(0.05)")
    assert measured(tmp_path, program=slow)["onceMs"]["coldStart"] >= 50
    assert len(started) == STARTS
    assert started[0][3:] == [
        "gateway", "find", "--catalog", str(tmp_path / "catalog" / "world.json"), "--semantic", "off",
        "--", FIXED_QUERY,
    ]  # fmt: skip


def test_a_program_that_fails_is_left_out_with_a_reason(tmp_path):
    for program in ((sys.executable, "-c", "raise SystemExit(2)"), (str(tmp_path / "none"),)):
        result = measured(tmp_path, program=program)
        assert "coldStart" not in result["onceMs"]
        assert "does not answer" in result["skipped"]["coldStart"]


@pytest.mark.slow
@pytest.mark.part("performance with the model")
def test_every_path_with_the_model_and_the_real_program(tmp_path):
    from discovercall.gateway.assembly import load_encoder

    encoder, _ = load_encoder("require", tmp_path / "vectors.npz")
    folder = tmp_path / "catalog"
    folder.mkdir()
    servers = [{"id": server.server_id} for server in WORLD.servers]
    (folder / "world.json").write_text(json.dumps({"version": 1, "servers": servers, "tools": TOOLS}))
    result = measured(tmp_path, encoder=encoder, program=(sys.executable, "-m", "discovercall"))
    assert set(result["paths"]) == {"lexical", "semantic", "fusion", "endToEnd", "mcpRoundTrip"}
    assert set(result["onceMs"]) == {"indexBuildLexical", "indexBuild", "modelLoad", "coldStart"}
    assert result["skipped"] == {}
