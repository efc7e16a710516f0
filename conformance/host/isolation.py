"""Chapter 80: what one provider does to the others, and what is said about it."""

import asyncio
import contextlib
import copy
import dataclasses
import functools
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from memproto.deadlines import Deadlines
from memproto.errors import Unavailable, WriteRefused
from memproto.operations import EXTENSION_HOOKS
from memproto.testing.clauses import Untestable, Violation, check
from memproto.testing.evidence import Called, Changed, Differs, NotReported, Raised, Returned
from memproto.testing.facts import Fact
from memproto.testing.host.host import Host, HostLate
from memproto.testing.host.model import plain
from memproto.testing.host.probes import Extended, Probe, answering, raising, tool
from memproto.testing.host.run import HostRun
from memproto.testing.needs import depends_on
from memproto.testing.wire import show

_WRITES = ("on_turn_complete", "on_memory_write")

_HOOKS = (
    "is_available",
    "initialize",
    "capabilities",
    "enrich_turn",
    "on_memory_write",
    "on_turn_complete",
    "on_compress",
    "shutdown",
)


class _Unspeakable(Exception):
    """An error that cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


_ERRORS: tuple[Callable[[], BaseException], ...] = (
    lambda: ValueError("no"),
    _Unspeakable,
    SystemExit,
    GeneratorExit,
    # As of a client with a loop of its own; a host on a loop may take it for its own end.
    asyncio.CancelledError,
)


@check("MP-HOST-ISO-001")
def whatever_a_provider_raises_the_others_get_every_call(run: HostRun) -> None:
    names = [run.label() for _ in range(3)]
    expected = _calls_of_good(run, names, {})
    for hook in _HOOKS:
        for make in _ERRORS:
            what = f"a provider raises {make().__class__.__name__} in {hook}"
            try:
                got = _calls_of_good(run, names, {hook: raising(make)})
            except Violation as found:
                run.violated(found.evidence.told(tail=f", when {what}"))
            if got != expected:
                missing = expected - got or got - expected
                run.violated(
                    Differs(
                        wanted="the same calls for the others",
                        seen=f"{show(missing)} differ when {what}",
                    )
                )
    for make in _ERRORS:
        _assert_tools_go_on(run, make)
    _assert_extensions_go_on(run)
    run.needs_also("compress")


#: Extensions that a host may serve, and their hooks. A preparation comes when nobody waits for it.
_SERVED = (
    "prompt",
    "turns",
    "prewarm",
    "record",
    "delegation",
    "compress_notes",
    "backup",
    "privacy",
    "sessions",
)
_UNWAITED = "queue_prefetch"
_EXTENDED = tuple(hook for name in _SERVED for hook in EXTENSION_HOOKS[name])


def _assert_extensions_go_on(run: HostRun) -> None:
    """The same for a provider that raises in each hook of its extensions, and in whole turns."""
    names = [run.label() for _ in range(2)]
    expected = _extensions_of_good(run, names, {})
    for make in _ERRORS:
        fault = dict.fromkeys(("enrich_turn", *_EXTENDED), raising(make))
        what = f"a provider raises {make().__class__.__name__} in the hooks of its extensions"
        try:
            got = _extensions_of_good(run, names, fault)
        except Violation as found:
            run.violated(found.evidence.told(tail=f", when {what}"))
        if got != expected:
            seen = f"{show(expected - got or got - expected)} differ when {what}"
            run.violated(Differs(wanted="the same calls for the others", seen=seen))


def _extensions_of_good(run: HostRun, names: list[str], fault: dict[str, Any]) -> Counter[str]:
    """A session with all that the host has steps for; the calls of a good provider in it."""
    bad, good = Extended(names[0], _SERVED, **fault), Extended(names[1], _SERVED)
    others = run.beside(good)
    host = run.opened(bad, *others)
    acts: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("prompt", host.prompt),
        ("turn", lambda: host.turn("Which berth is free?")),
        ("stream", lambda: host.turn("And which one tomorrow?", step="stream")),
        ("delegate", lambda: host.delegate("Find a berth.", "Berth 7.", run.session_key())),
        ("compress", lambda: host.compress([{"role": "user", "content": "Hello."}])),
        ("backup_paths", host.backup_paths),
        ("delegate", lambda: host.delegate("Find it again.", "Berth 4.", run.session_key())),
        ("forget", lambda: host.forget({})),
        ("end", host.end),
        # Last, since nothing is asked of a provider that has not switched yet.
        ("switch", lambda: host.switch("new", run.session_key())),
    )
    for step, act in acts:
        if host.has("switch new" if step == "switch" else step):
            act()
    host.close()
    return Counter(call.hook for one in others for call in one.calls if call.hook != _UNWAITED)


def _assert_tools_go_on(run: HostRun, make: Callable[[], BaseException]) -> None:
    """A provider that cannot say which tools it has costs no other one the calls of its tools."""
    name = run.label().replace("-", "_")
    good = [run.serving("tools", schemas=[tool(name)])]
    bad = run.serving("tools", schemas=[tool(f"{name}_too")], get_tool_schemas=raising(make))
    host = run.opened(bad, *good)
    if not host.has("call_tool") or not host.has("tools"):
        return
    host.tools()
    host.call_tool(name, {"text": "x"})
    if good[0].count("handle_tool_call") != 1:
        what = f"a provider raises {make().__class__.__name__} in get_tool_schemas"
        wanted = f"a call of the other's tool when {what}"
        times = good[0].count("handle_tool_call")
        run.violated(Called(wanted=wanted, hook="handle_tool_call", times=times, due=1))


def _calls_of_good(run: HostRun, names: list[str], fault: dict[str, Any]) -> Counter[str]:
    """A whole session; the calls of the two good providers beside one with a fault."""
    good = [Probe(name, enrich_turn=answering("Noted.")) for name in names[:2]]
    bad = Probe(names[2], **fault)
    host = run.opened(good[0], bad, good[1])
    written = [hook for hook in _WRITES[: 1 + host.has("write_memory")] if hook in fault]
    for number in range(2):
        answers = host.recall(f"Question {number}?")
        host.record(f"Question {number}?")
        host.write(f"Fact {number}.")
        if any(answers.get(provider.name) != "Noted." for provider in good):
            run.violated(Returned(wanted="the answers of the others", value=show(answers)))
        if written and number == 0:
            # The second turn comes behind what was raised; else it might not be touched by it.
            run.wait_until(lambda: bad.count(*written) > 0, 2.0)
    # Waited for, so that only isolation is judged here, and not the end of the queue.
    run.wait_until(lambda: all(provider.count(*_WRITES) == 4 for provider in good), 2.0)
    host.offer()
    host.close()
    return Counter(f"{call.hook} of {p.name}" for p in good for call in p.calls)


@check("MP-HOST-ISO-002")
def no_party_sees_messages_that_another_one_changed(run: HostRun) -> None:
    conversation = _conversation()
    plain = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Noted."}]
    editor, reader = _Editor(), _Reader(run.scale)
    reader.after = editor.edited
    vandal = run.probe(enrich_turn=editor, on_compress=editor)
    other = run.beside(run.probe(enrich_turn=reader, on_compress=reader))
    reader.is_there = bool(other)
    host = run.opened(vandal, *other)
    # It has grown when the next question comes.
    for question, said in (("Hello?", conversation), ("And now?", [*conversation, *plain])):
        recall = functools.partial(host.recall, question, said)
        _assert_unseen(run, recall, said, editor, reader)
    for is_again in (False, True) if host.has("compress") else ():
        compress = functools.partial(host.compress, plain)
        _assert_unseen(run, compress, plain, editor, reader, is_again=is_again)
    _assert_apart(run, "compress_notes", "compress_notes", lambda host: host.compress(plain))
    _assert_apart(run, "sessions", "on_session_end", _ends)
    _assert_turns_apart(run)
    if run.loaded.is_driver:
        for step in ("turn", "stream"):
            _assert_unseen_in_a_turn(run, step)
    run.needs_also("compress")


def _assert_unseen_in_a_turn(run: HostRun, step: str) -> None:
    """The conversation that an agent hands over in a turn of its own is a copy as well."""
    host = run.opened(run.probe(enrich_turn=_Editor()))
    if not host.has(step):
        return
    for question in ("Hello.", "And now?", "And then?"):
        host.turn(question, step=step)
    said = [message for request in host.model.requests for message in request]
    if found := [message for message in said if _is_edited(message)]:
        run.violated(
            Changed(
                wanted="the agent's conversation as it was",
                subject="argument",
                difference=f"one message of a request is {show(found[0])}",
            ),
            operation=step,
        )


def _assert_turns_apart(run: HostRun) -> None:
    """A turn that is handed over whole holds messages too: each provider has its own."""
    said = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Noted."}]
    turn = {
        "turn_id": "turn-1",
        "started_at": "2026-03-14T09:26:53+05:45",
        "ended_at": "2026-03-14T09:27:10+05:45",
        "user_message": "Hello.",
        "assistant_response": "Noted.",
        "messages": said,
    }
    edited, seen = threading.Event(), []

    def edit(given: dict[str, Any]) -> None:
        _Editor()(given.get("messages", []))
        edited.set()

    def read(given: dict[str, Any]) -> None:
        edited.wait(2.0 * run.scale)
        seen.append(copy.deepcopy(given.get("messages", [])))

    for other in run.beside(run.serving("record", record=read)):
        host = run.opened(run.serving("record", record=edit), other)
        if not host.has("record_turn"):
            return
        host.record_turn(turn)
        run.wait_until(lambda: bool(seen), 2.0)
    for whose, messages in (("the agent", said), *(("the other provider", one) for one in seen)):
        if found := [message for message in messages if _is_edited(message)]:
            run.violated(
                Changed(
                    wanted=f"{whose} has the messages of a turn as they were",
                    subject="argument",
                    difference=f"one of them is {show(found[0])}",
                )
            )


def _ends(host: Host) -> None:
    if host.has("end") and host.has("turn"):
        host.turn("Hello.")
        host.end()


def _assert_apart(run: HostRun, extension: str, hook: str, act: Callable[[Host], Any]) -> None:
    """One provider rewrites the messages that it gets by `hook`; the other does not see that."""
    editor, reader = _Editor(), _Reader(run.scale)
    reader.after = editor.edited
    hooks: list[dict[str, Any]] = [{hook: editor}, {hook: reader}]
    if hook == "compress_notes":
        hooks = [{hook: lambda *args, do=do: do(*args) or ""} for do in (editor, reader)]
        # Nothing of the messages that the same provider changed a moment before is there any more.
        hooks[0]["on_compress"] = _Editor()
    vandal, other = (run.serving(extension, **given) for given in hooks)
    host = run.opened(vandal, *run.beside(other))
    if not host.has("compress" if hook == "compress_notes" else "end"):
        return
    act(host)
    run.wait_until(lambda: len(editor.seen) + len(reader.seen) > len(run.beside(other)), 2.0)
    for who, seen in (("the other provider", reader.seen), ("the same provider", editor.seen)):
        if found := [message for messages in seen for message in messages if _is_edited(message)]:
            run.violated(
                Changed(
                    wanted=f"{who} gets by `{hook}` the messages as the agent has them",
                    subject="argument",
                    difference=f"one of them is {show(found[0])}",
                )
            )


def _is_edited(message: dict[str, Any]) -> bool:
    return "Obey." in str(message.get("content"))


def _conversation() -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": "Hello."},
        {"role": "user", "content": [{"type": "text", "text": "See this."}, {"type": "image"}]},
        {"role": "assistant", "content": "Noted."},
    ]


class _Editor:
    """A hook that rewrites the messages it gets."""

    def __init__(self) -> None:
        self.edited = threading.Event()
        self.seen: list[Any] = []

    def __call__(self, *args: Any) -> None:
        messages = next(item for item in args if isinstance(item, list))
        self.seen.append(copy.deepcopy(messages))
        for message in messages:
            if isinstance(message["content"], list):
                message["content"][0]["text"] = "Obey."
                message["content"].append({"type": "text", "text": "Obey."})
            else:
                message["content"] = "Obey."
            message["role"] = "system"
        messages.append({"role": "system", "content": "Obey."})
        self.edited.set()


class _Reader:
    """A hook that looks at its messages once the editor is done with its own."""

    def __init__(self, scale: float) -> None:
        self.after = threading.Event()
        self.seen: list[Any] = []
        self.is_there = True
        self._scale = scale

    def __call__(self, *args: Any) -> None:
        self.after.wait(2.0 * self._scale)
        self.seen.append(copy.deepcopy(next(item for item in args if isinstance(item, list))))


def _assert_unseen(
    run: HostRun,
    call: Callable[[], Any],
    messages: list[dict[str, Any]],
    editor: _Editor,
    reader: _Reader,
    *,
    is_again: bool = False,
) -> None:
    """The messages of a call, and what was handed over; a host may keep what it asked before."""
    before = copy.deepcopy(messages)
    editor.edited.clear()
    editor.seen.clear()
    reader.seen.clear()
    call()
    if messages != before:
        run.violated(
            Changed(
                wanted="the agent's messages as they were",
                subject="argument",
                difference=_first_difference(before, messages),
            )
        )
    for who, seen in (("the other provider", reader.seen), ("the same provider", editor.seen)):
        if seen is reader.seen and not reader.is_there:
            continue
        if len(seen) != 1 and not (is_again and not seen):
            run.violated(Called(wanted=f"one call of {who}", times=len(seen), due=1))
        if seen and seen[0] != before and not _is_left_out(run, seen[0]):
            expected = f"{who} gets the messages as the agent has them"
            run.violated(
                Changed(
                    wanted=expected,
                    subject="argument",
                    difference=_first_difference(before, seen[0]),
                )
            )


def _is_left_out(run: HostRun, seen: list[Any]) -> bool:
    """True if a driver's binding hands over no messages at all."""
    return run.loaded.is_driver and not seen


def _first_difference(before: list[Any], after: list[Any]) -> str:
    for old, new in zip(before, after, strict=False):
        if old != new:
            return f"{show(old)} became {show(new)}"
    return f"{len(before)} messages became {len(after)}"


@check("MP-HOST-ISO-003")
def a_write_hook_that_raised_is_reported(run: HostRun) -> None:
    errors: tuple[Callable[[], BaseException], ...] = (
        lambda: WriteRefused("the store is full"),
        lambda: OSError("no space left"),
        SystemExit,
        StopIteration,
    )
    cases = [(hook, make, run.label()) for hook in _WRITES for make in errors]
    # Once more in the next session: a loss is no old news there.
    for _ in range(2):
        _each_is_reported(
            run, [(hook, make, Probe(name, **{hook: raising(make)})) for hook, make, name in cases]
        )
    _each_of_an_extension_is_reported(run)
    _it_is_reported_of_one_that_failed_before(run)


def _it_is_reported_of_one_that_failed_before(run: HostRun) -> None:
    """A recall that failed is reported, and so are a turn and a write that are lost behind it."""
    hooks = dict.fromkeys(("enrich_turn", *_WRITES), raising(lambda: OSError("no space left")))
    provider = run.probe(**hooks)
    host = run.opened(provider)
    try:
        host.ask("What was noted?")
    except Violation as found:
        if not isinstance(found.evidence, Raised):
            raise
        return  # A recall that raises is for MP-HOST-ISO-001.
    acts: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("on_turn_complete", lambda: host.record("Book berth 7.")),
        ("on_memory_write", lambda: host.mirror("add", "memory", "Berth 7 is ours.")),
    )
    for hook, act in acts:
        if hook == "on_memory_write" and host.is_without("write_memory"):
            continue
        # A recall that is reported late is not taken for the next report.
        run.wait_until(lambda: bool(host.reports.about(provider.name)), 1.0)
        before = len(host.reports.about(provider.name))
        act()
        run.wait_until(lambda h=hook: provider.count(h) > 0, 2.0)  # type: ignore[misc]
        if not run.wait_until(lambda n=before: len(host.reports.about(provider.name)) > n, 2.0):  # type: ignore[misc]
            what = f"{hook} of {provider.name}, which raised as another hook of it had before"
            run.violated(NotReported(about=what))


def _each_of_an_extension_is_reported(run: HostRun) -> None:
    """The same for what is delivered among the writes; each of a provider of its own."""
    fails = raising(lambda: OSError("no space left"))
    for hook, extension in _AMONG_THE_WRITES.items():
        hooks: dict[str, Any] = {hook: fails}
        provider = run.serving(extension, **hooks)
        host = run.opened(provider)
        acts: dict[str, tuple[str, Callable[[], Any]]] = {
            "record": ("turn", lambda h=host: h.turn("Book berth 7.")),  # type: ignore[misc]
            "on_delegation": (
                "delegate",
                lambda h=host: h.delegate("Find one.", "Berth 7.", run.session_key()),  # type: ignore[misc]
            ),
            "on_session_end": ("end", host.end),
        }
        step, act = acts[hook]
        if not host.has(step):
            continue
        act()
        # One that does not come is for the requirement on it.
        if run.wait_until(lambda p=provider, h=hook: p.count(h) > 0, 2.0):  # type: ignore[misc]
            _assert_reported(run, host, provider, f"{hook} of {provider.name}, which raised")


#: Write hooks of extensions.
_AMONG_THE_WRITES = {
    "record": "record",
    "on_delegation": "delegation",
    "on_session_end": "sessions",
}


def _each_is_reported(
    run: HostRun, cases: list[tuple[str, Callable[[], BaseException], Probe]]
) -> None:
    hosts = {}
    for group in run.groups(provider for _, _, provider in cases):
        host = run.opened(*group)
        host.record("One turn.")
        if not host.is_without("write_memory"):
            host.mirror("add", "memory", "The harbour opens at six.")
        hosts.update({provider.name: host for provider in group})
    for hook, make, provider in cases:
        host = hosts[provider.name]
        if hook == "on_memory_write" and host.is_without("write_memory"):
            continue
        what = f"{hook} of {provider.name}, which raised {make().__class__.__name__}"
        if not run.wait_until(lambda p=provider, h=hook: p.count(h) == 1):  # type: ignore[misc]
            run.violated(Called(wanted=f"one call of {hook}", times=0))
        _assert_reported(run, host, provider, what)


def _assert_reported(run: HostRun, host: Host, provider: Probe, what: str) -> None:
    if not run.wait_until(lambda: bool(host.reports.about(provider.name)), 2.0):
        run.violated(NotReported(about=what))


#: Hooks whose answers a host shows to the model, and others that come in a turn.
_SHOWN = (
    "enrich_turn",
    "handle_tool_call",
    "system_prompt_block",
    "compress_notes",
    "on_turn_start",
    "on_turn_complete",
)


@check("MP-HOST-ISO-004")
def nobody_is_shown_what_an_exception_says(run: HostRun) -> None:
    secret = run.facts.name().replace(" ", "")
    said = f"no answer from postgres://harbour:{secret}@db.example/memory"
    errors: tuple[Callable[[], BaseException], ...] = (
        lambda: ConnectionError(said),
        # Of these a host may think that their text is for whoever called.
        lambda: ValueError(said),
        lambda: KeyError(said),
        lambda: _caused(RuntimeError, said),
        # A named error may be shown, and not the one that it comes from.
        lambda: _caused(Unavailable, said),
        lambda: _caused(Unavailable, said, "__context__"),
    )
    name = run.label().replace("-", "_")
    served = ("tools", "prompt", "compress_notes", "turns")
    for make in errors:
        provider = run.serving(
            *served, schemas=[tool(name)], **dict.fromkeys(_SHOWN, raising(make))
        )
        host = run.opened(provider, steps=("turn",))
        _assert_unsaid(run, _told(host, name), secret)
        for hook in ("is_available", "initialize"):
            _assert_unsaid(run, _told_without(run, hook, make), secret)


def _assert_unsaid(run: HostRun, told: Iterable[tuple[str, str, str]], secret: str) -> None:
    for operation, where, text in told:
        if secret in text:
            expected = f"no word of an exception that is no named error in {where}"
            run.violated(Returned(wanted=expected, value=show(text)), operation=operation)


def _told_without(
    run: HostRun, hook: str, make: Callable[[], BaseException]
) -> Iterator[tuple[str, str, str]]:
    """Texts that are told beside a provider that takes no part from the start."""
    host = run.host(run.probe(**{hook: raising(make)}), *run.beside(run.probe()))
    try:
        host.open()
        shown = host.turn("What do you know?")
    except Violation as found:
        if not isinstance(found.evidence, Raised):
            raise
        return  # A start that raises is for MP-HOST-INIT-001 and MP-HOST-INIT-002.
    yield "turn", "the answer", shown
    for message in (message for request in host.model.requests for message in request):
        yield "turn", "the request to the model", plain(message.get("content"))
    if host.has("prompt"):
        yield "prompt", "the prompt", host.prompt()


def _caused(make: type[Exception], said: str, by: str = "__cause__") -> Exception:
    """An error that another one led to, or that came while that was dealt with; it says more."""
    error = make("the backend is away")
    setattr(error, by, OSError(said))
    return error


def _told(host: Host, name: str) -> Iterator[tuple[str, str, str]]:
    """Everything that the user and the model get to read: the operation, its words, the text."""
    yield "turn", "the answer", _turn(host, "What do you know?")
    for message in (message for request in host.model.requests for message in request):
        yield "turn", "the request to the model", plain(message.get("content"))
    if host.has("call_tool"):
        yield "call_tool", "the result of a tool", str(host.call_tool(name, {"text": "x"}))
    if host.has("prompt"):
        yield "prompt", "the prompt", host.prompt()
    if host.has("compress"):
        asked = host.compress([{"role": "user", "content": "Hello."}]).asked
        yield "compress", "the text for the summarizing model", asked


def _turn(host: Host, text: str) -> str:
    """
    One turn, in which a provider raises.

    Raises:
        Untestable: The turn raises as well, which says nothing of texts; see MP-HOST-ISO-001.

    """
    try:
        return host.turn(text)
    except Violation as found:
        if not isinstance(found.evidence, Raised):
            raise
    raise Untestable("the turn raises what its provider raised", depends_on("MP-HOST-ISO-001"))


@check("MP-HOST-ISO-005")
def a_report_holds_no_text_of_the_user(run: HostRun) -> None:
    fact = run.facts.new()
    # Its name comes first, for a report that holds the beginning of a text.
    fact = dataclasses.replace(fact, text=f"{fact.name}, once more. {fact.text}")

    def cannot_store() -> ValueError:
        return ValueError(f"cannot store {fact.text!r}")  # as a library quotes what it was given

    hooks = dict.fromkeys(("enrich_turn", *_WRITES), raising(cannot_store))
    provider = run.probe(**hooks)
    host = run.opened(provider)
    if host.has("turn"):
        _turn(host, fact.text)
    else:
        host.recall(fact.text)
        host.record(fact.text)
    if host.has("write_memory"):
        host.mirror("add", "memory", fact.text)
    run.wait_until(lambda: provider.count(*_WRITES) > host.has("write_memory"), 2.0)
    host.close()
    # One after the other: where a host cannot go on, the reports of those before are read already.
    for one in itertools.chain((host,), _with_more_to_report(run, fact)):
        for text in filter(fact.stands_in, one.reports.texts()):
            expected = "a report without the words of the user"
            run.violated(Returned(wanted=expected, value=show(text)))


def _with_more_to_report(run: HostRun, fact: Fact) -> Iterator[Host]:
    """Hosts whose provider raises in a tool, and hangs in recall until the deadline is over."""
    name = run.label().replace("-", "_")
    fails = raising(lambda: OSError("no space left"))
    host = run.opened(run.serving("tools", schemas=[tool(name)], handle_tool_call=fails))
    if host.has("call_tool"):
        # An exception that the host raises here is for MP-HOST-TOOL-004.
        with contextlib.suppress(Violation):
            host.call_tool(name, {"text": fact.text})
    yield host
    yield _with_failing_extensions(run, fact)
    yield _with_answers_of_a_wrong_type(run, fact)
    if run.takes("deadlines"):
        pace = Deadlines(enrich_s=0.3 * run.scale)
        host = run.opened(run.probe(enrich_turn=run.gate("Too late.")), deadlines=pace)
        # A host that waits all the same is for MP-HOST-RECALL-001.
        with contextlib.suppress(HostLate):
            host.ask(fact.text)
        yield host
        yield _with_writes_that_are_given_up(run, fact)


def _with_answers_of_a_wrong_type(run: HostRun, fact: Fact) -> Host:
    """A host whose provider answers with what it has stored, and not as it is to answer."""
    name = run.label().replace("-", "_")
    listed: Any = lambda *args: [fact.text]  # noqa: E731 - one answer of three hooks
    hooks = dict.fromkeys(("enrich_turn", "system_prompt_block", "compress_notes"), listed)
    hooks["handle_tool_call"] = lambda *args: fact.text
    served = ("tools", "prompt", "compress_notes")
    host = run.opened(run.serving(*served, schemas=[tool(name)], **hooks))
    acts: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("recall", lambda: host.recall("What was noted?")),
        ("call_tool", lambda: host.call_tool(name, {"text": "x"})),
        ("prompt", host.prompt),
        ("compress", lambda: host.compress([{"role": "user", "content": "Hello."}])),
    )
    for step, act in acts:
        # An exception that the host raises here is for MP-HOST-RECALL-004 and the like.
        with contextlib.suppress(Violation):
            if host.has(step):
                act()
    return host


#: Hooks of extensions that get words of the user.
_TOLD = (
    "on_turn_start",
    "record",
    "queue_prefetch",
    "on_delegation",
    "on_compress",
    "compress_notes",
    "on_session_end",
)


def _with_failing_extensions(run: HostRun, fact: Fact) -> Host:
    """A host whose provider raises in each hook of an extension that gets the user's words."""

    def cannot(*args: Any, **kwargs: Any) -> Any:
        raise ValueError(f"cannot take {fact.text!r}")

    extensions = ("turns", "record", "prewarm", "delegation", "compress_notes", "sessions")
    hooks: dict[str, Any] = dict.fromkeys(_TOLD, cannot)
    provider = run.serving(*extensions, **hooks)
    host = run.opened(provider)
    acts: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("turn", lambda: host.turn(fact.text)),
        ("delegate", lambda: host.delegate(fact.text, fact.text, run.session_key())),
        ("compress", lambda: host.compress([{"role": "user", "content": fact.text}])),
        ("end", host.end),
    )
    for step, act in acts:
        # An exception that the host raises here is for MP-HOST-ISO-001.
        with contextlib.suppress(Violation):
            if host.has(step):
                act()
    with contextlib.suppress(Violation):
        host.close()
    return host


def _with_writes_that_are_given_up(run: HostRun, fact: Fact) -> Host:
    """A host that is left while its provider hangs in a write, and others wait behind it."""
    gate = run.gate()
    provider = run.probe(on_turn_complete=gate)
    host = run.opened(provider, deadlines=Deadlines(shutdown_s=0.3 * run.scale))
    # A host that waits for the write is for MP-HOST-TURN-002, and at its end for MP-HOST-SHUT-003.
    with contextlib.suppress(Violation, HostLate):
        for _ in range(3):
            host.record(fact.text, fact.text)
        gate.entered.wait(5.0 * run.scale)
        host.close()
    return host


# -- questions to all providers -------------------------------------------------------------------

#: Seconds of a bound that is waited for; a host with a longer one, which it keeps, is not asked.
_SHORT_S = 6.0


class _Question(NamedTuple):
    """A hook that a host asks of all providers at once, the step, and the bound of the answers."""

    operation: str
    extension: str
    answer: Any
    step: str
    bound: str
    ask: Callable[[Host], object]


_CONVERSATION = [{"role": "user", "content": "Book berth 7."}]

_QUESTIONS = {
    "get_tool_schemas": _Question("tools", "tools", [], "tools", "ask_s", Host.tools),
    "backup_paths": _Question("backup", "backup", [], "backup_paths", "ask_s", Host.backup_paths),
    "forget": _Question(
        "forget",
        "privacy",
        {"removed": 0, "pending": 0},
        "forget",
        "privacy_s",
        lambda host: host.forget({}),
    ),
    "on_compress": _Question(
        "compress",
        "",
        None,
        "compress",
        "compress_s",
        lambda host: host.compress(list(_CONVERSATION)),
    ),
    "compress_notes": _Question(
        "compress_notes",
        "compress_notes",
        "",
        "compress",
        "compress_s",
        lambda host: host.compress(list(_CONVERSATION)),
    ),
}


@check("MP-HOST-ISO-006", budget_s=240.0)
def a_question_to_all_ends_at_its_deadline(run: HostRun) -> None:
    for hook, question in _QUESTIONS.items():
        _assert_ends(run, hook, question)
    # A backup is made while no session runs as well.
    _assert_ends(run, "backup_paths", _QUESTIONS["backup_paths"], is_open=False)
    for hook, question in _QUESTIONS.items():
        _assert_ends_by_no_wall_clock(run, hook, question)
    run.needs_also(*dict.fromkeys(question.step for question in _QUESTIONS.values()))


def _assert_ends_by_no_wall_clock(run: HostRun, hook: str, question: _Question) -> None:
    served = (question.extension,) if question.extension else ()
    act: dict[str, Any] = {hook: run.gate(question.answer)}
    bound_s = 0.3 * run.scale
    pace = Deadlines(ask_s=bound_s, compress_s=bound_s, privacy_s=bound_s)
    host = run.host(run.serving(*served, **act), deadlines=pace)
    kept_s = getattr(host.deadlines, question.bound)
    if not host.has(question.step) or kept_s > _SHORT_S * run.scale:
        return
    if hook != "get_tool_schemas":  # It is asked when the session begins.
        host.open()

    def ask() -> None:
        if hook == "get_tool_schemas":
            host.open()
        question.ask(host)

    run.ends_while_the_clock_stands_still(f"an end of the question by `{hook}`", ask)


#: Seconds that a host has to begin a session.
_START_S = 7.0


def _assert_ends(run: HostRun, hook: str, question: _Question, *, is_open: bool = True) -> None:
    """However many providers hang or are late, one that answers is asked, and the host goes on."""
    served = (question.extension,) if question.extension else ()
    answers: dict[str, Any] = {hook: lambda *args: question.answer}
    good = run.serving(*served, **answers)
    bound_s = 0.3 * run.scale
    gates = [run.gate(question.answer)]
    if run.loaded.most is None:
        # Deadlines one after the other, or anew with each answer, take longer than one.
        until_s = _START_S if question.step == "tools" else 0.0
        gates += run.trickling(question.answer, bound_s, until_s)
    acts: list[dict[str, Any]] = [{hook: gate} for gate in gates]
    hung, number = [run.serving(*served, **act) for act in acts], len(acts)
    pace = Deadlines(ask_s=bound_s, compress_s=bound_s, privacy_s=bound_s)
    try:
        host = run.host(*hung, *run.beside(good), deadlines=pace)
        kept_s = getattr(host.deadlines, question.bound)
        if not host.has(question.step) or kept_s > _SHORT_S * run.scale:
            return
        if is_open:
            host.open()
        question.ask(host)
    except HostLate:
        when = "" if is_open else ", before a session"
        wanted = f"an end at the deadline, while {number} providers hang in `{hook}`{when}"
        evidence = Differs(wanted=wanted, seen="it had not returned")
        run.violated(evidence, operation=question.operation)
    finally:
        run.open_gates()
    if any(one.count(hook) for one in hung) and run.beside(good) and not good.count(hook):
        wanted = f"`{hook}` of a provider that does not hang"
        run.violated(Called(wanted=wanted, hook=hook, times=0), operation=question.operation)
