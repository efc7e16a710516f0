"""Chapter 25: the life of a session."""

from typing import NoReturn

from memproto.testing import wording
from memproto.testing.clauses import Lost, Untestable, check
from memproto.testing.evidence import NotRecalled
from memproto.testing.needs import NO_REFUSAL, depends_on
from memproto.testing.provider.run import Run
from memproto.testing.scenarios.machine import Loss
from memproto.testing.scenarios.sequences import Found, Search, alone

#: The rules that speak about one operation alone, by the operation.
_RULES = {
    "record": ("MP-TURN-001", "MP-TURN-003", "MP-TURN-004"),
    "mirror": ("MP-WRITE-001", "MP-WRITE-005"),
    "call_tool": ("MP-TOOL-001",),
}

#: Both runs of the sequence: the one that was told, and the other one.
_ONCE = "; intermittent: the same calls, made once more, lost nothing"


@check("MP-LIFE-001", budget_s=300.0, routes=("turns", "writes", "tools"))
def no_order_of_calls_loses_what_was_accepted(run: Run) -> None:
    search = Search(run)
    if known := search.known():
        _is_violated(run, known.loss)
    found = search.shortest()
    if found is None:
        if not search.accepted:
            reason = "every plain text was refused"
            raise Untestable(reason, NO_REFUSAL)
        return
    repeats = search.tried(found.steps) is not None
    _not_of_one_operation(search, found)
    _not_of_compression(run, search, found)
    _is_violated(run, found.loss, "" if repeats else _ONCE)


def _is_violated(run: Run, loss: Loss, tail: str = "") -> NoReturn:
    run.violated(
        _lost(loss).told(
            wanted=(
                "text that was accepted recalled after shutdown and a new start, whatever was "
                "called between"
            ),
            tail=tail,
        ),
        operation=loss.operation,
    )


def _not_of_one_operation(search: Search, found: Found) -> None:
    """If no other operation is needed for the loss, the rules of this one judge it."""
    plain = alone(found)
    if plain == found.steps or search.tried(plain):
        rules = depends_on(*_RULES[found.loss.operation])
        raise Lost(f"no mixture of calls is needed: {_told(found.loss)}", rules)


def _not_of_compression(run: Run, search: Search, found: Found) -> None:
    """A text stored before a compression and gone after it has a rule of its own."""
    if not found.loss.before_compression:
        return
    lost = search.tried(alone(found, "compress"))
    if lost is not None and lost.before_compression:
        run.violated(
            _lost(lost).told(
                wanted=f"text stored before {run.hook('compress')}, recalled after a new start",
            ),
            operation="compress",
            requirement="MP-COMP-003",
        )


def _told(loss: Loss) -> str:
    return wording.observed(_lost(loss))


def _lost(loss: Loss) -> NotRecalled:
    lead, tail = f"{loss.letter} = ", f" after: {', '.join(loss.told)}"
    return NotRecalled(texts=(loss.fact.text,), lead=lead, tail=tail, removed=loss.removed)
