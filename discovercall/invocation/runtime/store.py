"""The session store: what was said, asked for and done, in one SQLite database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SCHEMA = """
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, mode TEXT NOT NULL, state TEXT NOT NULL, created_at TEXT NOT NULL
) STRICT;
CREATE TABLE turns (
    id INTEGER PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id), input TEXT NOT NULL,
    status TEXT NOT NULL, error_code TEXT, error_message TEXT, directive TEXT, fallback TEXT,
    first_visible_ms REAL, turn_wall_time_ms REAL
) STRICT;
CREATE TABLE model_calls (
    id INTEGER PRIMARY KEY, turn_id INTEGER NOT NULL REFERENCES turns(id), role TEXT NOT NULL,
    status TEXT NOT NULL, finish_reason TEXT,
    prompt_tokens INTEGER, completion_tokens INTEGER, total_tokens INTEGER, cached_tokens INTEGER
) STRICT;
CREATE TABLE events (
    turn_id INTEGER NOT NULL REFERENCES turns(id), ordinal INTEGER NOT NULL, name TEXT NOT NULL,
    source TEXT NOT NULL, arguments TEXT, status TEXT NOT NULL, reason TEXT, handler_latency_ms REAL,
    accepted INTEGER NOT NULL, completed_step INTEGER, result_place INTEGER,
    PRIMARY KEY (turn_id, ordinal)
) STRICT;
CREATE TABLE answers (
    turn_id INTEGER NOT NULL REFERENCES turns(id), ordinal INTEGER NOT NULL, kind TEXT NOT NULL,
    text TEXT NOT NULL, completed_step INTEGER NOT NULL, PRIMARY KEY (turn_id, ordinal)
) STRICT;
"""
SESSION_OPEN = "open"
SESSION_TERMINAL = "terminal"


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A row of the turn ledger; times in milliseconds, None where there is none."""

    id: int
    input: str
    status: str
    error_code: str | None
    error_message: str | None
    directive: str | None
    fallback: str | None
    first_visible_ms: float | None
    turn_wall_time_ms: float | None


@dataclass(frozen=True, slots=True)
class StoredCall:
    """A model call; `status` is `completed`, `failed` or `running` (cut off before its end)."""

    role: str
    status: str
    finish_reason: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    total_tokens: int | None
    cached_tokens: int | None


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event. `completed_step` orders its end among the answers; `result_place` orders the results."""

    ordinal: int
    name: str
    source: str
    status: str
    reason: str | None
    handler_latency_ms: float | None
    accepted: int
    completed_step: int | None
    result_place: int | None


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A visible answer; `completed_step` orders its end among the ends of events."""

    ordinal: int
    kind: str
    text: str
    completed_step: int


@dataclass(frozen=True, slots=True)
class Audit:
    """All that is stored of a session: rows in the order in which they came about."""

    state: str
    turns: tuple[StoredTurn, ...]
    calls: tuple[StoredCall, ...]
    events: tuple[StoredEvent, ...]
    answers: tuple[StoredAnswer, ...]


class SessionStore:
    """A database in write-ahead mode.

    Args:
        path: the file, made when absent.
        redact: takes secrets out of every text before it is stored.
    """

    def __init__(self, path: Path, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def insert(self, table: str, **values: Any) -> int:
        """Add a row; returns its id. Table and column names are the program's own."""
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        cursor = self._database.execute(
            f"INSERT INTO {table} ({columns}) VALUES ({marks})",  # noqa: S608 - no name comes from outside
            self._clean(values),
        )
        return int(cursor.lastrowid or 0)

    def update(self, table: str, where: dict[str, Any], **values: Any) -> None:
        """Change rows. Table and column names are the program's own."""
        changes = ", ".join(f"{column} = ?" for column in values)
        condition = " AND ".join(f"{column} = ?" for column in where)
        self._database.execute(
            f"UPDATE {table} SET {changes} WHERE {condition}",  # noqa: S608 - no name comes from outside
            [*self._clean(values), *where.values()],
        )

    def _clean(self, values: dict[str, Any]) -> list[Any]:
        # A lone surrogate, which JSON may carry, can't be stored.
        return [
            self._redact(value).encode("utf-8", "replace").decode() if isinstance(value, str) else value
            for value in values.values()
        ]

    def audit(self, session_id: str) -> Audit:
        """Everything about one session."""
        state = self._rows("SELECT state FROM sessions WHERE id = ?", session_id)[0][0]
        turns = self._rows(
            "SELECT id, input, status, error_code, error_message, directive, fallback, first_visible_ms,"
            " turn_wall_time_ms FROM turns WHERE session_id = ? ORDER BY id",
            session_id,
        )
        calls = self._rows(
            "SELECT role, c.status, finish_reason, prompt_tokens, completion_tokens, total_tokens,"
            " cached_tokens FROM model_calls c JOIN turns t ON t.id = turn_id WHERE session_id = ?"
            " ORDER BY c.id",
            session_id,
        )
        events = self._rows(
            "SELECT ordinal, name, source, e.status, reason, handler_latency_ms, accepted, completed_step,"
            " result_place FROM events e JOIN turns t ON t.id = turn_id WHERE session_id = ?"
            " ORDER BY turn_id, ordinal",
            session_id,
        )
        answers = self._rows(
            "SELECT ordinal, kind, text, completed_step FROM answers JOIN turns t ON t.id = turn_id"
            " WHERE session_id = ? ORDER BY turn_id, ordinal",
            session_id,
        )
        return Audit(
            state=state,
            turns=tuple(StoredTurn(*row) for row in turns),
            calls=tuple(StoredCall(*row) for row in calls),
            events=tuple(StoredEvent(*row) for row in events),
            answers=tuple(StoredAnswer(*row) for row in answers),
        )

    def _rows(self, query: str, session_id: str) -> list[tuple[Any, ...]]:
        return self._database.execute(query, (session_id,)).fetchall()
