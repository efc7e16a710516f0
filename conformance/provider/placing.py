"""Chapter 70: where a provider leaves files."""

import ast
import dataclasses
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memproto.testing import losses, routes, sandbox
from memproto.testing.clauses import Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.storefiles import holds, set_by_operator
from memproto.testing.subject import HookRaised, Subject
from memproto.testing.watchers import tree

#: Directories and endings of what may be lost, and of what only people read.
_PASSING = {".cache", "cache", "caches", "__pycache__", "log", "logs"}
_PASSING_ENDINGS = {".pyc", ".log"}

#: What makes a text so long that a store may keep it in a file of its own.
_AT_LENGTH = " The tide turns, and the harbour fills again." * 200

#: A path of a file that is left elsewhere is named; so many are.
_NAMED = 3


@check("MP-ISO-005")
def what_is_stored_lies_below_the_home(run: Run) -> None:
    # A text that is found needs no recall to prove that it was stored.
    assert run.audit is not None
    with run.audit.recording() as events:
        facts, allowed = _stored(run)
    for path in _files(run, events):
        if not any(path.is_relative_to(place) for place in allowed) and holds(path, facts):
            run.violated("stored text only below the given home", f"it is in {_shown(run, path)}")
    run.needs_route("turns", "writes", "tools")
    if not any(losses.is_stored(run, fact) for fact in facts):
        raise Untestable("nothing of what was planted comes back")


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
    # What building and is_available leave has rules of its own.
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
        named = ", ".join(_shown(run, path) for path in left[:_NAMED])
        run.violated("files below the given home only", f"a session made {named}")


def _elsewhere(run: Run) -> set[Path]:
    """The files in the user's directory and in the working directory, without passing ones."""
    places = sandbox.places(run.root)
    roots = [places[name].resolve() for name in ("user", "work")]
    return {Path(name) for root in roots for name in tree(root) if not _passes(name, root)}


def _passes(name: str, root: Path) -> bool:
    path = Path(name).relative_to(root)
    folders = {part.lower() for part in path.parts[:-1]}
    return bool(folders & _PASSING) or path.suffix in _PASSING_ENDINGS
