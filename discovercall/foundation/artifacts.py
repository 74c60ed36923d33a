"""What files are called and say, where packages that don't know each other have to agree."""

from __future__ import annotations

RUNS_SUFFIX = ".runs.jsonl"
"""Of the public records of a published result."""

SUMMARY_SUFFIX = ".summary.json"
"""Of the summary beside them, whose stem is theirs."""

UNREPORTED = "unreported"
"""A revision that nobody named."""
