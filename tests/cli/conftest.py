from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.bench import Bench
from tests.support.catalog_api import CatalogApi


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A real run at hand: loopback API, scripted adapter, task set, command line."""
    with CatalogApi() as api:
        yield Bench(tmp_path, api)
