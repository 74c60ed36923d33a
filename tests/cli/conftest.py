import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from discovercall.cli.main import main
from tests.support.bench import Bench, Done
from tests.support.catalog_api import CatalogApi


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A real run at hand: loopback API, scripted adapter, task set, command line."""
    with CatalogApi() as api:
        yield Bench(tmp_path, api)


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Done]:
    """Runs the command line in this process, which is quick: `command(*words, **environment)`."""

    def run(*words: object, **environment: str) -> Done:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["discovercall", *map(str, words)])
            patch.chdir(tmp_path)
            for name in os.environ:
                patch.delenv(name)
            for name, value in {"PATH": os.defpath, "COLUMNS": "100", **environment}.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main()
        sys.stdout.flush()
        return Done(int(ended.value.code or 0), *capfd.readouterr())

    return run
