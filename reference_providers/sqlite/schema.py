"""
The tables, and how a file of an earlier release becomes one of this release.

`PRAGMA user_version` counts the steps that a file has seen. A step is never changed once it was
released: what is new is one more step.
"""

import sqlite3

from memproto.errors import Misconfigured

_FIRST = (
    """CREATE TABLE sessions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        owner TEXT NOT NULL,
        key TEXT NOT NULL,
        platform TEXT,
        title TEXT,
        tags TEXT NOT NULL DEFAULT '',
        parent TEXT,
        started_at TEXT NOT NULL,
        ended_at TEXT,
        UNIQUE (owner, key))""",
    """CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        role TEXT NOT NULL,
        source TEXT NOT NULL,
        content TEXT NOT NULL,
        name TEXT,
        tokens INTEGER,
        turn_id TEXT,
        author TEXT,
        created_at TEXT NOT NULL)""",
    "CREATE INDEX messages_of_session ON messages (session)",
    "CREATE INDEX messages_of_turn ON messages (turn_id) WHERE turn_id IS NOT NULL",
    "CREATE INDEX messages_of_tool ON messages (name) WHERE source = 'writes'",
    """CREATE TABLE summaries (
        message INTEGER PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
        keywords TEXT NOT NULL)""",
    """CREATE TABLE learnings (
        message INTEGER PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
        pattern TEXT NOT NULL,
        fix TEXT NOT NULL,
        tags TEXT NOT NULL,
        times_used INTEGER NOT NULL DEFAULT 0)""",
    "CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
)

#: The statements of each step, the oldest first.
STEPS: tuple[tuple[str, ...], ...] = (_FIRST,)


def version(connection: sqlite3.Connection) -> int:
    """Number of steps that the file has seen; 0 for a new one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def is_current(connection: sqlite3.Connection) -> bool:
    """
    True if no step is left to take.

    Raises:
        Misconfigured: A later release made the file.

    """
    seen = version(connection)
    if seen > len(STEPS):
        fault = f"a later release made it (format {seen}, and this release knows {len(STEPS)})"
        raise Misconfigured(f"{fault}; use that release, or give another path")
    return seen == len(STEPS)


def migrate(connection: sqlite3.Connection) -> None:
    """Take the steps that are left; call in a transaction, so that a file has seen all or none."""
    for step in STEPS[version(connection) :]:
        for statement in step:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(STEPS)}")
