"""Plugins of the whole test suite."""

pytest_plugins = ["pytester", "tests.slow_parts"]
