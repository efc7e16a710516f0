"""
Environments of tests: on each Python, once, or in an environment of their own.

MEMPROTO_PART chooses, as tox.ini sets it: `each` is for every Python, `once` for the newest.
Without it pytest runs what it is asked for. The marker `once` is for tests that take long and do
not depend on the Python: whole runs of the kit, tests that wait, the broken providers, documents.
"""

import pytest

#: Folders with an environment of their own in tox.ini.
APART = (
    *("browser", "frameworks", "honcho", "hostile", "languages", "mcp", "mentisdb", "openclaw"),
    "wild",
)


def left_out(part: str) -> list[str]:
    """The folders of tests that a part does not run."""
    return [*APART] if part in {"each", "once"} else []


def is_of(part: str, item: pytest.Item) -> bool:
    """True if the part runs the test."""
    marked = item.get_closest_marker("once") is not None
    return {"each": not marked, "once": marked}.get(part, True)
