"""Duration of each operation beside its deadline; of several runs, taken together."""

from collections.abc import Iterable
from typing import Any

from memproto.bindings import NATIVE, Binding
from memproto.operations import OPERATIONS
from memproto.testing import incidents, spread
from memproto.testing.outcomes import Result
from memproto.testing.settings.order import Order


def of_run(
    results: Iterable[Result], order: Order, binding: Binding | None
) -> dict[str, dict[str, Any]]:
    """
    Operation to its calls and times, as `operations` of a report; nothing for a host.

    A check that makes the backend fail, or that counts memory, slows the provider on purpose: its
    calls are left out where that they are late violates nothing. A host waits for providers that
    the kit has hang; its times say nothing about it.
    """
    if order.side == "host":
        return {}
    found: dict[str, list[tuple[dict[str, int], float]]] = {}
    for result in results:
        for operation, (_, longest_s, _) in result.hooks.items():
            counted = result.times.get(operation)
            if counted and incidents.books_late(result.seen_in or result.id, operation):
                found.setdefault(operation, []).append((counted, longest_s))
    rows = {name: _row(name, calls, order, binding) for name, calls in found.items()}
    return _in_order(rows)


def merged(reports: Iterable[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """The `operations` of several reports on one target, as if one run had made all the calls."""
    found: dict[str, dict[str, Any]] = {}
    for operations in reports:
        for name, row in operations.items():
            found[name] = _together(found[name], row) if name in found else row
    return _in_order(found)


def _row(
    operation: str,
    counted: list[tuple[dict[str, int], float]],
    order: Order,
    binding: Binding | None,
) -> dict[str, Any]:
    times: spread.Spread = {}
    for calls, _ in counted:
        spread.add(times, calls)
    known, of_host = operation in OPERATIONS, (binding or NATIVE).budgets_s
    return {
        "hook": (binding or NATIVE).hook(operation) if known else operation,
        "budget_s": incidents.budget_s(operation, scale=order.scale, deaths=0, of_host=of_host),
        "rule": incidents.LATE.get(operation),
        **_figures(times, max(longest_s for _, longest_s in counted)),
    }


def _figures(times: spread.Spread, slowest_s: float) -> dict[str, Any]:
    slowest_s = round(slowest_s, 6)
    return {
        "calls": sum(times.values()),
        "p50_s": min(spread.median_s(times), slowest_s),
        "slowest_s": slowest_s,
        "times": spread.in_order(times),
    }


def _together(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    times: spread.Spread = {}
    spread.add(times, first["times"])
    spread.add(times, second["times"])
    slowest_s = max(first["slowest_s"], second["slowest_s"])
    # Shards on unlike machines may have unlike scales: the larger budget accuses nobody.
    budget_s = max(first["budget_s"], second["budget_s"])
    return {**first, "budget_s": budget_s, **_figures(times, slowest_s)}


def _in_order(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """As in the life of a session, and not as they were met."""
    places = {name: place for place, name in enumerate(("load", *OPERATIONS))}
    return {name: rows[name] for name in sorted(rows, key=lambda key: places.get(key, len(places)))}
