"""Durations of calls, counted in steps: bounded however many calls there are, and additive."""

import bisect
from collections.abc import Mapping, Sequence

#: Ten steps to a power of ten, the preferred numbers R10 of ISO 3.
_STEPS = (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)

#: From 10 microseconds to 8,000 s; what is shorter counts as the first, what is longer as the last.
_BOUNDS = tuple(float(f"{step}e{power}") for power in range(-5, 4) for step in _STEPS)

#: Step to the number of calls that took no longer than it, and longer than the step before.
Spread = dict[str, int]


def count(spread: Spread, took_s: float) -> None:
    """Add one call."""
    index = min(bisect.bisect_left(_BOUNDS, took_s), len(_BOUNDS) - 1)
    key = repr(_BOUNDS[index])
    spread[key] = spread.get(key, 0) + 1


def add(spread: Spread, other: Mapping[str, int]) -> None:
    """Add the calls of another count."""
    for key, calls in other.items():
        spread[key] = spread.get(key, 0) + calls


#: Operation to [calls, longest in seconds, all together in seconds].
Calls = dict[str, list[float]]


def add_calls(calls: Calls, other: Mapping[str, Sequence[float]]) -> None:
    """Add the calls of each operation of another count."""
    for operation, (count, longest_s, all_s) in other.items():
        row = calls.get(operation, [0, 0.0, 0.0])
        calls[operation] = [row[0] + count, max(row[1], longest_s), row[2] + all_s]


def in_order(spread: Mapping[str, int]) -> Spread:
    """The same, shortest first."""
    return {key: spread[key] for key in sorted(spread, key=float)}


def median_s(spread: Mapping[str, int]) -> float:
    """
    The step within which half of the calls returned: true as "half took at most this".

    Raises:
        ValueError: There was no call.

    """
    left = (sum(spread.values()) + 1) // 2
    for key, calls in in_order(spread).items():
        left -= calls
        if left <= 0 < calls:
            return float(key)
    raise ValueError("no call was counted")
