"""
The fate of texts that a session accepts, for a provider of which nothing was recalled.

A provider may keep what it does not recall: for a review, for a tool, in words of its own, for a
backend that is away. So each place is looked into before anything is said to be lost; and a
provider that says that it keeps nothing is as good as one that keeps it.
"""

import contextlib
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memproto.testing.clauses import Untestable
from memproto.testing.facts import Fact
from memproto.testing.instruments.logs import Records
from memproto.testing.instruments.watchers import tree
from memproto.testing.processes import contents
from memproto.testing.provider import routes
from memproto.testing.provider.preparation import PREWARM_S, Attempts
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.scenarios import switches, tool_calls, tool_memory
from memproto.testing.wire import show

#: A log repeats what was said, and a cache is no memory.
_NO_STORE = frozenset({"logs", "debug", ".cache", "__pycache__"})

#: Parts of the name of a file that repeats what was said.
_LOGS = (".log", "debug")

#: Seconds that a worker in the background gets before recall is believed.
_SETTLE_S = 0.5

#: Of a larger file the first part is read.
_READ_BYTES = 50_000_000

_CONTENTS = "kept"


@dataclasses.dataclass
class Kept:
    """
    The fate of the accepted texts.

    Attributes:
        by: Hook to the fact that it accepted.
        place: The place at which something of them was found again, or "".
        said: The provider's words that it does not keep them, or "".
        tried: The hooks that accepted a text and then began to connect to a server.
        asked: The places that were looked into.

    """

    by: dict[str, Fact] = dataclasses.field(default_factory=dict)
    place: str = ""
    said: str = ""
    tried: list[str] = dataclasses.field(default_factory=list)
    asked: list[str] = dataclasses.field(default_factory=list)


def observed(run: Run) -> Kept:
    """The fate of one fact for each route; looked at once in a process."""
    if any(run.serves(route) for route in routes.ROUTES):
        return Kept(place=run.hook("recall"))
    if _CONTENTS not in run.shared:
        kept, records = Kept(), Records()
        with records.collected():
            # As many sessions in which nothing is said show what each session writes by itself;
            # what only the very first one writes is left out.
            _quiet(run, 1)
            by_itself = _changes(run, lambda: _quiet(run, 2))
            changed = _changes(run, lambda: _live(run, kept))
        logged = [*(run.load_step.warned if run.load_step else ()), *records.said]
        if logged and not kept.said:
            kept.said = f"it logged {show(logged[0], 200)}"
        kept.place = kept.place or _in_files(run, kept, changed, by_itself)
        run.shared[_CONTENTS] = kept
    found: Kept = run.shared[_CONTENTS]
    return found


def _quiet(run: Run, sessions: int) -> None:
    for _ in range(sessions):
        with run.session() as subject:
            subject.available()
            subject.recall("Which berth is free today?")


# -- one session -----------------------------------------------------------------------------------


def _live(run: Run, kept: Kept) -> None:
    """A whole session on every route, and another one that asks for what was said in it."""
    try:
        with run.session() as subject:
            for route in routes.ROUTES:
                _hand_over(run, subject, route, kept)
            _end(run, subject, kept)
            _look(run, subject, kept)
            kept.said = kept.said or _told(run, subject)
        with run.session() as again:
            _look(run, again, kept)
            kept.said = kept.said or _told(run, again)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        kept.said = f"{run.hook(failure.operation)} raised {show(failure.error, 200)}"


def _hand_over(run: Run, subject: Subject, route: str, kept: Kept) -> None:
    if run.lacks(routes.OPERATIONS[route]) or (route == "tools" and not subject.has("tools")):
        return
    fact, hook = run.facts.new(), run.hook(routes.OPERATIONS[route])
    before = _connections(run)
    try:
        routes.plant(subject, fact, route)
    except HookRaised:
        # One of them, for a server that is away, says that it is no proof of anything as well.
        raise
    except routes.ToolRefused as refusal:
        # It has said so, for those hooks that sent nothing.
        if not kept.tried:
            kept.said = kept.said or str(refusal)
        return
    except Untestable:
        # A tool that is not there is no route.
        return
    if route == "turns":
        routes.talk_on(subject)
    if route != "tools" and run.wait_until(lambda: _connections(run) > before, _SETTLE_S):
        kept.tried.append(hook)
    kept.by[hook] = fact


def _connections(run: Run) -> int:
    """Number of connections that this process has begun so far."""
    return run.audit.connections if run.audit else 0


def _end(run: Run, subject: Subject, kept: Kept) -> None:
    """The hooks at which some providers store what they were told before."""
    said = switches.transcript([*kept.by.values()])
    routes.in_passing(lambda: subject.compress(said))
    if not run.lacks("end") and subject.has("end"):
        routes.in_passing(lambda: subject.end(said))


def _look(run: Run, subject: Subject, kept: Kept) -> None:
    """Ask recall, and every tool that looks something up."""
    tools = tool_calls.offered(run, subject.tools()) if subject.has("tools") else []
    facts = [] if kept.place else [*kept.by.values()]
    kept.asked = list(dict.fromkeys([*kept.asked, run.hook("recall")]))
    if _recalls_one(run, subject, facts):
        kept.place = run.hook("recall")
        return
    for fact in facts:
        calls = tool_memory.finding(tools, fact)
        kept.asked = list(dict.fromkeys([*kept.asked, *(f"the tool {name}" for name, _ in calls)]))
        for name, answer in tool_memory.shown_by_tools(subject, calls).items():
            if fact.is_in(answer):
                kept.place = f"the tool {name}"
                return


def _recalls_one(run: Run, subject: Subject, facts: list[Fact]) -> bool:
    """True if recall brings one of them; what is prepared in advance is asked for all at once."""
    if not facts:
        return False
    run.settle()

    def is_back() -> bool:
        return any(fact.is_in(routes.recalled(subject, fact.query)) for fact in facts)

    if not subject.has("prewarm"):
        return run.wait_until(is_back, _SETTLE_S)
    queries = [fact.query for fact in facts]
    return is_back() or routes.comes_prepared(subject, queries, is_back, Attempts(PREWARM_S))


def _told(run: Run, subject: Subject) -> str:
    """The fault by a status or a reason."""
    for operation in ("status", "unavailable_reason"):
        if not subject.has(operation):
            continue
        with contextlib.suppress(HookRaised):
            said = subject.status() if operation == "status" else subject.unavailable_reason()
            if _is_trouble(said):
                return f"{run.hook(operation)} said {show(said, 200)}"
    return ""


def _is_trouble(said: Any) -> bool:
    if isinstance(said, str):
        return bool(said.strip())
    state = said.get("state") if isinstance(said, dict) else getattr(said, "state", None)
    return state not in (None, "ok", "idle")


# -- its files -------------------------------------------------------------------------------------


def _changes(run: Run, live: Callable[[], None]) -> dict[str, int]:
    """File to by how much it grew, for those that a session changed."""
    before = tree(run.root)
    live()
    after = tree(run.root)
    return {
        name: size - before.get(name, (0, 0))[0]
        for name, (size, _) in after.items()
        if before.get(name) != after[name] and _is_store(run, name)
    }


def _is_store(run: Run, name: str) -> bool:
    parts = Path(name).relative_to(run.root).parts
    is_log = any(mark in parts[-1].lower() for mark in _LOGS)
    return not _NO_STORE.intersection(parts) and not is_log


def _in_files(run: Run, kept: Kept, changed: dict[str, int], by_itself: dict[str, int]) -> str:
    """A file that holds more than each session writes by itself, or one of the names; or ""."""
    for name, grown in changed.items():
        if name not in by_itself or grown > max(by_itself[name], 0) or _holds(name, kept):
            return f"the file {Path(name).relative_to(run.root)}"
    return ""


def _holds(name: str, kept: Kept) -> bool:
    try:
        content = contents.read(name, _READ_BYTES).decode("utf-8", "replace")
    except OSError:
        return False
    return any(fact.is_in(content) for fact in kept.by.values())
