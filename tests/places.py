"""
Environments of tests: on each Python, once, each night, or in an environment of their own.

MEMPROTO_PART chooses, as tox.ini sets it: `each` is for every Python, `once` for the newest.
Without it pytest runs what it is asked for. The marker `once` is for tests that take long and do
not depend on the Python: whole runs of the kit, tests that wait, the broken providers, documents.
The marker `nightly` is for members of a family of which CI judges others; the part `nightly` runs
them, and no other part does.
The marker `long` is for those that take most of a minute: each worker begins with its share.
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

#: Folders with an environment of their own in tox.ini.
APART = (
    *("browser", "frameworks", "honcho", "hostile", "languages", "mcp", "mentisdb", "openclaw"),
    "wild",
)

#: Parts of the tests; the last two are chosen by a marker of their name.
PARTS = ("each", "once", "nightly")


def left_out(part: str) -> list[str]:
    """The folders of tests that a part does not run."""
    return [*APART] if part in PARTS else []


def is_of(part: str, item: pytest.Item) -> bool:
    """True if the part runs the test."""
    is_once, is_nightly = (item.get_closest_marker(name) is not None for name in PARTS[1:])
    chosen = "nightly" if is_nightly else "once" if is_once else "each"
    return part not in PARTS or part == chosen


def nightly(*values: Any) -> Any:
    """Values of one case for `parametrize`, which has the marker `nightly`."""
    return pytest.param(*values, marks=pytest.mark.nightly)


def half_nightly(values: Iterable[Any]) -> list[Any]:
    """Values of a family for `parametrize`; every second one has the marker `nightly`."""
    return [nightly(value) if number % 2 else value for number, value in enumerate(values)]


def spread(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """
    Items in an order in which each of so many workers has its share of the long ones first.

    With `--dist=worksteal` of pytest-xdist a worker begins with one of as many equal runs of items,
    and the last items of a run are stolen. A long one at the end would keep one worker busy while
    the others have nothing left.
    """
    is_long = [item.get_closest_marker("long") is not None for item in items]
    long = list(itertools.compress(items, is_long))
    rest = (item for item, marked in zip(items, is_long, strict=True) if not marked)
    found: list[pytest.Item] = []
    for worker in range(workers):
        size = (len(items) - len(found)) // (workers - worker)
        share = long[worker::workers][:size]
        found += share
        found += itertools.islice(rest, size - len(share))
    # With fewer items than workers a share may be smaller than the long ones that are due to it.
    placed = set(map(id, found))
    return found + [item for item in items if id(item) not in placed]
