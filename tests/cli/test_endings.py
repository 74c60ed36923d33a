"""How the program ends, whatever a command raises."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest
import typer
from typer.exceptions import TyperException

from discovercall.cli import main as program
from discovercall.foundation.errors import InputError, RefusedError, SpendLimitError


def aborted_by(cause: BaseException) -> typer.Abort:
    abort = typer.Abort()
    abort.__cause__ = cause
    return abort


def ends(monkeypatch: pytest.MonkeyPatch, raised: BaseException) -> object:
    def fail(**_: object) -> None:
        raise raised

    monkeypatch.setattr(program, "app", fail)
    with pytest.raises(SystemExit) as ended:
        program.main()
    return ended.value.code


@pytest.mark.parametrize(
    ("make", "code", "said"),
    [
        (lambda: InputError("is wrong", where="a.json", fix="mend it"), 2, "a.json: is wrong; mend it"),
        (lambda: RefusedError("no"), 1, "no"),
        (lambda: SpendLimitError("enough"), 3, "enough"),
        (lambda: TyperException("no such option"), 2, "no such option"),
        (KeyboardInterrupt, 130, None),
        (lambda: aborted_by(KeyboardInterrupt()), 130, None),
        (lambda: BrokenPipeError(errno.EPIPE, "Broken pipe"), 1, None),
        (lambda: OSError(errno.ENOSPC, "No space left on device"), 2, "output: No space left on device"),
        (lambda: OSError(errno.EIO, "I/O error", "x.json"), 2, "x.json: I/O error"),
        (lambda: OSError("odd"), 2, "output: odd"),
    ],
)
def test_each_ending_has_its_status_and_at_most_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    make: Callable[[], BaseException],
    code: int,
    said: str | None,
) -> None:
    assert ends(monkeypatch, make()) == code
    assert capfd.readouterr() == ("", f"discovercall: {said}\n" if said else "")


def test_a_bug_that_looks_like_an_interrupt_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise aborted_by(EOFError("a bug"))

    monkeypatch.setattr(program, "app", fail)
    with pytest.raises(EOFError, match="a bug"):
        program.main()
