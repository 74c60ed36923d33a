"""Single requests to GitHub: reads, which are repeated when they fail, and writes, which never are.

PyGithub repeats POST by itself unless told otherwise, which for a dispatch or a paid run means doing it
twice; so its own retrying is off and reads are repeated here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from discovercall.cadence.problems import (
    LONGEST_WAIT_SECONDS,
    Failure,
    GitHubError,
    GitHubProblem,
    missing_scope,
    text_of,
    unanswered,
)
from discovercall.foundation.errors import InputError

API_VERSION = "2022-11-28"
READ_TRIES = 4
_PAGE = 100
_TIMEOUT_SECONDS = 30
# What PyGithub, or looking at its objects, fails with where an answer isn't what GitHub describes.
_UNREADABLE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,  # what PyGithub says of a redirect that it does not follow; RecursionError too
    TypeError,
    ValueError,
)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach one repository.

    Args:
        base_url: of the REST API; an Enterprise server's is `https://HOST/api/v3`.
        repository: `owner/name`.
        token: never shown.
        paced: whether writes keep GitHub's wished distance of a second.
    """

    base_url: str
    repository: str
    token: str
    paced: bool = True


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Clock and voice of the client.

    Args:
        now: seconds since the epoch.
        sleep: waits that many seconds.
        say: tells a person one line.
    """

    now: Callable[[], float]
    sleep: Callable[[float], None]
    say: Callable[[str], None]


class GitHubRequests:
    """Sends requests to one GitHub.

    Args:
        access: which, and as whom.
        surroundings: how to wait and to say so.

    Raises:
        InputError: the token or the repository's name can't be right.
    """

    def __init__(self, access: Access, surroundings: Surroundings) -> None:
        import github

        logging.getLogger("github").setLevel(logging.CRITICAL)  # it writes to stderr by itself
        token = access.token.strip()
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise InputError("is missing or no token", where="GITHUB_TOKEN")  # its text must not be shown
        if access.repository.count("/") != 1:
            raise InputError("must be owner/name", where="GITHUB_REPOSITORY")
        self._library = github
        self._around = surroundings
        self.client = github.Github(
            base_url=access.base_url,
            auth=github.Auth.Token(token),
            timeout=_TIMEOUT_SECONDS,
            retry=None,
            per_page=_PAGE,
            user_agent="discovercall",
            api_version=API_VERSION,
            seconds_between_requests=0,
            seconds_between_writes=1.0 if access.paced else 0,
        )

    def rows(
        self, url: str, wanted: Mapping[str, str], most: int, *, name: str | None = None
    ) -> list[dict[str, Any]]:
        """The first rows of a list, over its pages; to be called inside a read.

        PyGithub's own lists take `null`, or an object without rows, for an empty list: a guard that believes
        it would let a run be paid twice.

        Args:
            url: of the list.
            wanted: query parameters.
            most: rows at the most.
            name: of the member that holds the rows, where the answer is an object.
        """
        rows: list[dict[str, Any]] = []
        for page in range(1, -(-most // _PAGE) + 1):
            parameters = {**wanted, "per_page": _PAGE, **({"page": page} if page > 1 else {})}
            headers, data = self.client.requester.requestJsonAndCheck("GET", url, parameters=parameters)
            found = data if name is None else data[name]
            if not isinstance(found, list):
                raise TypeError("no list")
            rows += found
            if 'rel="next"' not in headers.get("link", ""):
                break
        return rows[:most]

    def post(self, url: str, body: Mapping[str, Any]) -> Any:
        """The answer to a POST; to be called inside a write."""
        return self.client.requester.requestJsonAndCheck("POST", url, input=body)[1]

    def read(self, request: Callable[[], T], doing: str, permission: str) -> T:
        """What a request reads, repeated when it fails in passing.

        Args:
            request: asks and takes the answer apart.
            doing: what it does, for the message: `read tags`.
            permission: the one that it needs.

        Raises:
            GitHubProblem: it failed for good; says what to do.
        """
        try:
            return self.try_read(request)
        except GitHubError as error:
            raise self.refusal(error.failure, doing, permission) from None

    def refusal(self, failure: Failure, doing: str, permission: str) -> GitHubProblem:
        """What a failed read means for a person; arguments as for `read`."""
        if failure.status in (401, 403, 404) and not failure.is_rate_limit:
            return missing_scope(doing, permission, failure.message)
        if failure.is_rate_limit:
            return GitHubProblem(
                "M6",
                f"GitHub's rate limit lasts too long to {doing}",
                fix="run the same command again later: nothing was written",
            )
        return unanswered(doing, failure.message)

    def try_read(self, request: Callable[[], T]) -> T:
        """As `read`, its failure as a value that can be looked at.

        Raises:
            GitHubError: it failed for good.
        """
        for tried in range(1, READ_TRIES + 1):
            try:
                return self.send(request)
            except GitHubError as error:
                failure = error.failure
                wait = failure.seconds_to_wait(self._around.now(), 2.0 ** (tried - 1))
                if not failure.is_transient or tried == READ_TRIES or wait > LONGEST_WAIT_SECONDS:
                    raise
                if failure.is_rate_limit:
                    self._around.say(f"M6: GitHub asks to wait (rate limit): waiting {wait:.0f} s")
                self._around.sleep(wait)
        raise AssertionError("unreachable")

    def send(self, request: Callable[[], T]) -> T:
        """Carry out one request, once.

        Raises:
            GitHubError: it failed; a value that can be looked at.
        """
        import requests

        try:
            return request()
        except self._library.GithubException as error:
            headers = {name.lower(): value for name, value in (error.headers or {}).items()}
            raise GitHubError(
                Failure(error.status, text_of(error.data, f"HTTP {error.status}"), headers)
            ) from None
        except requests.RequestException as error:
            # Its text may hold header values, so only its kind is told.
            raise GitHubError(Failure(None, f"no answer: {type(error).__name__}", {})) from None
        except (self._library.BadAttributeException, *_UNREADABLE) as error:
            # A page of a proxy, half an answer, other types: nothing that GitHub says.
            raise GitHubError(
                Failure(None, f"no answer that can be read: {type(error).__name__}", {})
            ) from None
