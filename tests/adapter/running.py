"""Starts real adapters for the tests, and finds what they left behind."""

from __future__ import annotations

import asyncio
import os
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from discovercall.adapter.process import AdapterLimits, AdapterResult, run_adapter

MARK = "DECISION_MARK"


class Bench:
    """Runs adapters whose whole offspring carries a mark in its environment."""

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self.env = {"PATH": os.environ["PATH"], MARK: self.mark}
        self.seconds = 0.0

    async def run(
        self,
        command: str | Sequence[str],
        payload: bytes = b"{}",
        *,
        timeout_s: float = 30,
        limits: AdapterLimits | None = None,
    ) -> AdapterResult:
        """Run Python source, or a command, as the adapter."""
        argv = [sys.executable, "-c", command] if isinstance(command, str) else list(command)
        start = time.monotonic()
        try:
            return await run_adapter(
                argv, payload, env=self.env, timeout_s=timeout_s, limits=limits or AdapterLimits()
            )
        finally:
            self.seconds = time.monotonic() - start

    def __call__(
        self,
        command: str | Sequence[str],
        payload: bytes = b"{}",
        *,
        timeout_s: float = 30,
        limits: AdapterLimits | None = None,
    ) -> AdapterResult:
        return asyncio.run(self.run(command, payload, timeout_s=timeout_s, limits=limits))

    def left(self) -> list[int]:
        """Living processes that carry the mark."""
        return marked(self.mark)


def marked(mark: str) -> list[int]:
    """Living processes with this mark in their environment (one that has ended shows none)."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                variables = (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if wanted in variables:
                found.append(int(folder.name))
    return found


def gone_within(mark: str, seconds: float) -> bool:
    """Wait until no marked process is left."""
    deadline = time.monotonic() + seconds
    while marked(mark):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
