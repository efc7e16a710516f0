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
    "record_turn": "MP-REC-002",
    "items": "MP-ITEMS-001",
    "export": "MP-PRIV-001",
    "forget": "MP-PRIV-002",
    "prewarm": "MP-PREWARM-001",
    "turn_start": "MP-TSTART-001",
    "end": "MP-SESS-001",
    "switch": "MP-SESS-006",
    "delegation": "MP-DELEG-001",
    "prompt": "MP-PROMPT-001",
    "status": "MP-STATUS-001",
    "unavailable_reason": "MP-STATUS-003",
    "compress_notes": "MP-NOTES-001",
    "config_schema": "MP-CONF-003",
    "save_config": "MP-CONF-004",
    "backup": "MP-BACKUP-001",
    "tools": "MP-TOOL-002",
    "call_tool": "MP-TOOL-008",
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
    "record_turn": "MP-THR-003",
    "items": "MP-ITEMS-001",
    "export": "MP-PRIV-001",
    "forget": "MP-PRIV-002",
    "prewarm": "MP-PREWARM-002",
    "turn_start": "MP-TSTART-002",
    "end": "MP-SESS-005",
    "switch": "MP-SESS-005",
    "delegation": "MP-DELEG-001",
    "prompt": "MP-PROMPT-001",
    "status": "MP-STATUS-001",
    "unavailable_reason": "MP-STATUS-003",
    "compress_notes": "MP-NOTES-001",
    "config_schema": "MP-CONF-003",
    "save_config": "MP-CONF-004",
    "backup": "MP-BACKUP-001",
    "tools": "MP-TOOL-002",
    "call_tool": "MP-TOOL-013",
}

#: While the kit makes the backend fail, lateness is judged by these rules and by no other.
FAULTS: dict[str, frozenset[str]] = {
    "MP-FAULT-001": frozenset({"recall"}),
    "MP-FAULT-002": frozenset({"record", "mirror", "end"}),
    "MP-FAULT-003": frozenset({"close"}),
    "MP-FAULT-004": frozenset({"open"}),
    "MP-FAULT-005": frozenset({"recall", "record", "mirror", "end"}),
}

FROZE = "MP-THR-002"
DIED = "MP-ISO-003"
GREW = "MP-RES-007"
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
    "record_turn": 15.0,
    "items": 5.0,
    "export": 15.0,
    "forget": 15.0,
    "prewarm": 5.0,
    "turn_start": 5.0,
    "end": 15.0,
    "switch": 15.0,
    "delegation": 15.0,
    "prompt": 5.0,
    "status": 5.0,
    "unavailable_reason": 5.0,
    "compress_notes": 120.0,
    "config_schema": 5.0,
    "save_config": 15.0,
    "backup": 5.0,
    "tools": 5.0,
    "call_tool": 60.0,
}

#: For hooks of extensions, for which this release sets no bound.
OTHER_BUDGET_S = 15.0

#: A hook that overran once is waited for this long afterwards.
AGAIN_S = 1.0


def makes_fail(requirement_id: str) -> bool:
    """Whether the check of a requirement makes the backend fail."""
    return requirement_id.startswith("MP-FAULT-")


def books_late(requirement_id: str, operation: str) -> bool:
    """Whether that a hook of `operation` was late in a check is a violation of some rule."""
    return not makes_fail(requirement_id) or operation in FAULTS.get(requirement_id, ())


#: After so many deaths or hangs of one hook it is not called any more.
MOST_DEATHS = 3


def budget_s(operation: str, *, scale: float, deaths: int) -> float:
    """How long a hook of `operation` is waited for, given how often it hung before."""
    full = BUDGETS_S.get(operation, OTHER_BUDGET_S)
    return (min(full, AGAIN_S) if deaths else full) * scale
