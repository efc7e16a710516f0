"""
Every operation by which a provider may change its store, as calls that a host of its own makes.

A store is changed by more than additions: a mirrored replacement or removal, a tool, a compression,
the end or the switch of a session, a recorded turn, a scope that is forgotten. Each is a row of
plain data here, so that a host in another process needs nothing of the kit to make the call.
"""

import contextlib
import copy
import dataclasses
import json
from collections.abc import Iterator
from typing import Any

from memproto.adapters import tool_results
from memproto.operations import OPERATIONS
from memproto.testing.clauses import Untestable, Violation
from memproto.testing.facts import Fact
from memproto.testing.lifetimes.ends_process import SESSION
from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.scenarios import entries, mirrored_writes, switches, tool_calls, tool_memory

#: Stands in a call for the text that it adds.
TEXT = "<the text>"


@dataclasses.dataclass(frozen=True)
class Change:
    """
    One call that may change the store.

    Attributes:
        what: The call, in words.
        operation: The operation that it is.
        arguments: Arguments of the hook, in plain JSON values.
        keywords: Arguments given by name. `SESSION` stands in both for the id of the session in
            which the call is made.
        new: The text that is stored when it returned; None where none is certain to be.
        gone: The text that is not stored any more then; None where none is certain not to be.
        takes: The text that it may take away.
        adds: The call that adds a text to the same place, with `TEXT` for the text.

    """

    what: str
    operation: str
    arguments: list[Any]
    keywords: dict[str, Any] = dataclasses.field(default_factory=dict)
    new: Fact | None = None
    gone: Fact | None = None
    takes: Fact | None = None
    adds: "Change | None" = None

    def adding(self, fact: Fact) -> "Change":
        """The call that adds a fact to the same place."""
        assert self.adds is not None
        filled = json.loads(json.dumps(self.adds.arguments).replace(TEXT, fact.text))
        return dataclasses.replace(self.adds, arguments=filled, new=fact)

    def told(self) -> dict[str, Any]:
        """The call, as a host of another process is told it."""
        hook = OPERATIONS[self.operation].native
        return {"hook": hook, "arguments": self.arguments, "keywords": self.keywords}


@dataclasses.dataclass
class Prepared:
    """
    A store in which texts stand that calls can change.

    Attributes:
        kept: Texts that no call names, stored by each way in which the provider stores.
        rounds: Lists of the same calls, each list with texts of its own.
        last: Calls that come after all others.

    """

    kept: list[Fact]
    rounds: list[list[Change]]
    last: list[Change]

    def told(self) -> dict[str, Any]:
        """The calls, as a host of another process is told them."""
        return {
            "rounds": [[change.told() for change in made] for made in self.rounds],
            "last": [change.told() for change in self.last],
        }


def prepared(run: Run, rounds: int = 1) -> Prepared:
    """
    Store what calls can change, in a session of its own; gives the calls, so many times.

    A call that cannot be made up, or whose text the provider does not take, is left out.
    """
    ready = Prepared([], [[] for _ in range(rounds)], [])
    ways = (_by_writes, _by_tools, _by_records, _by_scopes)
    with run.session() as subject:
        for way in ways:
            # One that cannot be prepared is left out whole: it has rules of its own.
            with contextlib.suppress(Untestable, Violation, HookRaised):
                way(run, subject, ready)
        ready.last += _last(run, subject)
    run.settle()
    ready.rounds = [_living(run, made) for made in ready.rounds]
    ready.last = _living(run, ready.last)
    return ready


def _living(run: Run, made: list[Change]) -> list[Change]:
    """Calls whose hook did not hang or die in this run."""
    return [change for change in made if not run.watch.deaths.get(change.operation)]


def by_route(run: Run, route: str) -> Change:
    """The call that stores by one of the routes `turns` and `writes`, as a template."""
    if route == "turns":
        return Change("a turn", "record", [TEXT, f"I have noted it: {TEXT}"])
    return _add(mirrored_writes.targets(run, "add")[0])


def _add(target: str) -> Change:
    return Change(f"an add to {target}", "mirror", ["add", target, TEXT])


def _stored(run: Run, subject: Subject, route: str) -> Fact | None:
    """A text that was stored by the route, or None where it was not taken."""
    fact = run.facts.new()
    return fact if routes.accepts(subject, route, fact.text, routes.reply_to(fact)) else None


# -- mirrored writes -------------------------------------------------------------------------------


def _by_writes(run: Run, subject: Subject, ready: Prepared) -> None:
    if run.lacks("mirror") or not run.serves("writes"):
        return
    adds = mirrored_writes.targets(run, "add")
    for target in adds[:1]:
        _keep(run, subject, ready, target)
        # Without turns it is what a host stores by anyway.
        for made in ready.rounds if run.serves("turns") else ():
            change = dataclasses.replace(_add(target), adds=_add(target))
            made.append(dataclasses.replace(change.adding(run.facts.new()), adds=_add(target)))
    for action in ("replace", "remove"):
        # To one that cannot declare which actions take effect, as a Hermes one, hosts mirror all.
        is_sure = run.binding.can_declare
        named = [t for t in mirrored_writes.targets(run, action) if t in adds] if is_sure else adds
        for target in named[:1]:
            if target not in adds[:1]:
                _keep(run, subject, ready, target)
            for made in ready.rounds:
                made.extend(_edit(run, subject, action, target, is_sure=is_sure))


def _keep(run: Run, subject: Subject, ready: Prepared, target: str) -> None:
    kept = run.facts.new()
    if _added(subject, target, kept):
        ready.kept.append(kept)


def _added(subject: Subject, target: str, fact: Fact) -> bool:
    try:
        subject.mirror("add", target, fact.text)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        return False
    return True


def _edit(
    run: Run, subject: Subject, action: str, target: str, *, is_sure: bool
) -> Iterator[Change]:
    """The call that replaces a text or removes it, where that text was taken."""
    old = run.facts.new()
    if not _added(subject, target, old):
        return
    new = run.facts.new() if action == "replace" else None
    yield Change(
        f"a {action} in {target}",
        "mirror",
        [action, target, new.text if new else "", old.text],
        new=new if is_sure else None,
        gone=old if is_sure else None,
        takes=old,
        adds=_add(target),
    )


# -- tools -----------------------------------------------------------------------------------------


def _by_tools(run: Run, subject: Subject, ready: Prepared) -> None:
    if run.lacks("call_tool") or not subject.has("tools") or not run.serves("tools"):
        return
    schemas = subject.tools()
    kept = _stored(run, subject, "tools")
    if kept is None:
        return
    ready.kept.append(kept)
    for made in ready.rounds if run.serves("turns") or run.serves("writes") else ():
        new, adds = run.facts.new(), _keeping(schemas)
        if adds is not None:
            made.append(dataclasses.replace(adds, adds=adds).adding(new))
            made[-1] = dataclasses.replace(made[-1], adds=adds)
    for made in ready.rounds:
        made.extend(_forgetting(run, subject, tool_calls.offered(run, schemas), schemas))


def _keeping(schemas: Any) -> Change | None:
    """The call that stores by a tool, as a template."""
    call = routes.storing_call(schemas, TEXT)
    return (
        Change(f"a call of the tool {call[0]} that stores", "call_tool", [*call]) if call else None
    )


def _forgetting(run: Run, subject: Subject, tools: list[Any], schemas: Any) -> Iterator[Change]:
    """The call that forgets what another one stored, where one is recognised."""
    fact = run.facts.new()
    call = routes.storing_call(schemas, fact.text)
    answer = subject.call_tool(*call) if call else None
    if call is None or tool_results.refused(answer):
        return
    found = tool_memory.forgetting(tools, call[0], fact, [answer])
    if found is None:
        shown = tool_memory.shown_by_tools(subject, tool_memory.finding(tools, fact))
        found = tool_memory.forgetting(tools, call[0], fact, [answer, *shown.values()])
    if found is not None:
        said = f"a call of the tool {found[0]} that forgets"
        arguments = copy.deepcopy(list(found[:2]))
        yield Change(said, "call_tool", arguments, gone=fact, takes=fact, adds=_keeping(schemas))


# -- recorded turns, and scopes --------------------------------------------------------------------


def _by_records(run: Run, subject: Subject, ready: Prepared) -> None:
    if not entries.served(run, "record") or not subject.has("record_turn"):
        return
    kept, key = run.facts.new(), str(run.freshness.config["session_key"])
    entries.record(subject, entries.turn(key, kept.text, routes.reply_to(kept)))
    ready.kept.append(kept)
    for made in ready.rounds:
        new = run.facts.new()
        turn = entries.turn(key, new.text, routes.reply_to(new)) | {"session_id": SESSION}
        other = entries.turn(key, TEXT, f"I have noted it: {TEXT}") | {"session_id": SESSION}
        adds = Change("a recorded turn", "record_turn", [other])
        made.append(Change("a recorded turn", "record_turn", [turn], new=new, adds=adds))


def _by_scopes(run: Run, subject: Subject, ready: Prepared) -> None:
    route = next((name for name in ("turns", "writes") if run.serves(name)), "")
    if not entries.served(run, "privacy") or not subject.has("forget") or not route:
        return
    kept = _stored(run, subject, route)
    ready.kept += [kept] if kept is not None else []
    for number, made in enumerate(ready.rounds):
        key = f"{run.freshness.config['session_key']}-gone-{number}"
        with run.session(session=key) as other:
            old = _stored(run, other, route)
        if old is not None:
            scope = {"session_id": key}
            said, adds = "a forget of a session", by_route(run, route)
            made.append(Change(said, "forget", [scope], gone=old, takes=old, adds=adds))


# -- what a session does last ----------------------------------------------------------------------


def _last(run: Run, subject: Subject) -> Iterator[Change]:
    """A compression, the end of the session, and a switch to another one and back."""
    said = switches.transcript(run.facts.several(2))
    if not run.lacks("compress"):
        yield Change("a compression", "compress", [said, 1])
    if not run.lacks("end") and subject.has("end"):
        yield Change("the end of the session", "end", [said])
    if not run.lacks("switch") and subject.has("switch"):
        there, back = f"{run.session_key()}-there", SESSION
        yield Change("a switch of the session", "switch", [there], {"parent_session_id": SESSION})
        yield Change("a switch back", "switch", [back], {"parent_session_id": there})


def brought(run: Run, facts: list[Fact]) -> list[Fact]:
    """Facts that one new session brings back; the others need a closer look."""
    with run.session() as again:
        return [fact for fact in facts if run.brings_back(again, fact)]
