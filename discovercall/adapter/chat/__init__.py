"""Decisions by the Chat Completions API, as many servers speak it."""
