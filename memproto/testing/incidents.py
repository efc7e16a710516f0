"""
Which requirement is violated when a hook raises, hangs, freezes or ends the process.

Such a thing may happen in the check of any requirement. It is booked under the rule that forbids
it, so that the check it happened in stays untestable and the rule turns red wherever it is met.
"""

RAISED: dict[str, str] = {
    "load": "MP-LOAD-001",
    "name": "MP-NAME-001",
    "available": "MP-AVAIL-001",
    "open": "MP-INIT-001",
    "declare": "MP-CAP-001",
    "recall": "MP-RECALL-006",
    "record": "MP-TURN-002",
    "mirror": "MP-WRITE-002",
    "compress": "MP-COMP-001",
    "close": "MP-SHUT-001",
}

LATE: dict[str, str] = {
    "load": "MP-LOAD-001",
    "name": "MP-NAME-001",
    "available": "MP-AVAIL-001",
    "open": "MP-INIT-001",
    "declare": "MP-CAP-001",
    "recall": "MP-RECALL-002",
    "record": "MP-THR-003",
    "mirror": "MP-THR-003",
    "compress": "MP-COMP-001",
    "close": "MP-SHUT-005",
}

FROZE = "MP-THR-002"
DIED = "MP-ISO-003"
LOAD = "MP-LOAD-001"

#: Seconds that a hook may take: the specification's bound, or the kit's patience without one.
BUDGETS_S: dict[str, float] = {
    "load": 20.0,
    "name": 5.0,
    "available": 5.0,
    "open": 30.0,
    "declare": 5.0,
    "recall": 5.0,
    "record": 15.0,
    "mirror": 15.0,
    "compress": 120.0,
    "close": 15.0,
}

#: For hooks of extensions, for which this release sets no bound.
OTHER_BUDGET_S = 15.0

#: A hook that overran once is waited for this long afterwards.
AGAIN_S = 1.0

#: After so many deaths or hangs of one hook it is not called any more.
MOST_DEATHS = 3


def budget_s(operation: str, *, scale: float, deaths: int) -> float:
    """How long a hook of `operation` is waited for, given how often it hung before."""
    full = BUDGETS_S.get(operation, OTHER_BUDGET_S)
    return (min(full, AGAIN_S) if deaths else full) * scale
