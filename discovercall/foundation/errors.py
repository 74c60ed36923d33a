"""The errors that a user can mend: each says what is wrong, where, and what would be right."""

from __future__ import annotations

EXIT_NO = 1
EXIT_USAGE = 2
EXIT_SPEND_LIMIT = 3
EXIT_INTERRUPTED = 130


class DiscovercallError(Exception):
    """Base of all errors that end a command with one clear line and an exit code.

    Args:
        what: what is wrong, in plain words, without a secret in it.
        where: the file, line, flag or field it concerns.
        fix: what would be right, or what to do next.
    """

    exit_code = EXIT_USAGE

    def __init__(self, what: str, *, where: str | None = None, fix: str | None = None) -> None:
        self.what = what
        self.where = where
        self.fix = fix
        super().__init__(what)

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}; {self.fix}" if self.fix else text


class InputError(DiscovercallError):
    """Usage, configuration or bad input (exit 2)."""


class RefusedError(DiscovercallError):
    """The answer is no: a gate, a validation or a comparison that fails (exit 1)."""

    exit_code = EXIT_NO


class SpendLimitError(DiscovercallError):
    """A spend limit was reached; what is left stays undone (exit 3)."""

    exit_code = EXIT_SPEND_LIMIT
