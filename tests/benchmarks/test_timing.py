import sys

import pytest

from benchmarks.timing import Cost, by_turns, cost_of


def test_a_process_costs_what_it_took():
    code = "import time; time.sleep(0.2); x = bytearray(60 << 20)"
    cost = cost_of([sys.executable, "-c", code])
    assert cost.wall_s >= 0.2
    assert 0 < cost.cpu_s < cost.wall_s
    assert cost.peak_mib > 60


def test_the_processes_that_it_starts_count_too():
    busy = "import time\nwhile time.process_time() < 0.2: pass"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])"
    assert cost_of([sys.executable, "-c", code]).cpu_s >= 0.2


def test_a_process_that_fails_is_no_measurement():
    with pytest.raises(RuntimeError, match="it broke"):
        cost_of([sys.executable, "-c", "import sys; sys.exit('it broke')"])


def test_turns_are_taken_and_the_first_round_only_warms():
    turns: list[str] = []

    def measure(name: str, seconds: list[float]) -> Cost:
        turns.append(name)
        return Cost(seconds.pop(0), 1, 2)

    first, second = [90.0, 3, 1, 2, 9, 0], [80.0, 5, 5, 4, 5, 5]
    medians = by_turns({"a": lambda: measure("a", first), "b": lambda: measure("b", second)}, 5)
    assert turns == ["a", "b"] * 6
    assert medians == {
        "a": {"wall_s": 2, "cpu_s": 1, "peak_mib": 2},
        "b": {"wall_s": 5, "cpu_s": 1, "peak_mib": 2},
    }


def test_a_single_round_is_its_own_measurement():
    assert by_turns({"a": lambda: Cost(1, 2, 3)}, 1)["a"]["wall_s"] == 1
