"""Kills paid runs at every journal write and at random times, resumes them, and counts what went wrong.

The witness is the gateway's own request journal, kept by another process.

    python -m tests.kills.campaign --kills 300 [--seed 1]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discovercall.contract.provenance import UNVERSIONED
from tests.kills.accounts import Accounts, audit, finished_in_journal

TASKS = 3
TRIALS = 3
TOOL = "visualcrossing.timeline.retrieve.v1"
BASE = Path(sys.executable).parent
POLICY = Path(__file__).parents[2] / "publication-policy.json"
_ADAPTER = f"""#!/bin/sh
request=$(cat)
task=${{request#*'"task_id":"'}}; task=${{task%%'"'*}}
trial=${{request#*'"trial":'}}; trial=${{trial%%,*}}
case $request in
  *'"stage":"select"'*) printf '{{"tool_id":"{TOOL}"}}' ;;
  *) printf '{{"parameters":{{"location":"%s/%s"}}}}' "$task" "$trial" ;;
esac
"""


@dataclass
class Tally:
    """What the campaign did, and every broken promise."""

    kills: int = 0
    runs: int = 0
    starts: int = 0
    published: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


class Campaign:
    """One gateway, and run after run against it.

    Args:
        folder: an empty folder for everything.
        seed: of the random times.
        publish_every: how often a completed run is published and validated: 1 for each.
    """

    def __init__(self, folder: Path, seed: int, *, publish_every: int = 1) -> None:
        self.folder = folder
        self.publish_every = publish_every
        self.random = random.Random(seed)
        self.tally = Tally()
        self.base_url = ""
        self.whole_run_s = 3.0
        self._audited = 0
        tasks = [
            {
                "id": f"weather-{number}",
                "prompt": "Forecast the weather.",
                "discover_query": "weather forecast for a city",
                "constraints": [
                    {"id": "location", "aliases": ["location"], "value": "weather", "match": "contains"}
                ],
            }
            for number in range(TASKS)
        ]
        self.tasks = folder / "v1.jsonl"
        self.tasks.write_text("".join(json.dumps(task) + "\n" for task in tasks))
        self.adapter = folder / "adapter"
        self.adapter.write_text(_ADAPTER)
        self.adapter.chmod(0o755)
        self.key_file = folder / "gateway.key"
        self.requests = folder / "requests.jsonl"
        self.faults = folder / "faults.json"
        # Calls take a while, so that many kills find one under way.
        self.faults.write_text(json.dumps([{"on": "execute", "times": -1, "do": {"latency_ms": 60}}]))

    @contextlib.contextmanager
    def gateway(self) -> Iterator[None]:
        """The gateway as a process of its own, which no kill concerns."""
        command = [BASE / "discovercall", "gateway", "serve", "--port", "0", "--api-key-file", self.key_file]
        command += ["--faults", self.faults, "--journal", self.requests]
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if "http://" in line:
                    self.base_url = "http://" + line.split("http://")[1].split()[0].rstrip(",.")
                    break
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(10)

    def run(self, kills: int) -> Tally:
        """Kill `kills` times in all: first at every journal write in each mode, then at random times."""
        with self.gateway():
            writes = self._measure()
            steps = [(mode, at) for at in range(1, writes + 1) for mode in ("before", "torn", "after")]
            if len(steps) > kills // 2:
                steps = self.random.sample(steps, kills // 2)
            for mode, at in steps:
                self._one_run([(mode, at)])
            while self.tally.kills < kills:
                self._one_run([("random", 0)] * self.random.randint(1, 4))
        return self.tally

    def _measure(self) -> int:
        started = time.monotonic()
        journal = self._one_run([])
        self.whole_run_s = time.monotonic() - started
        return len(journal.read_bytes().splitlines())

    def _one_run(self, kills: list[tuple[str, int]]) -> Path:
        self.tally.runs += 1
        output = self.folder / f"run-{self.tally.runs}.jsonl"
        journal = output.with_name(output.name + ".journal.jsonl")
        kept: dict[Any, dict[str, Any]] = {}
        for mode, at in kills:
            if self._start(output, mode, at):
                self.tally.kills += 1
                self.tally.kinds[mode] += 1
            kept |= finished_in_journal(journal)
        if self._start(output, "", 0) or not output.exists():
            self.tally.faults.append(f"{output.name}: could not be resumed to its end")
            return journal
        accounts = Accounts(TASKS * TRIALS, kept, self._executes())
        self.tally.faults += [f"{output.name}: {fault}" for fault in audit(output, journal, accounts)]
        if self.tally.runs % self.publish_every == 0:
            self._publish(output)
        return journal

    def _publish(self, output: Path) -> None:
        """Publish a completed run as the rehearsal that it is, and check the pair as anybody would."""
        stem = self.folder / f"{output.stem}-rehearsal-v1"
        private = stem.with_suffix(".private.jsonl")
        # A checkout with changes has no commit to name; that alone must not keep its runs from this check.
        private.write_text(output.read_text().replace(f'"{UNVERSIONED}"', f'"{"0" * 40}"'))
        files = (stem.with_name(stem.name + ".runs.jsonl"), stem.with_name(stem.name + ".summary.json"))
        same = ["--tasks", self.tasks, "--format", "json"]
        published = self._answer(
            ["publish", *same, "--runs", private, "--output-runs", files[0], "--output-summary", files[1]]
        )
        policy = json.loads(POLICY.read_text())["policy_id"]
        if published.get("policy_id") != policy or not published["published"][0]["rehearsal"]:
            self.tally.faults.append(f"{output.name}: is not published as a rehearsal: {published}")
            return
        validated = self._answer(
            ["validate", *same, "--runs", files[0], "--summary", files[1], "--policy", POLICY]
        )
        if validated.get("ok") is not True:
            self.tally.faults.append(f"{output.name}: its pair does not validate: {validated}")
            return
        self.tally.published += 1

    def _answer(self, arguments: list[Any]) -> dict[str, Any]:
        command = [str(BASE / "discovercall"), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            return {"exit": done.returncode, "said": (done.stdout + done.stderr)[-300:]}
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def _start(self, output: Path, mode: str, at: int) -> bool:
        """Start or resume the run; true when it was killed."""
        self.tally.starts += 1
        program = (
            [BASE / "discovercall"]
            if mode in ("", "random")
            else [sys.executable, "-m", "tests.kills.killable"]
        )
        command = [*program, "run", "--api-base-url", self.base_url, "--api-key-file", self.key_file]
        command += [
            "--tasks",
            self.tasks,
            "--model",
            "m",
            "--lane",
            "configured-model",
            "--trials",
            str(TRIALS),
        ]
        command += [
            "--adapter",
            self.adapter,
            "--adapter-revision",
            "1",
            "--execute",
            "--output",
            output,
            "--resume",
        ]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "KILL_MODE": mode,
            "KILL_AT": str(at),
        }
        process = subprocess.Popen(
            list(map(str, command)), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        if mode == "random":
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(self.random.uniform(0, self.whole_run_s))
            if process.poll() is None:
                process.kill()
        _, errors = process.communicate(timeout=120)
        if process.returncode not in (0, -signal.SIGKILL):
            self.tally.faults.append(f"{output.name}: exit {process.returncode}: {errors.decode()[-300:]}")
        return process.returncode == -signal.SIGKILL

    def _executes(self) -> Counter[str]:
        """Billed calls of the newest run at the gateway, by what was asked."""
        entries = [json.loads(line) for line in self.requests.read_text().splitlines()]
        new, self._audited = entries[self._audited :], len(entries)
        return Counter(entry["parameters_sha256"] for entry in new if entry["operation"] == "execute")


def main() -> int:
    """Run a campaign from the command line; exit status 1 when a promise was broken."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        tally = Campaign(Path(folder), options.seed).run(options.kills)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(tally.kinds.items()))
    print(f"{tally.kills} kills ({kinds}) in {tally.runs} runs, {tally.starts} starts")
    print(f"{tally.published} completed runs published as rehearsals and validated")
    for fault in tally.faults:
        print(f"FAULT {fault}")
    print(f"{len(tally.faults)} broken promises")
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
