"""Parts of a long list that several machines work off; each entry is in exactly one of them."""

import argparse
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def named(text: str) -> tuple[int, int]:
    """
    The number of a part, from 1, and how many there are, of a word such as 2/8.

    Raises:
        argparse.ArgumentTypeError: It is none.

    """
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise argparse.ArgumentTypeError(f"{text!r} is no part I/N, such as 2/8")
    return int(number), int(count)


def shard(found: Sequence[T], number: int, count: int) -> list[T]:
    """Part `number` of `count`, from 1."""
    return [*found[number - 1 :: count]]
