"""How a request to the capability API fails."""

from __future__ import annotations

NETWORK_FAILURE = "network_failure"
REQUEST_TIMEOUT = "request_timeout"
RESPONSE_TIMEOUT = "response_timeout"
INVALID_RESPONSE = "invalid_response"
FAILURE_ENVELOPE = "failure_envelope"
RESPONSE_TOO_LARGE = "response_too_large"


def http_reason(status: int) -> str:
    """The reason code of an HTTP status that is no success."""
    return f"http_{status}"


class ApiFailure(Exception):
    """A request that brought no usable answer. Its text is a fixed phrase: no body, URL or key.

    Args:
        reason_code: `http_NNN` or one of this module's constants.
        requests: HTTP requests that were sent for it, retries included.
        status: HTTP status of the last try; None when it got no answer.
    """

    def __init__(self, reason_code: str, *, requests: int, status: int | None) -> None:
        super().__init__("API request failed")
        self.reason_code = reason_code
        self.requests = requests
        self.status = status
