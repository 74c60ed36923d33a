"""Plugin of pytest: saves what a worker has measured as soon as its tests are over.

pytest-xdist ends a worker that takes more than ten seconds to exit, and with it what would be written then.
"""

from __future__ import annotations

import pytest


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Write what this process has measured so far, if it is measured."""
    from coverage import Coverage

    measuring = Coverage.current()
    if measuring is not None:
        measuring.save()
