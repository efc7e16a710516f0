"""
A whole session, in any order that its life allows, with a model of what was accepted.

A sequence of steps is lived through on new instances below one home; what was accepted is asked for
afterwards. `memproto.testing.scenarios.sequences` draws the sequences.
"""

import contextlib
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memproto.adapters import tool_results
from memproto.lifecycle import life
from memproto.operations import OPERATIONS
from memproto.testing.clauses import Untestable
from memproto.testing.facts import Fact
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import BackendAway, HookRaised, Subject
from memproto.testing.scenarios import mirrored_writes, texts

#: Operations that may be refused by an error that says so.
_MAY_REFUSE = ("record", "mirror", "compress", "call_tool", "forget")

#: Texts that many stores refuse, by what a message calls them.
_ODD = {
    "a text of 100,000 characters": texts.LONG["100,000 characters"],
    "a text with a NUL": texts.NAMED["a NUL"],
    "half a surrogate pair": texts.NAMED["a lone high surrogate"],
    "an empty text": "",
}

_QUESTION = "What did I ask you to keep?"


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """
    One thing that a host does in a session.

    Attributes:
        operation: The operation of the specification.
        action: Of a mirrored write.
        target: Of a mirrored write.
        keeps_session: Of close: whether the new instance gets the same session key.
        fact: "" for a new one; "again" for the text that was told last. Of a compression, "next"
            has it show the words of the turn that comes next, as one in the middle of a turn does.
            Of a replace, "odd" has texts replace others that a store may refuse. Of a remove,
            "both" names two entries by the words that they have in common. Of forgetting,
            "session" is the session that is open, and "" everything.

    """

    operation: str
    action: str = ""
    target: str = ""
    keeps_session: bool = False
    fact: str = ""


@dataclasses.dataclass(frozen=True)
class Loss:
    """
    A text that was accepted and did not come back.

    Attributes:
        fact: The fact that was lost.
        operation: The operation that had accepted it.
        letter: Its name in `told`.
        told: The calls that were made, in order.
        before_compression: True if a compression came after it.
        removed: True if something was removed or replaced.

    """

    fact: Fact
    operation: str
    letter: str
    told: tuple[str, ...]
    before_compression: bool
    removed: bool


def vocabulary(run: Run) -> list[Step]:
    """The steps that a host would take with this provider, the simplest first."""
    writes = [
        Step("mirror", action, target)
        for action in ("add", "replace", "remove")
        for target in mirrored_writes.targets(run, action)
    ]
    core = [Step("record"), *writes, Step("recall"), Step("compress")]
    extensions = [Step(name) for name in ("prewarm", "call_tool") if serves(run, name)]
    ends = [Step("close"), Step("close", keeps_session=True)]
    return [step for step in [*core, *extensions, *ends] if not run.lacks(step.operation)]


def serves(run: Run, operation: str) -> bool:
    """True if a host would call the hook of an extension: it is there, and declared."""
    declared = run.declared("extensions", [])
    is_declared = not run.binding.can_declare or OPERATIONS[operation].extension in declared
    return is_declared and run.provider().has(operation)


class Machine:
    """
    Lives one sequence of steps through, and knows what is owed after it.

    Assumes:
        One sequence for each machine.
    """

    def __init__(self, run: Run, home: Path) -> None:
        self._run, self._home = run, home
        self._session = run.session_key()
        self._state = life().start
        self._subject: Subject | None = None
        self._serves_tools = serves(run, "tools") and serves(run, "call_tool")
        self._schemas: Any = None
        self._owed: dict[Fact, str] = {}
        self._letters: dict[Fact, str] = {}
        self._written: dict[str, list[Fact]] = {}
        self._said: list[dict[str, Any]] = []
        self._compressed: set[Fact] = set()
        self._latest: Fact | None = None
        self._next: Fact | None = None
        self._has_removed = False
        self.told: list[str] = []

    @property
    def owed(self) -> list[Fact]:
        """Facts that were accepted and neither replaced nor removed."""
        return list(self._owed)

    def live(self, steps: tuple[Step, ...]) -> Loss | None:
        """Live through the steps, close, and give the first text that does not come back."""
        try:
            self._open()
            for step in steps:
                self._take(step)
            self._close()
        except BaseException:
            self._clean_up()
            raise
        lost = self._lost()
        if lost is None:
            return None
        letter, calls = self._letters[lost], tuple(self.told)
        return Loss(
            lost, self._owed[lost], letter, calls, lost in self._compressed, self._has_removed
        )

    def _clean_up(self) -> None:
        """Shut down what stopped half-way; what that raises is no part of the check."""
        if self._subject is not None and self._state != life().end:
            with contextlib.suppress(Exception):
                self._subject.close()

    def _lost(self) -> Fact | None:
        if not self._owed:
            return None
        with self._run.session(self._home) as again:
            absent = [f for f in self._owed if not f.is_in(routes.recalled(again, f.query))]
        # Those by themselves, with all the time that is due to them: that an answer belongs to its
        # question, and comes at once, are other rules.
        return next((f for f in absent if not losses.is_stored(self._run, f, self._home)), None)

    # -- the life ---------------------------------------------------------------------------------

    def _call(self, operation: str, call: Callable[[], Any], shown: str = "") -> Any:
        """Make a call that the state allows; False where it was refused, and said so."""
        assert operation in life().allows(self._state), (self._state, operation)
        hook = self._run.hook(operation)
        self.told.append(f"{hook}({shown})" if shown else hook)
        self._state = life().after(self._state, operation, "begins")
        try:
            answer = call()
        except HookRaised as failure:
            is_refusal = failure.is_report and operation in _MAY_REFUSE
            if not is_refusal or isinstance(failure, BackendAway):
                raise
            self.told[-1] += " refused"
            return False
        return answer

    def _open(self) -> None:
        subject = self._subject = self._run.provider()
        self._state = life().start
        if not self._call("available", subject.available):
            raise Untestable("is_available answered that the provider cannot start")
        self._state = life().after(self._state, "available", "yes")
        config = self._run.config(self._home)
        self._run.freshness.config = {**config, "session_key": self._session}
        self._call("open", lambda: subject.open(self._session, config))
        self._state = life().after(self._state, "open", "returns")
        if self._run.binding.can_declare:
            self._call("declare", subject.declare)
        self._state = life().after(self._state, "declare", "returns")
        self._schemas = self._call("tools", subject.tools) if self._serves_tools else None
        # Those calls come first in every session: in a message they are one.
        del self.told[self.told.index(self._run.hook("available")) :]
        self.told.append(self._run.hook("open"))

    def _close(self) -> None:
        assert self._subject is not None
        self._call("close", self._subject.close)
        self._state = life().after(self._state, "close", "ends")

    def _take(self, step: Step) -> None:
        takes = {
            "record": self._record,
            "mirror": self._mirror,
            "recall": self._recall,
            "compress": self._compress,
            "prewarm": self._prewarm,
            "call_tool": self._call_tool,
            "forget": self._forget,
            "close": self._reopen,
        }
        assert self._subject is not None
        takes[step.operation](step, self._subject)

    def _reopen(self, step: Step, subject: Subject) -> None:
        self._close()
        if not step.keeps_session:
            self._session = self._run.session_key()
            self._said = []
        self._open()
        self.told[-1] += " again" if step.keeps_session else " for another session"

    # -- what stores ------------------------------------------------------------------------------

    def _new(self, fact: Fact | None = None) -> tuple[Fact, str]:
        """A fact, and the letter by which it is told."""
        made = fact or self._run.facts.new()
        number = len(self._letters)
        letter = chr(ord("A") + number % 26) + (str(number // 26) if number > 25 else "")
        return made, self._letters.setdefault(made, letter)

    def _told(self, step: Step) -> tuple[Fact, str]:
        """The fact that a step tells, and its letter."""
        fact = self._latest if step.fact == "again" else self._next
        if step.operation == "record":
            self._next = None
        self._latest, letter = self._new(fact)
        return self._latest, letter

    def _record(self, step: Step, subject: Subject) -> None:
        fact, letter = self._told(step)
        reply = f"I will remember {fact.name}."
        if self._call("record", lambda: subject.record(fact.text, reply), letter) is not False:
            self._said += [_message("user", fact.text), _message("assistant", reply)]
            self._owe(fact, "record", "turns")

    def _owe(self, fact: Fact, operation: str, route: str) -> None:
        if self._run.serves(route):
            self._owed[fact] = operation

    def _mirror(self, step: Step, subject: Subject) -> None:
        takes = {"add": self._add, "replace": self._replace, "remove": self._remove}
        self._has_removed |= step.action != "add"
        takes[step.action](step, step.target, subject)

    def _add(self, step: Step, target: str, subject: Subject, given: Fact | None = None) -> None:
        fact, letter = self._told(step) if given is None else self._new(given)
        self._latest = fact
        add = ("add", target, fact.text)
        shown = f"add {letter}" + (f" to {target}" if step.fact else "")
        if self._call("mirror", lambda: subject.mirror(*add), shown) is not False:
            self._written.setdefault(target, []).append(fact)
            self._owe(fact, "mirror", "writes")

    def _replace(self, step: Step, target: str, subject: Subject) -> None:
        if step.fact == "odd":
            for what, text in _ODD.items():
                self._replace_by(what, text, target, subject)
            return
        if not self._written.get(target):
            return
        old, name = self._written[target][-1], self._run.facts.name()
        new, letter = self._new(Fact(old.text.replace(old.name, name), old.query, name))
        replace = ("replace", target, new.text, old.text)
        shown = f"replace {self._letters[old]} by {letter}"
        if self._call("mirror", lambda: subject.mirror(*replace), shown) is not False:
            self._written[target][-1] = new
            self._owed.pop(old, None)
            self._owe(new, "mirror", "writes")

    def _replace_by(self, what: str, text: str, target: str, subject: Subject) -> None:
        """Add a text and have an odd one replace it: if that is refused, the old one is owed."""
        self._add(Step("mirror", "add", target), target, subject)
        if self._latest not in self._owed:
            return
        old = self._latest
        replace, shown = ("replace", target, text, old.text), f"replace {self._letters[old]} by "
        if self._call("mirror", lambda: subject.mirror(*replace), shown + what) is not False:
            self._written[target].remove(old)
            self._owed.pop(old)

    def _remove_both(self, target: str, subject: Subject) -> None:
        """Remove by words of two entries: if that is refused, both are owed as before."""
        self._add(Step("mirror", "add", target), target, subject)
        first = self._latest
        assert first is not None
        self._add(Step("mirror", "add", target), target, subject, self._run.facts.like(first))
        pair = [fact for fact in (first, self._latest) if fact in self._owed]
        if len(pair) == 1 or not pair:
            return
        words = " ".join(first.text.split()[:2])
        shown = f"remove by {words!r} of {' and '.join(self._letters[fact] for fact in pair)}"
        remove = ("remove", target, "", words)
        if self._call("mirror", lambda: subject.mirror(*remove), shown) is not False:
            for fact in pair:
                self._written[target].remove(fact)
                self._owed.pop(fact)

    def _remove(self, step: Step, target: str, subject: Subject) -> None:
        if step.fact == "both":
            self._remove_both(target, subject)
            return
        if not self._written.get(target):
            return
        old = self._written[target][0]
        remove = ("remove", target, "", old.text)
        shown = f"remove {self._letters[old]}"
        is_elsewhere = any(old in facts for to, facts in self._written.items() if to != target)
        if is_elsewhere:
            shown += f" from {target}"
        if self._call("mirror", lambda: subject.mirror(*remove), shown) is not False:
            self._written[target].pop(0)
            if not is_elsewhere:
                self._owed.pop(old, None)

    def _call_tool(self, step: Step, subject: Subject) -> None:
        fact = self._run.facts.new()
        asked = routes.storing_call(self._schemas, fact.text)
        if asked is None:
            return
        _, letter = self._new(fact)
        answer = self._call("call_tool", lambda: subject.call_tool(*asked), letter)
        if answer is not False and not tool_results.refused(answer):
            self._owe(fact, "call_tool", "tools")

    def _forget(self, step: Step, subject: Subject) -> None:
        """Have everything that was told forgotten; what is told from now on is owed."""
        scope = {"session_id": self._session} if step.fact else {}
        if self._call("forget", lambda: subject.forget(scope), step.fact) is not False:
            self._owed.clear()
            self._written.clear()

    # -- what stores nothing ----------------------------------------------------------------------

    def _recall(self, step: Step, subject: Subject) -> None:
        self._call("recall", lambda: routes.recalled(subject, self._question()))

    def _prewarm(self, step: Step, subject: Subject) -> None:
        self._call("prewarm", lambda: subject.prewarm(self._question()))

    def _compress(self, step: Step, subject: Subject) -> None:
        messages = [dict(message) for message in self._said]
        shown = ""
        if step.fact == "next":
            self._next, shown = self._new()
            messages.append(_message("user", self._next.text))
        self._call("compress", lambda: subject.compress(messages), shown)
        self._compressed.update(self._owed)

    def _question(self) -> str:
        """About what was accepted last, as somebody asks who has just said it."""
        return next((fact.query for fact in reversed(self._owed)), _QUESTION)


def _message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}
