"""What GitHub Actions tells a command by its environment, and takes from it by files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from discovercall.foundation.errors import InputError

if TYPE_CHECKING:
    from discovercall.cadence.github import GitHub

_API = "https://api.github.com"


def github_client(repository: str | None) -> GitHub:
    """GitHub as the environment names it: `GITHUB_API_URL`, `GITHUB_REPOSITORY`, `GITHUB_TOKEN`.

    Args:
        repository: `owner/name`, where a person gave one.

    Raises:
        InputError: no usable token or repository, or the library isn't installed.
    """
    import time

    from discovercall.cadence.github import GitHub
    from discovercall.cadence.github_requests import Access, Surroundings
    from discovercall.foundation.base_url import is_loopback

    base_url = _api_url(os.environ.get("GITHUB_API_URL") or _API)
    try:
        return GitHub(
            Access(
                base_url=base_url,
                repository=repository or os.environ.get("GITHUB_REPOSITORY", ""),
                token=os.environ.get("GITHUB_TOKEN", ""),
                paced=not is_loopback(base_url),
            ),
            Surroundings(time.time, time.sleep, lambda line: print(line, file=sys.stderr)),
        )
    except ModuleNotFoundError:
        raise InputError(
            "PyGithub is not installed", fix="install discovercall with its extra: discovercall[github]"
        ) from None


def _api_url(text: str) -> str:
    """The API's address, which the token is sent to: https, or http on this machine."""
    from discovercall.foundation.base_url import normalize_base_url

    try:
        return normalize_base_url(text)
    except InputError as error:
        raise InputError(
            error.what.replace("a base URL", "GitHub's API"),
            where="GITHUB_API_URL",
            fix="give https://api.github.com, or https://HOST/api/v3 of an Enterprise Server",
        ) from None


def run_attempt() -> int:
    """Number of this attempt of the workflow run, 1 outside of one.

    Raises:
        InputError: `GITHUB_RUN_ATTEMPT` is no number.
    """
    text = os.environ.get("GITHUB_RUN_ATTEMPT") or "1"
    if not text.isascii() or not text.isdigit():
        raise InputError("is no number", where="GITHUB_RUN_ATTEMPT")
    return int(text)


def own_run() -> int | None:
    """Id of the workflow run that this is in; None outside of one."""
    text = os.environ.get("GITHUB_RUN_ID", "")
    return int(text) if text.isascii() and text.isdigit() else None


def own_workflow() -> str | None:
    """File name of the workflow that this is in; None outside of one."""
    path = os.environ.get("GITHUB_WORKFLOW_REF", "").partition("@")[
        0
    ]  # owner/name/.github/workflows/FILE@ref
    return path.rsplit("/", 1)[-1] or None


def set_outputs(**outputs: str) -> None:
    """Set outputs of the step; nothing happens outside of GitHub Actions."""
    import secrets

    from discovercall.cadence.outputs import append, output_text

    path = os.environ.get("GITHUB_OUTPUT")
    if path:
        append(Path(path), output_text(outputs, lambda: f"ghadelimiter_{secrets.token_hex(16)}"))


def add_summary(markdown: str) -> None:
    """Add to the step's summary; nothing happens outside of GitHub Actions."""
    from discovercall.cadence.outputs import append, summary_text

    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        append(Path(path), summary_text(markdown))
