"""
The rules on hooks that raise, hang, freeze or end the process, and the times that hooks are given.

`memproto.testing.judging.attribution` says which of them an event is booked under.
"""

from collections.abc import Mapping

from memproto import spec

#: Operation to the rule if its hook raises, the rule if it is late, whether that one binds while
#: the backend answers alone, and the seconds that it may take: the specification's bound, or the
#: kit's patience without one.
RAISED = {operation: row.raises for operation, row in spec.hooks().items()}
LATE = {operation: row.late for operation, row in spec.hooks().items()}
WHILE_ANSWERED = frozenset(name for name, row in spec.hooks().items() if row.while_answered)
BUDGETS_S = {operation: row.budget_s for operation, row in spec.hooks().items()}

#: Operation to the rule of a host whose method does not return.
HOST_LATE = {operation: row.host for operation, row in spec.hooks().items() if row.host}

#: While memory is counted the interpreter runs at a part of its pace, and no hook is late.
COUNTS = spec.role("counts_memory")

#: Compression that raises where raising is how the provider stops the compressor: instead of
#: the rule on compression that raises, from which a checkpoint is excepted.
CHECKPOINT = spec.role("checkpoint_refuses")

FROZE = spec.role("froze")
DIED = spec.role("died")
GREW = spec.role("grew")
LOAD = spec.role("load")
#: The target changed the code that judges it, or spoke in its name.
MEDDLED = spec.role("meddled")

#: For hooks of extensions, for which this release sets no bound.
OTHER_BUDGET_S = 15.0

#: A hook that overran once is waited for this long afterwards, where nothing says otherwise: a
#: dead provider is to cost seconds. It is no bound: what returns within the whole time is in time.
AGAIN_S = 1.0

#: A provider that waits by a clock of its own for just as long as its host returns a moment behind
#: that time by the kit's: so much is no more than the way between two clocks.
CLOCKS_S = 0.1

#: A text of so many characters is a long one, and may be the reason for which a hook hangs.
LONG_CHARS = 1_000

#: After so many deaths or hangs of one hook it is not called any more.
MOST_DEATHS = 3

#: A process that ends between two hooks costs a moment, one that has to be waited for the time of
#: a check: after so many of the first kind, or a quarter of that of the second, none is started.
MOST_LOST, STUCK = 12, 4


def load_rule(side: spec.Side) -> str:
    """The rule on loading; hosts have none, and the first of theirs stands for it."""
    return spec.role("load", side)


def cost(operation: str, fate: str) -> int:
    """Count of the loss of a process for its operation; "" stands for between two hooks."""
    return 1 if operation or fate == "died" else STUCK


def makes_fail(requirement_id: str) -> bool:
    """True if the check of a requirement makes the backend fail."""
    return _late_while_failing(requirement_id) is not None


def _late_while_failing(requirement_id: str) -> tuple[str, ...] | None:
    found = spec.requirements().get(requirement_id)
    return found.late_while_failing if found else None


def is_cut(operation: str, waited_s: float, scale: float, of_host: Mapping[str, float]) -> bool:
    """True if a hook was waited for less than its whole time."""
    return waited_s < budget_s(operation, scale=scale, deaths=0, of_host=of_host)


def books_late(requirement_id: str, operation: str) -> bool:
    """True if a hook of `operation` that was late in a check violates some rule."""
    judged = _late_while_failing(requirement_id)
    if judged is not None:
        return operation in judged
    return requirement_id != COUNTS


def why_not_late(requirement_id: str) -> str:
    """Reason for which a hook that was late is not booked."""
    if makes_fail(requirement_id):
        return "while its backend failed; see the chapter's rules on time"
    return "while its memory was counted, which slows it"


#: A framework whose host waits as long as the specification says.
_AS_SPECIFIED: Mapping[str, float] = {}


def budget_s(
    operation: str, *, scale: float, deaths: int, of_host: Mapping[str, float] = _AS_SPECIFIED
) -> float:
    """
    Seconds that a hook of `operation` is waited for, given the number of its earlier hangs.

    `of_host` are the times for which the host of the provider's framework waits.
    """
    full = of_host.get(operation) or BUDGETS_S.get(operation, OTHER_BUDGET_S)
    return (min(full, AGAIN_S) if deaths else full) * scale
