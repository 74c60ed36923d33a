"""Why a decision of an adapter failed: closed codes, and the line on stderr that reports one."""

from __future__ import annotations

REPORTED_CODES = frozenset(
    {
        "tool_use_rejected",
        "model_failed",
        "invalid_events",
        "invalid_output",
        "cli_failed",
        "start_failed",
        "output_limit",
        "missing_reference",
        "missing_reference_candidate",
        "missing_oracle",
        "missing_oracle_candidate",
        "task_set_mismatch",
        "unsupported_stage",
        "rate_limited",
        "refused",
    }
)
"""Codes that an adapter may report about itself."""

MARKER = "DISCOVERCALL_ADAPTER_ERROR="
_MARKERS = (MARKER, "QVERIS_BENCHMARK_ADAPTER_ERROR=")


class AdapterFailure(Exception):
    """A decision that gave no usable answer.

    Args:
        code: one of `REPORTED_CODES`, or what the harness found itself: `timeout`, `stdout_limit`,
            `stderr_limit`, `start_failed`, `process_exit` or `invalid_json`. Nothing of the adapter's output
            is kept, for it may hold what a provider said.
    """

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__("the adapter gave no usable answer")


def reported_code(stderr: str) -> str:
    """The reason code of an adapter that exited non-zero.

    Args:
        stderr: all it wrote there. The first whole line that is a marker with a known code counts.

    Returns:
        That code, or `process_exit` where no line reports a known one.
    """
    for line in stderr.split("\n"):
        for marker in _MARKERS:
            code = line.removesuffix("\r").removeprefix(marker)
            if line.startswith(marker) and code in REPORTED_CODES:
                return code
    return "process_exit"
