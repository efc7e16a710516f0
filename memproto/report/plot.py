"""The times of operations as strips on one logarithmic axis, beside their deadlines."""

import math
from typing import Any

#: The left end of the axis, in seconds: a call that is shorter is not told from one this long.
_LEAST_S = 1e-5

#: The right end is at least here, so that runs of quick providers look alike.
_MOST_S = 20.0


def of(operations: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    """Axis and strips for the page; None for no operations."""
    if not operations:
        return None
    longest = max(max(row["budget_s"], row["slowest_s"]) for row in operations.values())
    right_s = max(longest, _MOST_S) * 1.6
    return {
        "ticks": [(_at(10.0**power, right_s), duration(10.0**power)) for power in _powers(right_s)],
        "strips": [_strip(name, row, right_s) for name, row in operations.items()],
    }


def duration(value_s: float) -> str:
    """A time with three digits and the unit that suits it."""
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if value_s < limit:
            return f"{_digits(value_s * factor)} {unit}"
    return f"{_digits(value_s)} s"


def size(count: float) -> str:
    """A number of bytes with three digits and the unit that suits it."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:g} B"


def _digits(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _powers(right_s: float) -> range:
    return range(round(math.log10(_LEAST_S)), math.floor(math.log10(right_s)) + 1)


def _at(value_s: float, right_s: float) -> float:
    """Distance of a time from the left of the axis, in per cent."""
    span = math.log10(right_s / _LEAST_S)
    return round(100 * math.log10(max(value_s, _LEAST_S) / _LEAST_S) / span, 2)


def _strip(name: str, row: dict[str, Any], right_s: float) -> dict[str, Any]:
    most = max(row["times"].values())
    return {
        **row,
        "operation": name,
        "is_late": row["slowest_s"] > row["budget_s"],
        "deadline": _at(row["budget_s"], right_s),
        "half": _at(row["p50_s"], right_s),
        "end": _at(row["slowest_s"], right_s),
        "bars": [_bar(float(key), calls, most, right_s) for key, calls in row["times"].items()],
    }


def _bar(upper_s: float, calls: int, most: int, right_s: float) -> dict[str, float]:
    """One step: its height goes by the logarithm, so that a single slow call is still seen."""
    left, right = _at(upper_s / 10**0.1, right_s), _at(upper_s, right_s)
    height = 0.2 + 0.8 * math.log1p(calls) / math.log1p(most)
    return {"x": left, "width": round(max(right - left, 0.5), 2), "height": round(100 * height)}
