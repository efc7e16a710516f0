"""Chapter 70: failure isolation."""

import ast
import contextlib
import dataclasses
import functools
import logging
import os
import random
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import monotonic
from typing import IO, Any, NoReturn

from memproto.testing.clauses import Lost, Untestable, check
from memproto.testing.evidence import (
    Acted,
    Changed,
    Evidence,
    Exposed,
    NotRecalled,
    Raised,
    Recalled,
    Wrote,
)
from memproto.testing.facts import Fact
from memproto.testing.faults.bench import told_of
from memproto.testing.instruments import watchers
from memproto.testing.instruments.watchers import tree
from memproto.testing.lifetimes import plain_host
from memproto.testing.lifetimes.store_files import holds, set_by_operator
from memproto.testing.needs import depends_on
from memproto.testing.processes import sandbox
from memproto.testing.provider import losses, routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, HookWithdrawn, Subject
from memproto.testing.scenarios import credentials, entries, poor_sessions, texts, tool_calls
from memproto.testing.wire import show

#: A life in a process of its own; and three more if something is lost.
_PLAIN_LIVES_S = 260.0

#: Globals that the requirement names, of all that the watchers see.
_NAMED = (
    "working directory",
    "signal handlers",
    "locale",
    "root logger",
    "socket timeout",
    "sys.excepthook",
    "threading.excepthook",
    "event-loop policy",
    "standard streams",
)

#: Characters of the printed text that are shown.
_SHOWN_CHARS = 100

#: Bytes of it that are read.
_PRINTED_BYTES = 50_000_000


# -- homes -----------------------------------------------------------------------------------------


@check("MP-ISO-001", routes=("turns", "writes", "tools"))
def homes_do_not_leak(run: Run) -> None:
    route = run.route
    # A host keeps one home of this name in each of its profiles.
    other_home, fact = run.place("other") / run.home.name, run.facts.new()
    one, other = run.open(), run.open(other_home)
    run.plant(one, fact, route)
    _knows_nothing(run, other, fact, "at the same time")
    run.close(other)
    run.close(one)
    if not run.reopened_brings_back(fact):
        raise Lost(f"nothing stored through {route} comes back from its own home")
    with run.session(other_home) as again:
        _knows_nothing(run, again, fact, "after a new start")
    with run.session() as one, run.session(other_home) as again:
        one.recall(fact.query)
        _knows_nothing(run, again, fact, "beside an instance that has just recalled it")
    for names in _HOMES:
        _are_two_homes(run, names, route)


#: Names of homes that are one to a provider which reads its path as an address.
_HOMES = (("at#ida", "at#otto"), ("at?ida", "at?otto"), ("at%41", "atA"))


def _are_two_homes(run: Run, names: tuple[str, str], route: str) -> None:
    fact, (one, other) = run.facts.new(), map(run.place, names)
    try:
        with run.session(one) as subject:
            run.plant(subject, fact, route)
    except (HookRaised, Untestable):
        return  # One that cannot live in such a home makes no other home of it.
    with run.session(other) as again:
        _knows_nothing(run, again, fact, f"in a home whose name ends in {names[1]!r}")


def _knows_nothing(run: Run, other: Subject, fact: Fact, when: str) -> None:
    recalled = other.recall(fact.query)
    if fact.is_in(recalled):
        expected = "nothing of what was stored below another home"
        run.violated(
            Recalled(
                wanted=expected,
                texts=(fact.text,),
                answer=show(recalled),
                by=run.hook("recall"),
                lead=f"{when}: ",
            ),
            operation="recall",
        )


# -- process state ---------------------------------------------------------------------------------


@check("MP-ISO-002")
def a_session_leaves_the_process_as_it_was(run: Run) -> None:
    _leaves(run, _state, "the process as it was before the session")


def _leaves(run: Run, state: Callable[[], dict[str, Any]], wanted: str) -> None:
    """Judge the state behind a session; a value that its end puts back is not left changed."""
    before = state()
    changed: dict[str, str] = {}
    for operation in _session(run):
        for line in watchers.differences(before, state()):
            changed.setdefault(line, operation)
    left = [line for line in watchers.differences(before, state()) if line in changed]
    if left:
        _changes(run, wanted, left[0], changed[left[0]])


def _changes(run: Run, wanted: str, difference: str, operation: str) -> NoReturn:
    run.violated(
        Changed(wanted=wanted, subject="process", difference=difference), operation=operation
    )


def _state() -> dict[str, Any]:
    """The host's own state, one entry for each signal and each environment variable."""
    state = {name: value for name, value in watchers.process_globals().items() if name in _NAMED}
    signals = state.pop("signal handlers")
    variables = watchers.environment()
    return {
        **state,
        **{f"handler of signal {number}": handler for number, handler in signals.items()},
        **{f"environment variable {name}": value for name, value in variables.items()},
    }


@check("MP-ISO-012")
def a_session_leaves_the_interpreter_as_it_was(run: Run) -> None:
    assert run.load_step is not None
    wanted, step = "the settings of the interpreter as they were", run.load_step
    # A factory of the settings is the user's own, and may do so; the package that it imports not.
    for line in step.imported.settings if step.by_factory else step.settings:
        _changes(run, wanted, line, "load")
    drawn = []
    for _ in range(2):
        random.seed()
        begun = random.getstate()
        _leaves(run, watchers.interpreter_settings, wanted)
        if random.getstate() == begun:
            return
        drawn.append(random.getstate())
    if drawn[0] == drawn[1]:
        left = "two sessions that began with other seeds left `random` in one state"
        _changes(run, "the draws of `random` left to chance by a session", left, "open")


def _session(run: Run) -> Iterator[str]:
    """Live through one session; yields the operation that was called last, after each call."""
    yield "load"
    subject = run.open()
    yield "open"
    fact = run.facts.new()
    for operation, call in routes.core_calls(subject, fact.text, fact.query).items():
        routes.in_passing(call)
        yield operation
    for name in _refusing(run, subject):
        # Its answer, and an exception, are for MP-TOOL-009.
        with contextlib.suppress(HookRaised):
            routes.in_passing(functools.partial(subject.call_tool, name, {}))
        yield "call_tool"
    run.close(subject)
    yield "close"


def _refusing(run: Run, subject: Subject) -> list[str]:
    """Names of the tools that can do nothing without an argument: a call without one fails."""
    if not subject.has("tools"):
        return []
    schemas: Any = None
    with contextlib.suppress(HookRaised, HookWithdrawn):
        schemas = subject.tools()
    return [tool.name for tool in tool_calls.offered(run, schemas) if tool.required]


@check("MP-ISO-003")
def a_session_leaves_the_process_alone(run: Run) -> None:
    # An end of the process, now or later, is seen from outside; a fork is seen here.
    assert run.audit is not None
    with run.audit.recording() as events:
        for operation in _session(run):
            forks = [event for event in events if event.startswith("started a program: os.fork")]
            if forks:
                observed = f"{run.hook(operation)} forked the process"
                run.violated(
                    Acted(wanted="no copy of the process", deed="copy", seen=(observed,)),
                    operation=operation,
                )
            if signals := [event for event in events if event.startswith("signalled the host")]:
                observed = f"{run.hook(operation)} {signals[0]}"
                run.violated(
                    Acted(
                        wanted="no signal to the process or its parent",
                        deed="signal",
                        seen=(observed,),
                    ),
                    operation=operation,
                )


@check("MP-ISO-007")
def a_session_replaces_no_functions(run: Run) -> None:
    for operation in _session(run):
        # Since before the load: what importing replaced is found at the first look.
        if taken := [name for name in watchers.replaced() if name.rpartition(".")[0] != "sys"]:
            expected = "the functions of the standard library as they were before the load"
            observed = f"replaced: {', '.join(taken[:4])}"
            run.violated(
                Changed(wanted=expected, subject="functions", difference=observed),
                operation=operation,
            )


@check("MP-ISO-010")
def a_session_leaves_the_code_of_its_host_alone(run: Run) -> None:
    # The main loop of the process compares after each check; here a whole session gives cause.
    for _ in _session(run):
        pass


@check("MP-ISO-011", budget_s=_PLAIN_LIVES_S, routes=("turns", "writes", "tools"))
def a_host_without_the_kit_is_served_alike(run: Run) -> None:
    first = run.route
    others = [route for route in routes.ROUTES if route != first and run.serves(route)]
    if run.is_selective:
        others = [route for route in others if route in run.manner.routes]
    asked = run.facts.new()
    with run.session() as subject:
        run.plant(subject, asked, first)
    if not run.reopened_brings_back(asked):
        raise Lost("a text that was just stored does not come back in a new session")
    answered, lost = _plain_life(run, asked, (first, *others))
    if answered and not lost:
        return
    # Only a loss that no host of the kit meets, and that is met twice, has to do with the kit. The
    # second host rests before it ends: a shutdown that waits for no writer loses some by chance.
    served, lost_too = _life_of_the_kit(run, asked, tuple(lost))
    if first in lost_too:
        reason = "a text that a host in a process of its own stored does not come back"
        raise Lost(reason, depends_on("MP-PROC-010"))
    told = [route for route in lost if route not in lost_too]
    if not (told or (served and not answered)):
        return
    answered, lost = _plain_life(run, asked, tuple(told), rest_s=run.rest_s)
    if lost:
        _, lost_too = _life_of_the_kit(run, asked, tuple(lost))
        lost = {route: fact for route, fact in lost.items() if route not in lost_too}
    if served and not answered:
        run.violated(
            NotRecalled(
                wanted="recall as in the process of the kit",
                texts=(asked.text,),
                lead="a host that has nothing of the kit asked for ",
                verb="and got it not",
            ),
            operation="recall",
        )
    for route, fact in lost.items():
        expected = "storage as in the process of the kit"
        run.violated(
            NotRecalled(
                wanted=expected,
                texts=(fact.text,),
                about=f"which a host that has nothing of the kit stored by {route}",
                tail=", and a text did that a host of the kit stored in the same way",
            ),
            operation=routes.OPERATIONS[route],
        )


def _plain_life(
    run: Run, asked: Fact, by: tuple[str, ...], *, rest_s: float = 0.0
) -> tuple[bool, dict[str, Fact]]:
    """True if a host without the kit got what it asked for; route to what it stored in vain."""
    life = plain_host.planned(run, asked, {route: run.facts.new() for route in by})
    found = plain_host.lead(run, life, rest_s=rest_s)
    run.watch.stored_at = monotonic()
    return not _answers_plainly(run) or any(map(asked.is_in, found)), _lost(run, life.stored)


def _life_of_the_kit(run: Run, asked: Fact, by: tuple[str, ...]) -> tuple[bool, dict[str, Fact]]:
    """The same of a host that has the kit in its process."""
    life = plain_host.planned(run, asked, {route: run.facts.new() for route in by})
    found = plain_host.lead_with_the_kit(run, life)
    return any(map(asked.is_in, found)), _lost(run, life.stored)


def _lost(run: Run, stored: Mapping[str, Fact]) -> dict[str, Fact]:
    if not stored:
        return {}
    with run.session() as again:
        return {route: fact for route, fact in stored.items() if not run.brings_back(again, fact)}


def _answers_plainly(run: Run) -> bool:
    """True if one question in a new session is enough to be answered, as far as is declared."""
    prepares = "prewarm" in run.declared("extensions", ())
    is_fresh = run.declared("consistency", "immediate") == "immediate"
    return is_fresh and not prepares and run.declared("recall_basis", "query") == "query"


@check("MP-ISO-008")
def a_session_prints_nothing(run: Run) -> None:
    # Output of the building has a rule of its own.
    subject, fact = run.provider(), run.facts.new()
    calls = {
        "open": lambda: subject.open(run.session_key(), run.config()),
        **routes.core_calls(subject, fact.text, fact.query),
        "close": subject.close,
    }
    with _printed() as printed, _closed_early(subject):
        for operation, call in calls.items():
            routes.in_passing(call)
            if text := printed():
                shown = " ".join(text[:_SHOWN_CHARS].split())
                observed = f"{len(text):,} characters on standard output: {shown}"
                run.violated(
                    Acted(wanted="nothing on standard output", deed="output", seen=(observed,)),
                    operation=operation,
                )


@contextlib.contextmanager
def _closed_early(subject: Subject) -> Iterator[None]:
    """Shut the instance down where the body does not come to it."""
    try:
        yield
    except Exception:
        with contextlib.suppress(Exception):
            subject.close()
        raise


@contextlib.contextmanager
def _printed() -> Iterator[Callable[[], str]]:
    """In the body standard output goes to a file; what it gives tells what has come, so far."""
    _flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            yield lambda: _whole(file.fileno())
        finally:
            _flush()
            os.dup2(kept, 1)
            os.close(kept)


def _flush() -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()


def _whole(descriptor: int) -> str:
    _flush()
    return os.pread(descriptor, _PRINTED_BYTES, 0).decode("utf-8", "replace")


# -- neighbours ------------------------------------------------------------------------------------


@check("MP-ISO-004", routes=("turns", "writes", "tools"))
def shutdown_of_one_leaves_the_others(run: Run) -> None:
    route = run.route
    if run.binding.own_homes:
        _outlives(run, route, run.place("neighbour"), "another home")
    if not run.binding.own_homes or not run.declared("single_writer", default=False):
        _outlives(run, route, run.home, "the same home")


def _outlives(run: Run, route: str, neighbours_home: Path, which: str) -> None:
    if seen := losses.seen_again(functools.partial(_not_outlived, run, route, neighbours_home)):
        _violated(run, seen, which)


def _not_outlived(run: Run, route: str, neighbours_home: Path) -> Evidence | None:
    """How an instance failed behind the shutdown of its neighbour; None if it did not."""
    # Of a session of its own: no host opens one session twice at a time.
    neighbour = run.open(neighbours_home, f"{run.session_key()}-neighbour")
    subject = run.open()
    first, second = run.facts.several(2)
    run.plant(subject, first, route)
    # No rule asks that a text be recallable in its own session; but what is, stays so.
    seen = run.brings_back(subject, first)
    run.close(neighbour)
    # Once more, as a host does that ends a session on two paths; MP-SHUT-001 says what it raises.
    with contextlib.suppress(HookRaised):
        neighbour.close()
    if seen and not run.brings_back(subject, first):
        before = "text that was recalled before it"
        return NotRecalled(texts=(first.text,), subject=before, verb="is not recalled any more")
    try:
        run.plant(subject, second, route)
        subject.recall(second.query)
    except HookRaised as failure:
        if failure.ends_process or failure.is_report:
            raise
        hook = run.hook(failure.operation)
        return Raised.by(failure.error, hook=hook, who=hook)
    run.close(subject)
    kept = [losses.is_stored(run, fact) for fact in (first, second)]
    if not kept[0]:
        raise Lost(f"nothing stored through {route} comes back, with a neighbour or without")
    if kept[1]:
        return None
    after, also = "text that was stored after it", ", what was stored before is"
    return NotRecalled(texts=(second.text,), subject=after, verb="is not recalled", tail=also)


def _violated(run: Run, seen: Evidence, which: str) -> None:
    expected = f"an instance works on after {run.hook('close')} of one with {which}"
    run.violated(seen.told(wanted=expected), operation="close")


# -- places ----------------------------------------------------------------------------------------


# -- placing ---------------------------------------------------------------------------------------

# Chapter 70: where a provider leaves files.


#: Directories and endings of what may be lost, and of what only people read.
_PASSING = {".cache", "cache", "caches", "__pycache__", "log", "logs"}
_PASSING_ENDINGS = {".pyc", ".log"}

#: Words that make a text so long that a store may keep it in a file of its own.
_AT_LENGTH = " The tide turns, and the harbour fills again." * 200

#: A path of a file that is left elsewhere is named; so many are.
_PLACING_NAMED = 3


@check("MP-ISO-005")
def what_is_stored_lies_below_the_home(run: Run) -> None:
    # A text that is found needs no recall to prove that it was stored.
    assert run.audit is not None
    with run.audit.recording() as events:
        facts, allowed = _stored(run)
    for path in _files(run, events):
        if not any(path.is_relative_to(place) for place in allowed) and holds(path, facts):
            run.violated(
                Wrote(
                    wanted="stored text only below the given home",
                    paths=(_shown(run, path),),
                    lead="it is in ",
                )
            )
    run.needs_route("turns", "writes", "tools")
    if not any(losses.is_stored(run, fact) for fact in facts):
        raise Lost("nothing of what was planted comes back")


def _stored(run: Run) -> tuple[list[Fact], list[Path]]:
    """Facts that were given by each route in one whole session, and where they may lie."""
    facts = run.facts.several(2 * len(routes.ROUTES))
    allowed = [run.home.resolve(), *_paths(set_by_operator(run)), *_paths(run.context.caches)]
    with run.session() as subject:
        for number, fact in enumerate(facts):
            long = dataclasses.replace(fact, text=fact.text + _AT_LENGTH)
            is_second = number >= len(routes.ROUTES)
            route = routes.ROUTES[number % len(routes.ROUTES)]
            _try_to_plant(subject, long if is_second else fact, route)
        _use_the_others(subject, facts[0])
        named = subject.backup_paths() if subject.has("backup") else []
    return facts, [*allowed, *_paths(named)]


def _try_to_plant(subject: Subject, fact: Fact, route: str) -> None:
    """Store a fact by a route that may be none; what raises has a check of its own."""
    if route == "tools" and not subject.has("tools"):
        return
    try:
        routes.plant(subject, fact, route)
    except Untestable:
        return
    except HookRaised as failure:
        if failure.ends_process:
            raise


def _use_the_others(subject: Subject, fact: Fact) -> None:
    """Call the hooks of a session that store nothing of themselves: each may leave a file."""
    calls = routes.core_calls(subject, fact.text, fact.query)
    for operation in ("recall", "compress"):
        _whatever_it_raises(calls[operation])
    for call in routes.other_calls(subject, fact).values():
        _whatever_it_raises(call)


def _whatever_it_raises(call: Callable[[], Any]) -> None:
    """Make a call; what it raises has a check of its own, and so has one that hung before."""
    try:
        routes.in_passing(call)
    except HookRaised as failure:
        if failure.ends_process:
            raise


def _paths(values: Any) -> list[Path]:
    named = values if isinstance(values, list | tuple | set | frozenset) else ()
    texts = [str(value) for value in named if isinstance(value, str | os.PathLike)]
    return [Path(t).expanduser().resolve() for t in texts if t and "\0" not in t]


def _files(run: Run, events: list[str]) -> list[Path]:
    """Files in the check's own places, and others that were opened for writing meanwhile."""
    inside = [Path(name).resolve() for name in tree(run.root)]
    return sorted({*inside, *filter(Path.is_file, map(_opened, events))})


def _opened(event: str) -> Path:
    """The path that an audit event speaks of; one that is no file where it speaks of none."""
    match = re.match(r"opened (?:the database )?(b?'.*'|b?\".*\")", event)
    name = ast.literal_eval(match[1]) if match else ""
    text = os.fsdecode(name)
    return Path(text).resolve() if "\0" not in text else Path()


def _shown(run: Run, path: Path) -> str:
    """The path as its author wrote it, as far as that can be known."""
    names = {"user": "~", "tmp": "the temporary directory", "work": "the working directory"}
    places = sandbox.places(run.root)
    for name, shown in names.items():
        if path.is_relative_to(places[name].resolve()):
            return f"{shown}/{path.relative_to(places[name].resolve())}"
    return str(path)


@check("MP-ISO-009")
def a_session_leaves_no_file_elsewhere(run: Run) -> None:
    # Files that building and is_available leave have rules of their own.
    subject = run.provider()
    subject.available()
    before = _elsewhere(run)
    facts, allowed = _stored(run)
    now = _elsewhere(run)
    # A journal beside a database is the database's affair.
    allowed += {path.parent for path in now if holds(path, facts)}
    left = sorted(
        path for path in now - before if not any(path.is_relative_to(place) for place in allowed)
    )
    if left:
        named = tuple(_shown(run, path) for path in left[:_PLACING_NAMED])
        run.violated(
            Wrote(wanted="files below the given home only", paths=named, lead="a session made ")
        )


def _elsewhere(run: Run) -> set[Path]:
    """The files in the user's directory and in the working directory, without passing ones."""
    places = sandbox.places(run.root)
    roots = [places[name].resolve() for name in ("user", "work")]
    return {Path(name) for root in roots for name in tree(root) if not _passes(name, root)}


def _passes(name: str, root: Path) -> bool:
    path = Path(name).relative_to(root)
    folders = {part.lower() for part in path.parts[:-1]}
    return bool(folders & _PASSING) or path.suffix in _PASSING_ENDINGS


# -- secrets ---------------------------------------------------------------------------------------

# Chapter 70: credentials stay in the configuration.


#: A text that no entry holds.
_ABSENT = "the colour of the lighthouse door"

#: Texts that a store is likely to refuse, none of them long: a freeze has a rule of its own.
_HARD = ("a NUL", "a lone high surrogate", "an unbalanced quotation mark")

_LOG, _STREAM = "a log record", "a standard stream"
_ERROR, _RECALL = "the text of an exception", "a recall"

#: Characters of the text that are shown on each side of the credential.
_AROUND_CHARS = 60


@check("MP-ISO-006", budget_s=180.0)
def a_credential_is_shown_nowhere(run: Run) -> None:
    planted = credentials.planted(run)
    secrets = planted | credentials.given(run)
    with _listening() as ears:
        for operation, kind, text in _said(run, ears, planted):
            for key in (key for key, value in secrets.items() if value in text):
                run.violated(
                    Exposed(
                        wanted=(
                            f"the value of config[{key!r}] in no log, stream, exception or recall"
                        ),
                        hook=run.hook(operation),
                        place=kind,
                        excerpt=_excerpt(text, secrets[key]),
                        lead=f"{run.hook(operation)} wrote it into ",
                    ),
                    operation=operation,
                )


def _excerpt(text: str, secret: str) -> str:
    before, _, after = text.partition(secret)
    shown = f"{before[-_AROUND_CHARS:]}***{after[:_AROUND_CHARS].replace(secret, '***')}"
    return " ".join(shown.split())


# -- a session and what it says --------------------------------------------------------------------


def _said(run: Run, ears: "_Ears", extra: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The operation, the kind and the text of everything that a whole session says."""
    opened: list[Subject] = []
    for config in poor_sessions.failing_ways(run).values():
        failing = run.provider()
        start = functools.partial(failing.open, run.session_key(), config | extra)
        yield from _heard(ears, "open", start)
        yield from _heard(ears, "close", failing.close)
    yield from _heard(ears, "open", lambda: opened.append(run.open(**extra)))
    if not opened:
        return
    for operation, call in _calls(run, opened[0]):
        yield from _heard(ears, operation, call)
    yield from _heard(ears, "close", lambda: run.close(opened[0]))
    for _ in told_of(run):
        yield from _said_of_its_backend(run, ears, extra)


def _said_of_its_backend(
    run: Run, ears: "_Ears", extra: dict[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """The same of a session whose backend fails: its request is what there is to tell of."""
    opened: list[Subject] = []
    yield from _heard(ears, "open", lambda: opened.append(run.open(**extra)))
    for subject in opened:
        fact = run.facts.new()
        calls = [*routes.core_calls(subject, fact.text, fact.query).items()]
        for operation, call in [*calls, *_calls_of_extensions(run, subject, fact)]:
            yield from _heard(ears, operation, call)
        yield from _heard(ears, "close", functools.partial(run.close, subject))


def _calls_of_extensions(
    run: Run, subject: Subject, fact: Fact
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Calls of the hooks that tell a host or a user why they fail."""
    if subject.has("tools"):
        yield "call_tool", lambda: _stored_by_tool(subject, fact)
    if entries.served(run, "privacy"):
        yield "export", lambda: subject.export({})
        yield "forget", lambda: subject.forget({"session_id": f"{run.session_key()}-none"})


def _heard(
    ears: "_Ears", operation: str, call: Callable[[], Any]
) -> Iterator[tuple[str, str, str]]:
    """Make one call; what it raises is text here, and judged by other rules."""
    answer: Any = None
    try:
        answer = call()
    except HookRaised as failure:
        if failure.ends_process:
            raise
        yield operation, _ERROR, "".join(traceback.format_exception(failure.error))
    if operation == "recall" and isinstance(answer, str):
        yield operation, _RECALL, answer
    for kind, text in ears.news():
        yield operation, kind, text


def _calls(run: Run, subject: Subject) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The calls of a session, and calls that are legal and hard to serve."""
    fact = run.facts.new()
    yield "declare", subject.declare
    yield from routes.core_calls(subject, fact.text, fact.query).items()
    for text in (*(texts.NAMED[name] for name in _HARD), fact.text):
        yield from routes.core_calls(subject, text, text).items()
        yield "mirror", functools.partial(subject.mirror, "replace", "memory", text, _ABSENT)
        yield "mirror", functools.partial(subject.mirror, "remove", "memory", None, _ABSENT)
    if subject.has("tools"):
        yield "call_tool", lambda: _stored_by_tool(subject, fact)
        for name in poor_sessions.tool_names(subject):
            yield "call_tool", functools.partial(poor_sessions.call_badly, subject, name)
    yield "recall", lambda: subject.recall(fact.query)


def _stored_by_tool(subject: Subject, fact: Fact) -> None:
    """Store by a tool, where one stores: without it the other calls are judged all the same."""
    with contextlib.suppress(Untestable):
        routes.plant_by_tool(subject, fact)


# -- ears ------------------------------------------------------------------------------------------


@dataclasses.dataclass
class _Ears:
    """Output of the process since the last time: log records, and both standard streams."""

    records: list[str]
    streams: IO[bytes]

    def news(self) -> Iterator[tuple[str, str]]:
        """The kind and the text of what is new."""
        records, self.records[:] = list(self.records), []
        yield _LOG, "\n".join(records)
        _secrets_flush()
        yield _STREAM, self.streams.read().decode("utf-8", "replace")


@contextlib.contextmanager
def _listening() -> Iterator[_Ears]:
    """Hear every log record at every level, and what is written to descriptors 1 and 2."""
    with _streams() as streams, _records() as records:
        yield _Ears(records, streams)


@contextlib.contextmanager
def _streams() -> Iterator[IO[bytes]]:
    _secrets_flush()
    kept = {number: os.dup(number) for number in (1, 2)}
    with tempfile.NamedTemporaryFile() as file:
        writing = os.open(file.name, os.O_WRONLY | os.O_APPEND)
        try:
            for number in kept:
                os.dup2(writing, number)
            yield file
        finally:
            _secrets_flush()
            for number, copy in kept.items():
                os.dup2(copy, number)
            for number in (writing, *kept.values()):
                os.close(number)


def _secrets_flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


@contextlib.contextmanager
def _records() -> Iterator[list[str]]:
    """
    Collect the text of log records of every logger, whether it hands them on or not.

    Levels are opened up to DEBUG and put back. A logger that sets its own level in the meantime
    keeps it.
    """
    heard: list[str] = []
    make = logging.getLogRecordFactory()

    def hear(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        heard.append(_text(record))
        return record

    levels = {logger: logger.level for logger in _loggers()}
    for logger, level in levels.items():
        logger.setLevel(min(level, logging.DEBUG) if logger.parent else logging.DEBUG)
    logging.setLogRecordFactory(hear)
    try:
        yield heard
    finally:
        logging.setLogRecordFactory(make)
        for logger, level in levels.items():
            logger.setLevel(level)


def _loggers() -> list[logging.Logger]:
    known = logging.Logger.manager.loggerDict.values()
    return [logging.getLogger(), *(item for item in known if isinstance(item, logging.Logger))]


def _text(record: logging.LogRecord) -> str:
    """The record as a handler writes it, an exception included."""
    try:
        text = record.getMessage()
    except Exception:  # a format that does not fit is shown on stderr, with its arguments
        text = f"{record.msg!r} {record.args!r}"
    error = record.exc_info[1] if record.exc_info else None
    return text + ("".join(traceback.format_exception(error)) if error else "")
