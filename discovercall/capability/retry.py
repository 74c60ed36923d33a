"""Which failures are tried again, and how long to wait before."""

from __future__ import annotations

from discovercall.capability.envelope import Operation
from discovercall.foundation.retry_after import retry_after_s

LONGEST_WAIT_S = 60.0
_FIRST_WAIT_S = 0.5
_DOUBLINGS = 16  # beyond any wait that is not cut to the longest

_TRANSIENT = frozenset({"http_429", "http_503", "network_failure", "request_timeout", "response_timeout"})
# A 429 says that the call was not carried out. After any other failure it may have happened, and been billed.
_NOT_CARRIED_OUT = frozenset({"http_429"})


def is_retried(operation: Operation, reason_code: str) -> bool:
    """True when a request that failed so may be sent again."""
    return reason_code in (_NOT_CARRIED_OUT if operation == "call" else _TRANSIENT)


def retry_wait(retry_after: str | None, attempt: int, now: float) -> float:
    """Seconds to wait before the next try, 0 to 60.

    Args:
        retry_after: the Retry-After header: seconds, or one of the three dates of RFC 9110, 5.6.7; anything
            else counts as absent, and then the wait is 0.5 * 2^attempt.
        attempt: number of tries that failed before this one, from 0.
        now: seconds since the Unix epoch.
    """
    told = retry_after_s(retry_after, now)
    if told is not None:
        return min(told, LONGEST_WAIT_S)
    return min(_FIRST_WAIT_S * 2.0 ** min(attempt, _DOUBLINGS), LONGEST_WAIT_S)
