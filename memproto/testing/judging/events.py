"""
Events of a run that say something about a target, as data, before anybody is blamed for them.

`memproto.testing.judging.attribution` has a row for each of them.
"""

import dataclasses

from memproto import spec
from memproto.bindings import Binding
from memproto.testing.evidence import Acted, Died, Evidence, Froze, Grew, Late
from memproto.testing.needs import Need


@dataclasses.dataclass(frozen=True, kw_only=True)
class Event:
    """
    Something that happened.

    Attributes:
        check: The requirement whose check met it, or the rule on loading; "" for no check.

    """

    check: str


# -- before a check --------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotInRelease(Event):
    """The release that is scored by does not have the requirement."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unchecked(Event):
    """The kit does not check the requirement; `reason` says why."""

    reason: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class OtherBinding(Event):
    """The requirement is about providers of the binding `wanted`; this one is of `binding`."""

    wanted: str
    binding: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class GateClosed(Event):
    """A gate that the requirement stands behind did not hold, with what would open it."""

    reason: str
    needs: tuple[Need, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class LostTooOften(Event):
    """The process was lost between two hooks so often that none is started for the check."""


# -- ends of a check in the child ------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, kw_only=True)
class CheckReturned(Event):
    """The check came to its end and raised nothing."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RuleViolated(Event):
    """
    The check saw the requirement `rule` violated, its own or another one.

    Attributes:
        rests_on: The rules by which a stored text that is missed should have come back.

    """

    rule: str
    evidence: Evidence
    where: str = ""
    rests_on: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotConcerned(Event):
    """The check found that the requirement does not concern the target."""

    reason: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotExercised(Event):
    """The check could not exercise the requirement, with what would let it."""

    reason: str
    needs: tuple[Need, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotMeasured(Event):
    """The machine let the check decide nothing."""

    reason: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class HookRaised(Event):
    """
    A hook raised, and the check did not expect it.

    Attributes:
        operation: The operation that was asked for.
        hook: The hook that serves it, in the author's binding.
        where: File, line and name of that hook.
        error: The exception.
        text: The operation and the exception, in one line.
        binding: The provider's.
        has_checkpoint: True if the provider serves the extension `checkpoint`.
        ends_process: True if the exception is one that ends the interpreter.
        number: The number of the call on its instance; 0 if it is not counted.

    """

    operation: str
    hook: str
    where: str
    error: BaseException
    text: str
    binding: Binding
    has_checkpoint: bool = False
    ends_process: bool = False
    number: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class HookLate(Event):
    """
    A hook returned after its budget.

    Attributes:
        excuse: The machine's share in it, if that cannot be told apart; else "".
        was_late: True if the hook hung before in this run.
        unanswered: True if the target tried to reach a backend in the check, and none answered.
        given: The longest text that the hook was given, in the words of a message.
        given_chars: Its length in characters.

    The others are those of `HookRaised`.

    """

    operation: str
    hook: str
    where: str
    text: str
    took_s: float
    budget_s: float
    excuse: str = ""
    was_late: bool = False
    unanswered: bool = False
    given: str = ""
    given_chars: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class CheckRaised(Event):
    """
    The check raised outside of a hook, and none of the kit's own exceptions.

    Attributes:
        place: The line of the author's through which the exception came; "" for none.
        replaced: Names of the kit and of the interpreter that the provider had changed.

    """

    error: BaseException
    place: str = ""
    replaced: tuple[str, ...] = ()


# -- loading ---------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, kw_only=True)
class LoadRaised(Event):
    """Importing or building raised, at the author's line `place` if any."""

    error: BaseException
    place: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class LoadLate(Event):
    """Importing and building returned after their budget; `excuse` is the machine's share."""

    took_s: float
    budget_s: float
    excuse: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class LoadRefused(Event):
    """Loading failed after a connection or a program was refused to it."""

    seen: Acted


@dataclasses.dataclass(frozen=True, kw_only=True)
class LoadFailedAgain(Event):
    """A target that loaded before in this run could not be loaded any more, for `fault`."""

    fault: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class LoadOverdue(Event):
    """A process had not come to the target."""

    took_s: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Forked(Event):
    """Importing or building forked the process."""


# -- fates of a process ----------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProcessLost(Event):
    """
    A process of the target ended, or had to be ended.

    Attributes:
        side: The side of the target.
        operation: The operation whose hook ran, "load" for loading, "" for between two hooks.
        hook: That hook in the author's binding; "" for none.
        took_s: Seconds that the hook, or the command, had run.
        stack: The author's frames at that moment, innermost first.
        is_loading: True if there was no check yet: the process was about to load the target.
        is_known: True if the hook hung before in this run.
        is_afterwards: True if the check had ended before, and its results stand.
        tail: More about the circumstances, as the end of a sentence.
        after: The requirements whose checks have to run before for it to be met again.
        seen: The event as evidence.

    """

    side: spec.Side
    operation: str
    hook: str
    took_s: float
    seen: Died | Froze | Grew | Late
    stack: tuple[str, ...] = ()
    is_loading: bool = False
    is_known: bool = False
    is_afterwards: bool = False
    tail: str = ""
    after: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProcessDied(ProcessLost):
    """It ended by itself."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProcessFroze(ProcessLost):
    """Its interpreter stood still."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProcessGrew(ProcessLost):
    """It held too much memory."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class HookHung(ProcessLost):
    """
    A hook had not returned after its budget.

    Attributes:
        unanswered: True if the target tried to reach a backend in the check, and none answered.

    """

    unanswered: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class CheckOverdue(Event):
    """The check had not ended, and no hook was late."""

    took_s: float


# -- the kit itself --------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, kw_only=True)
class KitChanged(Event):
    """The target changed the code that judges it."""

    names: tuple[str, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class MessageForged(Event):
    """The target wrote to the parent in the name of the kit."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FilesRewritten(Event):
    """
    Installed files of the kit became others during the run.

    Attributes:
        is_alone: True if the run judged this target alone.

    """

    side: spec.Side
    names: tuple[str, ...]
    is_alone: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class KitFailed(Event):
    """
    The kit did not do its part.

    Attributes:
        text: The error, with its traceback if there is one.
        replaced: Names of the kit and of the interpreter that the provider had changed.

    """

    text: str
    replaced: tuple[str, ...] = ()
