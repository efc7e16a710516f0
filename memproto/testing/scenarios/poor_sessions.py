"""Ordinary sessions in which little goes well: no start, no write, refusals only, bad calls."""

import functools
import os
from collections.abc import Callable
from typing import Any

from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.scenarios import texts

#: Texts that many stores refuse; none is so long that a store which keeps it grows by it.
_REFUSED = ("a NUL", "an empty text", "20 kB of words")

_QUESTION = "Which lamps are lit?"

#: A name that no provider gives a tool.
_NO_TOOL = "memproto_no_such_tool"

#: Arguments that fit no schema.
_NO_ARGUMENTS: dict[str, Any] = {"": [None, {"lamp": -1}]}


def failing_ways(run: Run) -> dict[str, dict[str, Any]]:
    """The fault, in words, to a configuration that has it."""
    file = run.place("file")
    file.write_text("This is a file.\n", "ascii")
    ways = {"a home that is a file": run.config() | {"home": str(file)}}
    if os.geteuid() != 0:
        closed = run.place("closed")
        closed.mkdir(mode=0o500, exist_ok=True)
        ways["a home that is not writable"] = run.config() | {"home": str(closed)}
    if run.context.config:
        bare = {k: v for k, v in run.config().items() if k not in run.context.config}
        ways["no settings"] = {"home": str(run.home)} | bare
    return ways


def without_a_start(run: Run) -> None:
    """Each start that cannot succeed; the host cleans up, as the life of an instance says."""
    for config in failing_ways(run).values():
        subject = run.provider()
        in_passing(functools.partial(subject.open, run.session_key(), config))
        in_passing(subject.close)


def without_a_write(run: Run) -> None:
    """A user who asks one thing and leaves."""
    with run.session() as subject:
        in_passing(lambda: subject.recall(_QUESTION))


def of_refusals(run: Run) -> None:
    """Nothing but texts that many stores refuse, by every hook that stores."""
    with run.session() as subject:
        for name in _REFUSED:
            text = texts.NAMED[name]
            for call in routes.core_calls(subject, text, _QUESTION).values():
                in_passing(call)
        write_in_vain(subject)


def write_in_vain(subject: Subject) -> None:
    """Remove and replace a text that is in no entry."""
    for action, target in (("remove", "memory"), ("replace", "user")):
        write = (action, target, "The lamps are lit.", "No lamp was ever lit.")
        in_passing(functools.partial(subject.mirror, *write))


def of_bad_calls(run: Run) -> None:
    """Calls of tools that cannot succeed."""
    with run.session() as subject:
        call_all_badly(subject)


def call_all_badly(subject: Subject) -> None:
    """Call each of its tools, and one that it does not have, with arguments that fit no schema."""
    if subject.has("tools") and subject.has("call_tool"):
        for name in tool_names(subject):
            in_passing(functools.partial(call_badly, subject, name))


def tool_names(subject: Subject) -> list[str]:
    """The names of its tools, and one that it does not have."""
    schemas = subject.tools()
    known = schemas if isinstance(schemas, list) else []
    named = [one.get("name") for one in known if isinstance(one, dict)]
    return [*map(str, named), _NO_TOOL]


def call_badly(subject: Subject, name: str) -> Any:
    """Call a tool with arguments that fit no schema; gives its answer."""
    return subject.call_tool(name, dict(_NO_ARGUMENTS))


KINDS: tuple[Callable[[Run], None], ...] = (
    without_a_start,
    without_a_write,
    of_refusals,
    of_bad_calls,
)


def in_passing(call: Callable[[], Any]) -> None:
    """Make a call; what it raises is judged by other rules, unless it ends the process."""
    try:
        routes.in_passing(call)
    except HookRaised as failure:
        if failure.ends_process:
            raise
