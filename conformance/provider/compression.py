"""Chapter 60: compression."""

import copy
from typing import Any

from memproto.errors import Unavailable
from memproto.testing import texts
from memproto.testing.clauses import NotApplicable, Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.subject import HookRaised
from memproto.testing.wire import show

Messages = list[dict[str, Any]]

_ROLES = ("system", "user", "assistant", "tool", "function", "developer", "moderator")


def _plain(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


def _snapshots(run: Run) -> dict[str, Messages]:
    """Lists of messages as a host of the binding hands them over, by what is special in them."""
    odd = {**texts.NAMED, **texts.generated(run.context.seed, run.examples)}
    found = {
        "an empty list": [],
        "a single message of the user": [_plain("user", "Which berth is free?")],
        "a single message of the assistant": [_plain("assistant", "Berth 4.")],
        "nothing but a system message": [_plain("system", "You help with a harbour.")],
        "every role": [_plain(role, f"Words of the {role}.") for role in _ROLES],
        "messages without text": [_plain("user", ""), _plain("assistant", "")],
        "odd texts": [_plain("user", text) for text in odd.values()],
        "200 messages": [
            _plain(_ROLES[1 + number % 2], f"Turn {number}: the ferry left.")
            for number in range(200)
        ],
    }
    return {**found, **_hermes_snapshots()} if run.binding == "hermes" else found


def _hermes_snapshots() -> dict[str, Messages]:
    """What a Hermes host hands over as it is: parts, and messages that hold only tool calls."""
    function = {"name": "look_up", "arguments": "{}"}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K"}}
    return {
        "tool calls": [
            _plain("user", "Look it up."),
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "content": "found", "tool_call_id": "call_1"},
        ],
        "a message of parts": [
            {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}
        ],
    }


@check("MP-COMP-001")
def compression_takes_any_list(run: Run) -> None:
    run.needs_hook("compress")
    if "checkpoint" in run.declared("extensions", []):
        raise NotApplicable("checkpoint is declared: raising is how it stops the compressor")
    snapshots = _snapshots(run)
    failures: list[tuple[str, HookRaised]] = []
    with run.session() as subject:
        # Twice: two compressions in a session are in order, of the same messages as well.
        for count, name in enumerate([*snapshots, *snapshots], start=1):
            try:
                subject.compress(copy.deepcopy(snapshots[name]), count)
            except HookRaised as failure:
                if failure.ends_process:
                    raise
                failures.append((name, failure))
    _no_failure(run, failures)


def _no_failure(run: Run, failures: list[tuple[str, HookRaised]]) -> None:
    if not failures:
        return
    name, failure = failures[0]
    if isinstance(failure.error, Unavailable):
        raise Untestable(f"{run.hook('compress')} reported {show(failure.error)}")
    run.violated(
        f"{run.hook('compress')} returns for every list of messages",
        f"it raised {show(failure.error)} for {name}",
    )


@check("MP-COMP-002")
def the_compressed_messages_stay_as_they_were(run: Run) -> None:
    with run.session() as subject:
        for count, (name, messages) in enumerate(_snapshots(run).items(), start=1):
            given = copy.deepcopy(messages)
            subject.compress(given, count)
            if given != messages:
                run.violated(
                    "the messages as they were handed over",
                    f"{name}: {_difference(messages, given)}",
                )


def _difference(before: Messages, after: Messages) -> str:
    if len(before) != len(after):
        return f"{len(before)} messages became {len(after)}"
    changed = next(i for i, message in enumerate(before) if message != after[i])
    return f"message {changed}, {show(before[changed])}, became {show(after[changed])}"


@check("MP-COMP-003")
def compression_leaves_what_was_stored(run: Run) -> None:
    run.needs_hook("compress")
    route = run.needs_route("turns", "writes", "tools")
    before, between, during = run.facts.several(3)
    for fact in (before, between):
        with run.session() as subject:
            run.plant(subject, fact, route)
    if not all(run.reopened_brings_back(fact) for fact in (before, between)):
        raise Untestable("two stored facts did not come back without a compression either")
    with run.session() as subject:
        run.plant(subject, during, route)
        subject.compress(_held(during), 1)
    for fact, when in ((before, "an earlier session"), (during, "the compressed session")):
        if not run.reopened_brings_back(fact):
            run.violated(
                f"what was stored before {run.hook('compress')}, recalled after a new start",
                f"{fact.text!r}, stored in {when}, did not come back after a compression",
            )


def _held(fact: Fact) -> Messages:
    """The messages of the turn that held the fact, among others."""
    return [
        _plain("user", fact.text),
        _plain("assistant", f"I will remember {fact.name}."),
        _plain("user", "And how is the weather?"),
        _plain("assistant", "Calm."),
    ]
