"""
The requirement that is violated if a hook raises, hangs, freezes or ends the process.

Such a thing may happen in the check of any requirement. It is booked under the rule that forbids
it, so that the check it happened in stays untestable and the rule turns red wherever it is met.
"""

import functools

from memproto import spec

#: Operation to the rule where its hook raises, the rule where it is late, and the seconds that it
#: may take: the specification's bound, or the kit's patience without one.
_HOOKS: dict[str, tuple[str, str, float]] = {
    "load": ("MP-LOAD-001", "MP-LOAD-001", 20.0),
    "name": ("MP-NAME-001", "MP-NAME-001", 5.0),
    "available": ("MP-AVAIL-001", "MP-AVAIL-001", 5.0),
    "open": ("MP-INIT-001", "MP-INIT-001", 30.0),
    "declare": ("MP-CAP-001", "MP-CAP-001", 5.0),
    "recall": ("MP-RECALL-006", "MP-RECALL-002", 5.0),
    "record": ("MP-TURN-002", "MP-THR-003", 15.0),
    "mirror": ("MP-WRITE-002", "MP-THR-003", 15.0),
    "compress": ("MP-COMP-001", "MP-COMP-001", 120.0),
    "close": ("MP-SHUT-001", "MP-SHUT-005", 15.0),
    "record_turn": ("MP-REC-002", "MP-THR-003", 15.0),
    "items": ("MP-ITEMS-001", "MP-ITEMS-001", 5.0),
    "export": ("MP-PRIV-001", "MP-PRIV-001", 15.0),
    "forget": ("MP-PRIV-002", "MP-PRIV-002", 15.0),
    "prewarm": ("MP-PREWARM-001", "MP-PREWARM-002", 5.0),
    "turn_start": ("MP-TSTART-001", "MP-TSTART-002", 5.0),
    "end": ("MP-SESS-001", "MP-SESS-005", 15.0),
    "switch": ("MP-SESS-006", "MP-SESS-005", 15.0),
    "delegation": ("MP-DELEG-001", "MP-DELEG-001", 15.0),
    "prompt": ("MP-PROMPT-001", "MP-PROMPT-001", 5.0),
    "status": ("MP-STATUS-001", "MP-STATUS-001", 5.0),
    "unavailable_reason": ("MP-STATUS-003", "MP-STATUS-003", 5.0),
    "compress_notes": ("MP-NOTES-001", "MP-NOTES-001", 120.0),
    "config_schema": ("MP-CONF-003", "MP-CONF-003", 5.0),
    "save_config": ("MP-CONF-004", "MP-CONF-004", 15.0),
    "backup": ("MP-BACKUP-001", "MP-BACKUP-001", 5.0),
    "tools": ("MP-TOOL-002", "MP-TOOL-002", 5.0),
    "call_tool": ("MP-TOOL-008", "MP-TOOL-013", 60.0),
}

RAISED = {operation: raised for operation, (raised, _, _) in _HOOKS.items()}
LATE = {operation: late for operation, (_, late, _) in _HOOKS.items()}
BUDGETS_S = {operation: budget_s for operation, (_, _, budget_s) in _HOOKS.items()}

#: While the kit makes the backend fail, lateness is judged by these rules and by no other.
FAULTS: dict[str, frozenset[str]] = {
    "MP-FAULT-001": frozenset({"recall"}),
    "MP-FAULT-002": frozenset({"record", "mirror", "end"}),
    "MP-FAULT-003": frozenset({"close"}),
    "MP-FAULT-004": frozenset({"open"}),
    "MP-FAULT-005": frozenset({"recall", "record", "mirror", "end"}),
}

#: While memory is counted the interpreter runs at a part of its pace, and no hook is late.
COUNTS = "MP-RES-004"

#: Compression that raises where raising is how the provider stops the compressor: instead of
#: MP-COMP-001, from which a checkpoint is excepted.
CHECKPOINT = "MP-CHECK-002"

FROZE = "MP-THR-002"
DIED = "MP-ISO-003"
GREW = "MP-RES-007"
LOAD = "MP-LOAD-001"
#: The target changed the code that judges it, or spoke in its name.
MEDDLED = "MP-ISO-010"

#: Rules that the checks of other requirements find violated, beside those on hooks and processes.
#: First contact surveys by one, and a provider breaks others by the very answer that a check needs.
_BY_OTHER_CHECKS = frozenset(
    {
        *("MP-LOAD-002", "MP-LOAD-003", "MP-CAP-003", "MP-COMP-003", "MP-RECALL-001"),
        *("MP-RECALL-007", "MP-TEXT-001", "MP-WRITE-001", "MP-CAP-002"),
        *("MP-PROC-001", "MP-PROC-002"),
    }
)

#: The same for hosts: the methods that do not return, and what stands for a host that is not built.
_BY_OTHER_CHECKS_OF_HOSTS = frozenset(
    {
        *("MP-HOST-RECALL-001", "MP-HOST-TURN-002", "MP-HOST-SHUT-003", "MP-HOST-SESS-004"),
        "MP-HOST-TOOL-006",
    }
)

#: For hooks of extensions, for which this release sets no bound.
OTHER_BUDGET_S = 15.0

#: A hook that overran once is waited for this long afterwards, where nothing says otherwise: a
#: dead provider is to cost seconds. It is no bound: what returns within the whole time is in time.
AGAIN_S = 1.0

#: After so many deaths or hangs of one hook it is not called any more.
MOST_DEATHS = 3

#: A process that ends between two hooks costs a moment, one that has to be waited for the time of
#: a check: after so many of the first kind, or a quarter of that of the second, none is started.
MOST_LOST, STUCK = 12, 4


@functools.cache
def found_elsewhere(side: spec.Side) -> frozenset[str]:
    """
    The rules of a side that the check of another requirement may find violated.

    Nothing is said of them before the last check has ended; of all others their own check decides.
    """
    if side == "host":
        return _BY_OTHER_CHECKS_OF_HOSTS | {spec.select([], side)[0].id}
    processes = {FROZE, DIED, GREW, LOAD, CHECKPOINT, MEDDLED}
    return _BY_OTHER_CHECKS | processes | {*RAISED.values(), *LATE.values()}


def cost(operation: str, fate: str) -> int:
    """Count of the loss of a process for its operation; "" stands for between two hooks."""
    return 1 if operation or fate == "died" else STUCK


def makes_fail(requirement_id: str) -> bool:
    """True if the check of a requirement makes the backend fail."""
    return requirement_id.startswith("MP-FAULT-")


def is_cut(operation: str, waited_s: float, scale: float) -> bool:
    """True if a hook was waited for less than its whole time."""
    return waited_s < budget_s(operation, scale=scale, deaths=0)


def books_late(requirement_id: str, operation: str) -> bool:
    """True if a hook of `operation` that was late in a check violates some rule."""
    if makes_fail(requirement_id):
        return operation in FAULTS.get(requirement_id, ())
    return requirement_id != COUNTS


def why_not_late(requirement_id: str) -> str:
    """Reason for which a hook that was late is not booked."""
    if makes_fail(requirement_id):
        return "while its backend failed; see the chapter's rules on time"
    return "while its memory was counted, which slows it"


def budget_s(operation: str, *, scale: float, deaths: int) -> float:
    """Seconds that a hook of `operation` is waited for, given the number of its earlier hangs."""
    full = BUDGETS_S.get(operation, OTHER_BUDGET_S)
    return (min(full, AGAIN_S) if deaths else full) * scale
