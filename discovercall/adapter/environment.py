"""The environment of an adapter: built from an allow-list, never thinned out from the harness's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from discovercall.foundation.errors import InputError

ALLOWED_NAMES = frozenset(
    {
        "PATH",
        "HOME",
        "LANG",
        "TZ",
        "TMPDIR",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
    }
)
ALLOWED_PREFIX = "LC_"
BLOCKED_PREFIXES = ("QVERIS_", "ACTIONS_", "GITHUB_", "RUNNER_", "INPUT_")
BLOCKED_NAMES = frozenset(
    {
        "BENCHMARK_PR_TOKEN",
        "GH_TOKEN",
        "NODE_AUTH_TOKEN",
        "NPM_TOKEN",
        "PYPI_API_TOKEN",
        "DISCOVERCALL_PUBLICATION_KEY",
    }
)


def is_blocked(name: str) -> bool:
    """True for a name that no adapter and no model CLI may see, whatever its letter case."""
    upper = name.upper()
    return upper.startswith(BLOCKED_PREFIXES) or upper in BLOCKED_NAMES


def check_requested_names(names: Iterable[str]) -> tuple[str, ...]:
    """Judge the names given with `--adapter-env`, before anything is sent.

    Returns:
        The names, each once.

    Raises:
        InputError: a blocked name, or text that is no name.
    """
    checked = tuple(dict.fromkeys(names))
    for name in checked:
        if not name or "=" in name or not name.isprintable() or name.strip() != name:
            raise InputError(
                "not the name of an environment variable",
                where="--adapter-env",
                fix="give the name alone; its value is taken from this environment",
            )
        if is_blocked(name):
            raise InputError(
                f"{name} is never passed to an adapter",
                where="--adapter-env",
                fix="it belongs to the harness; give the adapter a variable of its own",
            )
    return checked


def adapter_environment(
    source: Mapping[str, str], declared: Iterable[str], requested: Iterable[str]
) -> dict[str, str]:
    """What an adapter gets to see of an environment.

    Args:
        source: the harness's environment.
        declared: names that a bundled adapter declares for itself.
        requested: names that passed `check_requested_names`.

    Returns:
        The allow-listed, declared and requested variables that are set; blocked names never pass, declared
        or not.
    """
    wanted = ALLOWED_NAMES.union(declared, requested)
    return {
        name: value
        for name, value in source.items()
        if (name in wanted or name.startswith(ALLOWED_PREFIX)) and not is_blocked(name)
    }


def strip_blocked(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without blocked names: what a bundled adapter starts a model CLI with."""
    return {name: value for name, value in environment.items() if not is_blocked(name)}
