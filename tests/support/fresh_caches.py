"""Pytest plugin that empties the package's caches before the first test.

Mutation tests fork from a process in which every test has run once: a cached answer of the unchanged
code would hide what a change does.
"""

from __future__ import annotations

import sys


def pytest_collection_finish() -> None:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "discovercall":
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
