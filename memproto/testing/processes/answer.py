"""The result of one command to a kit child, as its parent saw it."""

import dataclasses
from typing import Any, Literal

from memproto.testing.messages import Judged, Reply, Told

Fate = Literal["answered", "died", "late", "froze", "grew", "overdue"]


@dataclasses.dataclass(frozen=True)
class Answer:
    """
    The result of one command.

    Attributes:
        fate: answered; died (the process is gone); late (a hook passed its budget); froze (the
            interpreter stood still); grew (it held too much memory); overdue (the command took
            too long, and no hook did).
        reply: The child's answer, for `answered`; else None.
        operation: The hook that was running, else "".
        budget_s: The budget of that hook.
        took_s: Seconds that the command, or the hook, had been running.
        stack: The author's frames at that moment, innermost first.
        given: The longest text that the hook was given, in the words of a message; "" for none.
        number: The number of the call on its instance; 0 if it is not counted.
        chars: The length of that text in characters.
        still: Those of the thread that computed while the interpreter last stood still for a while,
            where that was looked for.
        ending: The ending of the process: "exit code 3", "signal SIGSEGV"; for `grew` its memory.
        excuse: The machine's share in a hook that was late, or in a command; else "".
        unanswered: True if the target tried to reach somebody meanwhile, and nobody answered, where
            a hook was late.
        opened: The configs of the instances that were opened, where they are to be cleaned up.
        spent: Number of hook calls that were made, if there is a limit to them.
        told: The calls that were made, where they are told; see
            `memproto.testing.judging.replay_story`.
        outward: Addresses outside the machine that were tried, each with who asked.
        changed_kit: Names of the kit that stand for other code than before the target was loaded.
        forged: True if something wrote a message in the name of the kit.

    """

    fate: Fate
    reply: Reply | None = None
    operation: str = ""
    budget_s: float = 0.0
    took_s: float = 0.0
    stack: tuple[str, ...] = ()
    given: str = ""
    number: int = 0
    chars: int = 0
    still: tuple[str, ...] = ()
    ending: str = ""
    excuse: str = ""
    unanswered: bool = False
    opened: tuple[dict[str, Any], ...] = ()
    spent: int = 0
    told: tuple[Told, ...] = ()
    outward: tuple[tuple[str, ...], ...] = ()
    changed_kit: tuple[str, ...] = ()
    forged: bool = False

    @property
    def judged(self) -> Judged:
        """The answer to a check; one without results if there is none."""
        return self.reply if isinstance(self.reply, Judged) else _UNJUDGED


_UNJUDGED = Judged(results=())


class ChildDidNotStart(Exception):
    """The child ended, or could not be run, before any code of the target: a fault of the kit."""
