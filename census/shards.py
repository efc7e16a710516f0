"""Parts of the census for several machines: which target is in which part, and the matrix of CI."""

import re
from collections.abc import Sequence
from typing import TypeVar

from census.entries import Unusable

_T = TypeVar("_T")


def part(items: Sequence[_T], shard: str) -> list[_T]:
    """
    The items of one part, `K/N` with K from 1 on; every N-th, so that families are spread.

    Raises:
        Unusable: `shard` has another form.

    """
    found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", shard)
    if found is None or int(found[1]) > int(found[2]):
        raise Unusable(f"--shard {shard} is no K/N\n  fix: --shard 1/8")
    number, count = int(found[1]), int(found[2])
    return list(items[number - 1 :: count])


def matrix(count: int) -> dict[str, list[dict[str, str]]]:
    """The matrix of a workflow with so many parts."""
    rows = [f"{number}/{count}" for number in range(1, count + 1)]
    return {"include": [{"shard": row, "name": row.replace("/", "-of-")} for row in rows]}
