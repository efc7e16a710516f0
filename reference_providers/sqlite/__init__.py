"""The unbounded memory: every turn, write and lesson in one SQLite file, found by its words."""

from .provider import SqliteMemoryProvider

__all__ = ["SqliteMemoryProvider"]
