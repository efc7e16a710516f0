"""Figures with their uncertainty: shares, changes of shares, percentiles, growth."""

import math
from collections.abc import Sequence
from statistics import NormalDist, linear_regression

#: The intervals hold the true value 95 times of 100.
LEVEL = 0.95

_Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)


def of_share(hits: int, of: int) -> tuple[float, float]:
    """
    The interval of a share by Wilson's score, which is sound for few trials and at 0 and 1.

    (0, 1) for no trial.
    """
    if not of:
        return 0.0, 1.0
    share, squared = hits / of, _Z**2
    middle = (share + squared / (2 * of)) / (1 + squared / of)
    half = _Z / (1 + squared / of) * math.sqrt(share * (1 - share) / of + squared / (4 * of**2))
    low = 0.0 if hits == 0 else max(0.0, middle - half)
    high = 1.0 if hits == of else min(1.0, middle + half)
    return low, high


def chance_of_pairs(lost: int, won: int) -> float:
    """
    The chance that as uneven a change comes about if nothing changed (McNemar's exact test).

    Of the questions that both measurements asked, so many were answered before and are not now, and
    the other way round. A target that answers by chance loses and wins alike.
    """
    of = lost + won
    tail: int = sum(math.comb(of, count) for count in range(min(lost, won) + 1))
    return float(min(1.0, 2 * tail / 2**of))


def percentile(values: Sequence[float], share: float) -> float:
    """
    The least of the values that so large a share of them does not exceed; no value in between.

    Raises:
        ValueError: There is no value.

    """
    if not values:
        raise ValueError("no value")
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def slope(sizes: Sequence[float], values: Sequence[float]) -> float | None:
    """
    The power of the size by which the values grow: 0 for none, 1 for as fast as the size.

    It is the least-squares line over both logarithms; None for fewer than two sizes, or a value
    that is not above 0.
    """
    if len(set(sizes)) < 2 or min(*sizes, *values) <= 0:
        return None
    return linear_regression(list(map(math.log10, sizes)), list(map(math.log10, values))).slope


def of_median(values: Sequence[float]) -> tuple[float, float]:
    """
    The interval of a median between two of the values, whatever their distribution.

    Raises:
        ValueError: There is no value.

    """
    if not values:
        raise ValueError("no value")
    ordered, half = sorted(values), _Z * math.sqrt(len(values)) / 2
    low = max(0, math.floor(len(values) / 2 - half))
    high = min(len(values) - 1, math.ceil(len(values) / 2 + half))
    return ordered[low], ordered[high]
