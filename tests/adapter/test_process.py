from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from discovercall.adapter.failures import AdapterFailure
from discovercall.adapter.process import AdapterLimits
from tests.adapter.running import Bench

PROMISED_S = 1.5  # what a misbehaving adapter may cost beyond its time-out

DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    time.sleep(300)
time.sleep(0.2)
"""


@pytest.fixture
def bench() -> Iterator[Bench]:
    """A bench that afterwards must have no living process."""
    bench = Bench()
    yield bench
    assert bench.left() == []


def code_of(bench: Bench, source: str, **options) -> str:
    with pytest.raises(AdapterFailure) as caught:
        bench(source, **options)
    return caught.value.code


async def started(bench: Bench, count: int) -> None:
    async with asyncio.timeout(20):
        while len(bench.left()) < count:  # noqa: ASYNC110 - other processes set no event
            await asyncio.sleep(0.02)


def test_output_of_a_successful_adapter(bench):
    result = bench("import sys; sys.stdout.write(sys.stdin.read().upper())", b'{"a":1}')
    assert result.stdout == b'{"A":1}'


def test_marker_and_stderr_are_ignored_on_success(bench):
    source = "import sys; sys.stderr.write('DISCOVERCALL_ADAPTER_ERROR=model_failed\\n'); print(1)"
    assert bench(source).stdout == b"1\n"


@pytest.mark.parametrize(
    ("stderr", "code"),
    [
        ("noise\\nDISCOVERCALL_ADAPTER_ERROR=rate_limited\\nmore\\n", "rate_limited"),
        ("QVERIS_BENCHMARK_ADAPTER_ERROR=missing_oracle_candidate", "missing_oracle_candidate"),
        ("DISCOVERCALL_ADAPTER_ERROR=made_up", "process_exit"),
        ("", "process_exit"),
    ],
)
def test_reason_of_a_failed_adapter(bench, stderr, code):
    assert code_of(bench, f"import sys; sys.stderr.write('{stderr}'); sys.exit(3)") == code


def test_death_by_a_signal_is_process_exit(bench):
    assert code_of(bench, "import os; print('{}', flush=True); os.kill(os.getpid(), 9)") == "process_exit"


def test_failure_carries_nothing_that_the_adapter_wrote(bench):
    with pytest.raises(AdapterFailure) as caught:
        bench("import sys; sys.exit('sk-secret-of-the-provider')")
    assert "secret" not in f"{caught.value!r} {caught.value.__dict__}"


@pytest.mark.parametrize("command", [["/no/such/program"], [sys.executable, "a\0b"], ["/etc"]])
def test_what_cannot_start_is_start_failed(bench, command):
    with pytest.raises(AdapterFailure) as caught:
        bench(command)
    assert caught.value.code == "start_failed"


def test_script_without_interpreter_line_runs_through_sh(bench, tmp_path):
    script = tmp_path / "adapter"
    script.write_text('read line; echo "$1 $line"\n')
    script.chmod(0o755)
    assert bench([str(script), "argument"], b"request\n").stdout == b"argument request\n"


def test_arguments_are_not_seen_by_a_shell(bench):
    source = "import sys; print(sys.argv[1])"
    assert bench([sys.executable, "-c", source, "$(id); `id` *"]).stdout == b"$(id); `id` *\n"


def test_characters_cut_between_writes_survive(bench):
    source = """
import sys, time
for byte in '{"city":"\u4eac\u90fd\U0001f600"}'.encode():
    sys.stdout.buffer.write(bytes([byte])); sys.stdout.flush(); time.sleep(0.005)
"""
    assert bench(source).stdout.decode() == '{"city":"京都😀"}'


def test_large_request_and_large_answer_at_once(bench):
    source = """
import sys
sys.stdout.write('x' * 900_000); sys.stdout.flush()
sys.stdout.write(str(len(sys.stdin.buffer.read())))
"""
    assert bench(source, b"y" * 4_000_000).stdout == b"x" * 900_000 + b"4000000"


def test_adapter_that_never_reads_does_not_hurt(bench):
    assert bench("print('{}')", b"y" * 4_000_000).stdout == b"{}\n"
    assert bench("import os; os.close(0); print('{}')", b"y" * 4_000_000).stdout == b"{}\n"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("character", ["x", "é", "京", "😀"])
def test_limits_count_utf16_units(bench, stream, character):
    units = 2 if character == "😀" else 1
    limits = AdapterLimits(stdout_characters=3000 * units, stderr_characters=3000 * units)
    source = "import sys; sys.{}.write({!r} * {})"
    assert bench(source.format(stream, character, 3000), limits=limits)
    assert code_of(bench, source.format(stream, character, 3001), limits=limits) == f"{stream}_limit"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("data", ["b'x'", "b'\\x80'", "b'\\xf0'"])
def test_endless_output_is_cut_off(bench, stream, data):
    source = f"""
import sys, signal
signal.signal(15, signal.SIG_IGN)
while True: sys.{stream}.buffer.write({data} * 65536)
"""
    assert code_of(bench, source) == f"{stream}_limit"


def test_time_out(bench):
    assert code_of(bench, "import time; time.sleep(300)", timeout_s=0.4) == "timeout"
    assert bench.seconds < 0.4 + PROMISED_S


def test_time_out_of_an_adapter_that_ignores_the_request_to_end(bench):
    source = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(300)"
    assert code_of(bench, source, timeout_s=0.4) == "timeout"
    assert 1.4 <= bench.seconds < 0.4 + PROMISED_S


def test_adapter_may_tidy_up_when_asked_to_end(bench, tmp_path):
    note = tmp_path / "tidied"
    source = f"""
import signal, sys, time, pathlib
signal.signal(15, lambda *_: (time.sleep(0.2), pathlib.Path({str(note)!r}).touch(), sys.exit(0)))
time.sleep(300)
"""
    assert code_of(bench, source, timeout_s=0.5) == "timeout"
    assert note.exists()


def test_stopped_adapter_is_ended(bench):
    assert code_of(bench, "import os; os.kill(os.getpid(), 19)", timeout_s=0.4) == "timeout"


def test_group_is_ended_with_a_time_out(bench):
    source = """
import signal, subprocess, sys, time
stubborn = 'import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(300)'
subprocess.Popen([sys.executable, '-c', stubborn])
time.sleep(300)
"""
    assert code_of(bench, source, timeout_s=0.5) == "timeout"
    assert bench.seconds < 0.5 + PROMISED_S


def test_descendant_in_a_session_of_its_own_is_ended_with_a_time_out(bench):
    assert code_of(bench, DAEMON + "time.sleep(300)", timeout_s=0.5) == "timeout"
    assert bench.seconds < 0.5 + PROMISED_S


def test_descendant_in_a_session_of_its_own_is_ended_past_a_limit(bench):
    source = DAEMON + "\nwhile True: sys.stdout.write('x' * 65536)"
    assert code_of(bench, source) == "stdout_limit"


def test_background_process_that_holds_the_output_delays_nothing(bench):
    source = "import subprocess; subprocess.Popen(['sleep', '300']); print('{}')"
    assert bench(source).stdout == b"{}\n"
    assert bench.seconds < 5


def test_background_process_in_another_group_of_the_session_is_ended(bench):
    source = "import subprocess; subprocess.Popen(['sleep', '300'], process_group=0); print('{}')"
    assert bench(source).stdout == b"{}\n"


def test_flooding_background_process_ends_with_the_adapter(bench):
    source = "import subprocess, time; subprocess.Popen(['yes']); time.sleep(0.05); print('{}')"
    with contextlib.suppress(AdapterFailure):  # past the limit or not, as the flood may have it
        bench(source)
    assert bench.seconds < 5


def test_fork_storm_is_ended(bench):
    source = """
import os, time
for _ in range(6):
    os.fork()
while True:
    if os.fork() == 0:
        time.sleep(300)
    time.sleep(0.05)
"""
    assert code_of(bench, source, timeout_s=0.5) == "timeout"


@pytest.mark.parametrize("timeout_s", [2**31 / 1000, 2**31, 1e12, float("inf")])
def test_time_outs_of_any_size(bench, timeout_s):
    assert bench("print(1)", timeout_s=timeout_s).stdout == b"1\n"


def test_cancelling_ends_the_adapter_before_it_propagates(bench):
    async def interrupted() -> None:
        task = asyncio.create_task(bench.run(DAEMON + "time.sleep(300)"))
        await started(bench, 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert bench.left() == []

    asyncio.run(interrupted())


def test_cancelling_twice_ends_a_stubborn_adapter_at_once(bench):
    async def interrupted() -> None:
        source = (
            "import signal, time; signal.signal(15, signal.SIG_IGN); print('on', flush=True); time.sleep(300)"
        )
        task = asyncio.create_task(bench.run(source))
        await started(bench, 1)
        await asyncio.sleep(0.2)
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0.1)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(interrupted())


def test_decisions_side_by_side_do_not_disturb_each_other(bench):
    async def several() -> list[bytes]:
        slow = [bench.run(f"import time; time.sleep(0.4); print({number})") for number in range(6)]
        quick = [bench.run(f"print({number})") for number in range(6)]
        return [result.stdout for result in await asyncio.gather(*slow, *quick)]

    assert asyncio.run(several()) == [f"{number}\n".encode() for number in (*range(6), *range(6))]


def test_working_folder_is_fresh_and_is_removed(bench):
    source = """
import os, pathlib
print(os.getcwd(), os.listdir())
pathlib.Path('a').mkdir()
pathlib.Path('a/b').touch()
"""
    folders = set()
    for _ in range(2):
        folder, listing = bench(source).stdout.decode().split(" ", 1)
        assert listing == "[]\n"
        assert not Path(folder).exists()
        folders.add(folder)
    assert len(folders) == 2
    assert all(folder.startswith(tempfile.gettempdir()) for folder in folders)


def test_no_descriptor_of_the_harness_is_open_in_an_adapter(bench, tmp_path):
    (tmp_path / "tasks").write_text("ground truth")
    with open(tmp_path / "tasks") as stream:
        os.set_inheritable(stream.fileno(), True)
        source = "import os; print(sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:-1])"
        assert bench(source).stdout == b"[0, 1, 2]\n"


def test_no_descriptor_is_left_open_in_the_harness(bench):
    bench("print(1)")
    before = len(os.listdir("/proc/self/fd"))
    for source in ("print(1)", "import sys; sys.exit(1)", "import time; time.sleep(9)"):
        with contextlib.suppress(AdapterFailure):
            bench(source, timeout_s=0.3)
    assert len(os.listdir("/proc/self/fd")) == before


def test_environment_is_exactly_what_was_given(bench):
    source = "import os; print(sorted(set(os.environ) - {'LC_CTYPE'}))"
    assert bench(source).stdout.decode() == f"{sorted(bench.env)}\n"


def test_system_without_process_descriptors(bench, monkeypatch):
    def missing(pid: int) -> int:
        raise OSError

    monkeypatch.setattr(os, "pidfd_open", missing)
    source = "import subprocess; subprocess.Popen(['sleep', '300']); print('{}')"
    assert bench(source).stdout == b"{}\n"
    assert code_of(bench, "import time; time.sleep(300)", timeout_s=0.4) == "timeout"
