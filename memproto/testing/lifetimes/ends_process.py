"""
A small host in a process of its own, which ends as hosts end: by itself, by an error, by a signal.

Started by `memproto.testing.lifetimes.ends` with a descriptor from which it reads one JSON object.
It says how far it came in lines on another one; everything else is seen from outside.
"""

import atexit
import contextlib
import functools
import itertools
import json
import logging
import os
import signal
import sys
import threading
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from types import FrameType
from typing import Any

from memproto import loading
from memproto.errors import ProviderError
from memproto.testing import locate
from memproto.testing.instruments import watchers
from memproto.testing.processes import host_template, sandbox, stacks
from memproto.testing.provider import write_action

#: Between two calls of a thread that makes them until the process ends: a host has pauses too, and
#: a queue that is filled at full speed takes longer than any end.
_PAUSE_S = 0.001

#: A thread is inside of a hook when its first call has returned, or after so long.
_INSIDE_S = 2.0

#: Functions that give a lock back: nobody can guard against an interrupt at their first line.
_GIVING_BACK = ("__exit__", "__aexit__", "release")

#: No hook makes so many calls.
_NEVER = 1 << 40

#: Characters of a tool's answer that are told.
_ANSWER_CHARS = 3_000

#: Stands in a call for the id of the session in which it is made; the same as in `changes`.
SESSION = "<the session>"

#: The host's exception, and its exit code if it names one.
FAILURE, EXIT_CODE = "the host has failed", 7
#: The exit code of a host that was told to end.
TERMINATED = 143

#: The user's words in a turn that is interrupted.
_SAID = "The lamps are lit."


#: A batch of turns that is written together is seldom longer.
_BATCH = 12

#: The answer of the assistant in a turn.
ANSWER = "Noted."

#: The word by which a host says that it tells the provider of a turn.
BEGINS = "begins"


def _unloaded() -> Any:
    raise RuntimeError("the target is not loaded yet")


class _HostFailed(Exception):
    """An exception that a host has not caught."""


class HostSession:
    """
    One session of the target after the other, on the main thread.

    Attributes:
        told: Orders of the parent: target, sessions, config, texts, script.
        key: The id of the session.
        provider: The instance, opened.

    """

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told
        self.key = ""
        self.provider: Any = None
        self._build: Callable[[], Any] = _unloaded
        self.said: list[dict[str, Any]] = []
        self._keys = iter(told["session_keys"])
        # The number of the latest turn, of one id; None where the provider is told of none.
        self._turn: int | None = told["turn"]
        self._has_begun = False
        self._pid = os.getpid()

    def goes_on(self) -> None:
        """End a copy that the provider has forked: each would fork again."""
        if os.getpid() != self._pid:
            os._exit(0)

    def say(self, word: str) -> None:
        """Tell the parent how far this process came."""
        self.goes_on()
        os.write(self.told["marks"], f"{word}\n".encode("utf-8", "backslashreplace"))

    def open(self) -> None:
        """Load the target and open the session, as a host does."""
        self.load()
        self.start()

    def load(self) -> None:
        """
        Load the target, in the places in which the process of the check has loaded it.

        A module that makes the name of its directory when it is imported has the same one in both.
        """
        sys.path[:0] = self.told["path"]
        with sandbox.entered(Path(self.told["root"]), self.told["env"]):
            loading.import_ahead(self.told["target"])
            loaded = loading.load(self.told["target"], self.told["factory"])
        self._build = loaded.build
        self.provider = loaded.build()
        self.provider.is_available()

    def beside(self, key: str, config: dict[str, Any]) -> Any:
        """Another instance in the same process, opened for somebody else."""
        other = self._build()
        other.is_available()
        other.initialize(key, config)
        other.capabilities()
        return other

    def start(self) -> None:
        """Open the session."""
        self.key, self._has_begun = next(self._keys, self.key), False
        self.provider.initialize(self.key, self.told["config"])
        self.provider.capabilities()
        self.say("opened")

    def begin(self, message: str) -> None:
        """Say that a turn begins if the provider is told so, unless one has begun already."""
        if self._turn is None or self._has_begun:
            return
        self._turn, self._has_begun = self._turn + 1, True
        self.say(BEGINS)
        # A host goes on: its exceptions are for its own rules.
        with contextlib.suppress(Exception):
            self.provider.on_turn_start(self._turn, message)
        self.say("begun")

    def begin_for(self, call: dict[str, Any]) -> None:
        """Say that a turn begins if the call is one that records a turn."""
        if call["hook"] == "on_turn_complete":
            self.begin(str(call["arguments"][0]))
        elif call["hook"] == "record":
            self.begin(str(call["arguments"][0]["user_message"]))

    def record(self, text: str, answer: str) -> None:
        """Record a finished turn once, after it began."""
        self.begin(text)
        self._has_begun = False
        self.provider.on_turn_complete(text, answer)

    def store(self, text: str) -> None:
        """Store a text by the route that the parent has chosen."""
        self.begin_to_store(text)
        self.keep(text)

    def begin_to_store(self, text: str) -> None:
        """Say that a turn begins if the text is stored by one; `store` does it by itself."""
        if self.told["route"] == "turns":
            self.begin(text)

    def keep(self, text: str) -> None:
        """Store a text whose turn has begun."""
        if self.told["route"] == "turns":
            self._tell(text, ANSWER)
        else:
            for _ in range(self.told["manner"]["times"]):
                write = write_action.arguments(tuple(self.told["write"]), text)
                self.provider.on_memory_write(*write)
        self.said += [{"role": "user", "content": text}, {"role": "assistant", "content": ANSWER}]

    def _tell(self, text: str, answer: str) -> None:
        self._has_begun = False
        for _ in range(self.told["manner"]["times"]):
            self.provider.on_turn_complete(text, answer)

    def store_all(self) -> None:
        """Store every text, and say so after each; a forgiving host says as well if one raises."""
        if self.told["is_forgiving"]:
            self.store_what_it_takes()
            return
        for number, text in enumerate(self.told["texts"]):
            self.store(text)
            self.say(f"stored {number}")

    def store_what_it_takes(self) -> None:
        """The same, of a provider that may refuse a text by any error: the next ones follow."""
        for number, text in enumerate(self.told["texts"]):
            try:
                self.store(text)
            except Exception as error:
                self.say(f"refused {number} {type(error).__name__}")
            else:
                self.say(f"stored {number}")

    def make(self, call: dict[str, Any]) -> Any:
        """Make a call that the parent has made up, as `changes` describes it; gives its answer."""
        filled = json.loads(json.dumps(call).replace(json.dumps(SESSION), json.dumps(self.key)))
        hook = getattr(self.provider, filled["hook"])
        self.begin_for(filled)
        self._has_begun = self._has_begun and filled["hook"] not in ("on_turn_complete", "record")
        return hook(*filled["arguments"], **filled["keywords"])

    def close(self) -> None:
        """Shut down; a session is rounded off before where that matters."""
        manner, said = self.told["manner"], self.said
        if manner["goes_on"]:
            for number in range(1, _BATCH + 1):
                question = f"Is lamp {number} on the quay lit?"
                self.begin(question)
                with self._forgiven():
                    self._tell(question, f"Lamp {number} is lit.")
        if manner["ends"] and hasattr(self.provider, "on_session_end"):
            with self._forgiven():
                self.provider.on_session_end(said)
        self.said = []
        self.say("ending")
        self.provider.shutdown()
        self.say("closed")

    def _forgiven(self) -> contextlib.AbstractContextManager[None]:
        """A forgiving host goes on after an exception of a hook in this body, as an agent does."""
        return contextlib.suppress(Exception) if self.told["is_forgiving"] else _STRICT


#: Lets every exception through.
_STRICT = contextlib.nullcontext()


# -- how a process ends ----------------------------------------------------------------------------


def plain(host: HostSession) -> None:
    """Shut down, and return."""
    host.open()
    host.store_all()
    host.close()


def twice(host: HostSession) -> None:
    """
    Two sessions, one after the other, each by an instance that is shut down; then return.

    The first stores the first text, and the second one the others. Then it makes the calls of the
    parent.
    """
    first, *others = host.told["texts"]
    for texts, calls in (([first], []), (others, host.told["calls"])):
        host.open()
        for text in texts:
            host.store(text)
        for call in calls:
            with contextlib.suppress(ProviderError):
                host.make(call)
                host.say("made")
        host.close()


def alike(host: HostSession) -> None:
    """Ask and store as a host does that has nothing of the kit, in the same order, and return."""
    host.open()
    for question in host.told["questions"]:
        answer = host.provider.enrich_turn(question, [])
        host.say(f"answered {json.dumps(answer if isinstance(answer, str) else None)}")
    for call in host.told["calls"]:
        host.make(call)
    host.say("ending")
    host.provider.shutdown()
    host.say("closed")


def shows(host: HostSession) -> None:
    """Make calls that read, tell the answer of each, shut down, and return."""
    host.open()
    for call in host.told["calls"]:
        host.say(f"shown {json.dumps(host.make(call))}")
    host.close()


def forgets(host: HostSession) -> None:
    """Return without a shutdown."""
    host.open()
    host.store_all()
    host.say("ending")


def fails(host: HostSession) -> None:
    """Raise without a shutdown."""
    forgets(host)
    raise _HostFailed(FAILURE)


def exits(host: HostSession) -> None:
    """Call sys.exit without a shutdown."""
    forgets(host)
    sys.exit(EXIT_CODE)


def at_exit(host: HostSession) -> None:
    """Shut down when the interpreter is about to end, behind what the provider does there."""
    atexit.register(host.close)
    forgets(host)


def busy(host: HostSession) -> None:
    """Return while two threads are inside of hooks."""
    host.open()
    inside = [threading.Event(), threading.Event()]
    text = host.told["texts"][0]

    def recall() -> None:
        # In the lane of the turn: never beside a recall, but maybe beside a write.
        host.begin_to_store(text)
        host.provider.enrich_turn("Where is the boat?", [])

    for event, call in zip(inside, (recall, lambda: host.keep(text)), strict=True):
        threading.Thread(target=_for_ever, args=(host, event, call), daemon=True).start()
        # One that has not returned by then is inside as well.
        event.wait(_INSIDE_S)
    host.say("ending")


def _for_ever(host: HostSession, event: threading.Event, call: Callable[[], Any]) -> None:
    while True:
        with contextlib.suppress(BaseException):
            call()
        host.goes_on()
        event.set()
        sleep(_PAUSE_S)


def killed(host: HostSession) -> None:
    """Store the first text, and be killed at a part of the way through storing the second."""
    host.open()
    first, second = host.told["texts"]
    host.begin_to_store(first)
    calls = _counted(lambda: host.keep(first))
    host.begin_to_store(second)
    with _at(_is_writing, max(1, int(calls * host.told["part"])), _kill):
        host.keep(second)
    _kill()


def _counted(store: Callable[[], None]) -> int:
    """Number of calls that touch the store which came back while a text was stored."""
    count = 0

    def see(frame: FrameType, event: str, function: Any) -> None:
        nonlocal count
        count += _is_writing(frame, event, function)

    sys.setprofile(see)
    store()
    sys.setprofile(None)
    return count


#: C functions after which what is on the disk may be another thing than before.
_WRITING = frozenset(
    {
        *("open", "write", "writelines", "flush", "truncate", "close", "fsync"),
        *("replace", "rename", "unlink", "remove", "execute", "executemany", "commit"),
    }
)


#: C functions after which it is known what is stored.
_READING = frozenset(
    {
        *("read", "readall", "readinto", "readline", "readlines"),
        *("fetchone", "fetchmany", "fetchall"),
    }
)


def _is_writing(_: FrameType, event: str, function: Any) -> bool:
    return event == "c_return" and getattr(function, "__name__", "") in _WRITING


def _is_call(frame: FrameType, event: str, _: Any) -> bool:
    """True if a function outside of Python's own library begins, which gives no lock back."""
    code = frame.f_code
    ours = event == "call" and code.co_name not in _GIVING_BACK
    return ours and locate.is_authors(code.co_filename)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def watched(host: HostSession) -> None:
    """Make calls that change the store; tell at which moments of each it is in neither state."""
    host.open()
    for number, call in enumerate(host.told["calls"]):
        states: list[_State] = []
        host.begin_for(call)
        begun = _held(host)
        note = functools.partial(_note, host, states, begun)
        with _seeing(_is_writing, note), contextlib.suppress(Exception):
            host.make(call)
        known = {(begun, ()), _state(host, begun)}
        moments = [place for place, state in enumerate(states, 1) if state not in known]
        host.say(f"moments {number} {json.dumps(moments)}")
    host.close()


def killed_at(host: HostSession) -> None:
    """Make the same calls, and be killed at one moment of one of them."""
    host.open()
    *before, last = host.told["calls"]
    for call in before:
        with contextlib.suppress(Exception):
            host.make(call)
    host.begin_for(last)
    with _at(_is_writing, host.told["moment"], _kill), contextlib.suppress(Exception):
        host.make(last)
    _kill()


def _held(host: HostSession) -> tuple[int, ...]:
    """A sum of what each of the files holds in which an earlier session's texts are found."""
    return tuple(map(_sum, host.told["watched"]))


#: Sums of the files that are watched; and of all below the home, once the former have changed.
_State = tuple[tuple[int, ...], tuple[tuple[str, int], ...]]


def _state(host: HostSession, begun: tuple[int, ...]) -> _State:
    """The state of the store; a store that moves to new files has its texts in these at its end."""
    held = _held(host)
    if held == begun:
        return held, ()
    below = [Path(at, name) for at, _, names in os.walk(host.told["home"]) for name in names]
    return held, tuple((str(path), _sum(str(path))) for path in sorted(below))


def _note(host: HostSession, states: list[_State], begun: tuple[int, ...]) -> None:
    states.append(_state(host, begun))


def _sum(name: str) -> int:
    try:
        with open(name, "rb") as file:  # noqa: PTH123 - an event for each file, many times
            return zlib.crc32(file.read()) + 1
    except OSError:
        return 0


def waits_to_write(host: HostSession) -> None:
    """Store the texts beside another process that does the same, and then in each other's midst."""
    host.open()
    sys.stdin.readline()
    host.store_what_it_takes()
    _races(host)
    host.close()


def _races(host: HostSession) -> None:
    """
    Make each call twice: once by itself, and once with a pause before it changes the store.

    The other process stores a text in the pause that this one has not read.
    """
    for number, (first, second) in enumerate(host.told.get("races", ())):
        # The race before is over for both.
        sys.stdin.readline()
        place = _first_change(host, first) if first is not None else 0
        host.begin_for(second)
        with _at(_begins_to_write, place or _NEVER, functools.partial(_pause, host, number)):
            host.say(f"made {number} {_outcome(host, second)}")


def _outcome(host: HostSession, call: dict[str, Any]) -> str:
    try:
        answer = host.make(call)
    except Exception as error:
        return f"raised {type(error).__name__}"
    return f"done {json.dumps(answer[:_ANSWER_CHARS] if isinstance(answer, str) else '')}"


def _pause(host: HostSession, number: int) -> None:
    host.say(f"paused {number}")
    sys.stdin.readline()


def _first_change(host: HostSession, call: dict[str, Any]) -> int:
    """
    Make a call; the number of the call of C in it by which all is read and nothing written, or 0.

    It is the first of those that may write, after the last reading before the store is changed.
    """
    states: list[tuple[int, ...]] = []
    read: list[int] = []

    def see(_: FrameType, event: str, function: Any) -> None:
        name = getattr(function, "__name__", "")
        if event == "c_return" and name in _READING:
            read.append(len(states))
        elif event == "c_call" and name in _WRITING:
            states.append(_held(host))

    host.begin_for(call)
    begun = _held(host)
    sys.setprofile(see)
    try:
        with contextlib.suppress(Exception):
            host.make(call)
    finally:
        sys.setprofile(None)
    changed = next((place for place, state in enumerate(states) if state != begun), len(states))
    if changed == len(states) and _held(host) == begun:
        return 0
    return max([place + 1 for place in read if place < changed], default=changed)


def _begins_to_write(_: FrameType, event: str, function: Any) -> bool:
    return event == "c_call" and getattr(function, "__name__", "") in _WRITING


@contextlib.contextmanager
def _seeing(
    counts: Callable[[FrameType, str, Any], bool], act: Callable[[], None]
) -> Iterator[None]:
    """Act at each event of the body that counts; what acting itself does is not seen."""

    def see(frame: FrameType, event: str, function: Any) -> None:
        if counts(frame, event, function):
            act()

    sys.setprofile(see)
    try:
        yield
    finally:
        sys.setprofile(None)


def interrupted(host: HostSession) -> None:
    """Have the user press Ctrl+C in every hook, and shut down in the end."""
    host.open()
    texts, points = host.told["texts"], host.told["points"]
    host.store(texts[0])
    for point, (operation, call) in itertools.product(points, _turn(host).items()):
        if operation == "recall":
            host.begin(_SAID)
        known = contextlib.suppress(KeyboardInterrupt, ProviderError)
        with known, _at(_is_call, point, _interrupt):
            call()
    for point, call in itertools.product(points, host.told["calls"]):
        _interrupt_call(host, point, call)
    for point, (there, back) in itertools.product(points, host.told["switches"]):
        _interrupt_call(host, point, there)
        _interrupt_call(host, _NEVER, back)
    host.store(texts[1])
    for point, call in itertools.product(points, host.told["ends"]):
        _interrupt_call(host, point, call)
    host.close()


def _interrupt_call(host: HostSession, point: int, call: dict[str, Any]) -> None:
    """Have Ctrl+C come in a call; one that was made before may be refused."""
    host.begin_for(call)
    with contextlib.suppress(KeyboardInterrupt, Exception), _at(_is_call, point, _interrupt):
        host.make(call)


def _turn(host: HostSession) -> dict[str, Callable[[], Any]]:
    """Operation to a call of each hook of a turn; what is not mirrored is reported, by raising."""
    said = [{"role": "user", "content": "And so on."}, {"role": "assistant", "content": "Yes."}]
    provider = host.provider
    return {
        "recall": lambda: provider.enrich_turn("Where is the boat?", []),
        "record": lambda: host.record(_SAID, "Good."),
        "mirror": lambda: provider.on_memory_write(
            *write_action.arguments(tuple(host.told["write"]), _SAID)
        ),
        "compress": lambda: provider.on_compress(list(said), 1),
    }


def signalled(host: HostSession) -> None:
    """Be ended by a signal inside of one hook, and call no shutdown after it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    host.load()
    hooks = {"open": host.start, **_turn(host), "close": host.close}
    for operation, call in hooks.items():
        if operation == "recall":
            host.begin(_SAID)
        is_asked = operation == host.told["operation"]
        at = _at(_is_call, host.told["point"], functools.partial(_signal, host))
        with contextlib.suppress(ProviderError), at if is_asked else contextlib.nullcontext():
            call()
        if is_asked:
            host.say("passed")
            return


def _signal(host: HostSession) -> None:
    host.say("signalled")
    host.say("ending")
    signal.raise_signal(host.told["signal"])


def forked(host: HostSession) -> None:
    """Fork within a session; the copy calls no hook and ends, and the session goes on."""
    host.open()
    host.store(host.told["texts"][0])
    with warnings.catch_warnings():
        # Threads are the provider's affair, and the subject of this script.
        warnings.simplefilter("ignore", DeprecationWarning)
        copy = os.fork()
    if not copy:
        return
    host.say("forked")
    host.say(f"copy {_end_of(copy, host.told['copy_s'])}")
    _goes_on(host)


def unforked(host: HostSession) -> None:
    """Make the calls of `forked` without a fork."""
    host.open()
    host.store(host.told["texts"][0])
    _goes_on(host)


def _goes_on(host: HostSession) -> None:
    _turn(host)["recall"]()
    host.store(host.told["texts"][1])
    host.close()


def _end_of(copy: int, within_s: float) -> str:
    """The ending of a copy of this process; it is killed when its time is over."""
    end = monotonic() + within_s
    while monotonic() < end:
        ended, status = os.waitpid(copy, os.WNOHANG)
        if ended:
            return str(os.waitstatus_to_exitcode(status))
        sleep(_PAUSE_S)
    os.kill(copy, signal.SIGKILL)
    os.waitpid(copy, 0)
    return "runs"


def _interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def _at(
    counts: Callable[[FrameType, str, Any], bool], number: int, act: Callable[[], None]
) -> Iterator[None]:
    """Act once when the body comes to the event of that number, of those that count."""
    left = number

    def count(frame: FrameType, event: str, function: Any) -> None:
        nonlocal left
        left -= counts(frame, event, function)
        if not left:
            sys.setprofile(None)
            act()

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)


SCRIPTS: dict[str, Callable[[HostSession], None]] = {
    script.__name__: script
    for script in (
        *(plain, twice, alike, shows, forgets, fails, exits, at_exit, busy),
        *(killed, watched, killed_at, waits_to_write, interrupted, signalled, forked, unforked),
    )
}


def _read(descriptor: int) -> dict[str, Any]:
    with os.fdopen(descriptor, "rb") as file:
        told: dict[str, Any] = json.loads(file.read())
    return told


def main(scripts: dict[str, Callable[[HostSession], None]] = SCRIPTS) -> None:
    """Be the host that the argument describes, or each that is asked for on its descriptor."""
    given = sys.argv[1]
    told = _read(int(given[1:])) if given[0] == "@" else host_template.serve(int(given))
    # These words are not for the provider, which may look there.
    del sys.argv[1:]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # A host keeps a log; without one, Python writes what is logged to standard error.
    logging.getLogger().addHandler(logging.NullHandler())
    watchers.AuditLog()
    with os.fdopen(told["stacks"], "w", encoding="utf-8", errors="replace") as file:
        stacks.write_on_demand(file)
        scripts[told["script"]](HostSession(told))


if __name__ == "__main__":
    main()
