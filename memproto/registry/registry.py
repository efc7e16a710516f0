"""The host's side of the protocol, to be embedded as it is: one registry for one agent."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from memproto.deadlines import Clock, Deadlines, Limits, MonotonicClock
from memproto.errors import DuplicateProvider, RegistryClosed
from memproto.fence import strip_memory_context
from memproto.provider import MemoryProvider
from memproto.registry.activation import completed, opened
from memproto.registry.admission import label_of
from memproto.registry.answers import CompressRefused
from memproto.registry.base import Session
from memproto.registry.calls.lanes import Lane
from memproto.registry.calls.recall import compress, recall
from memproto.registry.events import EventSink, attempt
from memproto.registry.messages import plain_text
from memproto.registry.parts.contributions import Gathering
from memproto.registry.parts.sessions import SessionHooks
from memproto.registry.parts.status import Telling
from memproto.registry.parts.tools import Tool, read_tools
from memproto.registry.parts.turns import TurnHooks
from memproto.registry.policy import Policy
from memproto.registry.shutdown import Ending, end_at_exit, forget_at_exit
from memproto.types import Event, Message


# Guarantees: no method raises what a provider raised, and none waits longer than its deadline,
#   whatever the providers do; the builtin provider stands first, the others in the
#   order of `register`, in everything; after `shutdown_all`, or once nothing refers to the
#   registry, no thread is left but those that a
#   provider does not give back; in a forked child every method does nothing.
# Assumes: the injected clock is monotonic; hosts call `shutdown_all`, since the exit function is
#   best effort. The user's KeyboardInterrupt on the main thread passes through.
class MemoryProviderRegistry(TurnHooks, SessionHooks, Gathering, Telling):
    """
    Holds the providers of one agent and calls them as the specification promises.

    In an `agent_context` that is not among the policy's `contexts` no write hook is called.

    Every method may be called from any thread. `initialize_all` blocks as long as the providers'
    `initialize` does; what gives answers, `on_turn_start`, `on_compress`, `flush` and
    `shutdown_all` block up to their deadline; write hooks return at once. Spec:
    `spec/v1/45-threads.md`.

    Args:
        deadlines: The budgets in seconds; the specification's by default.
        limits: Its bounds: writes that wait, text for the prompt and for a summary.
        clock: All waiting goes through it; the system's monotonic clock by default.
        policy: The operator's rules, and the host's words about itself.
        on_event: Called with every `Event`, on the thread on which it happens, one that belongs to
            the registry included; what it raises is dropped.

    """

    def __init__(
        self,
        *,
        deadlines: Deadlines | None = None,
        limits: Limits | None = None,
        clock: Clock | None = None,
        policy: Policy | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self._deadlines = deadlines or Deadlines()
        self._limits = limits or Limits()
        self._clock = clock or MonotonicClock()
        self._policy = policy or Policy()
        self._sink = EventSink(on_event)
        self._process = os.getpid()
        self._lock = threading.RLock()  # a signal handler may end what it interrupts
        self._registered: dict[str, Lane] = {}
        self._lanes: tuple[Lane, ...] = ()
        self._tools: Mapping[str, Tool] = MappingProxyType({})
        self._ended: tuple[Lane, ...] = ()
        self._ending: Ending | None = None
        self._is_sealed = self._is_closed = False
        self._writes_are_called = True
        self._session = Session("")
        self._prompt = None, ""
        self._refused: dict[str, Lane] = {}

    def __del__(self) -> None:
        # An attribute may be missing if the construction failed; at exit modules may be gone.
        attempt(self._end_unwatched)

    # -- the providers ------------------------------------------------------------------------

    def register(self, provider: MemoryProvider) -> None:
        """
        Take a provider in, before `initialize_all`; reads its name, calls nothing else.

        Raises:
            NotAProvider: A member is missing, or a hook is a coroutine function.
            InvalidLabel: The name cannot label a section of the block.
            DuplicateProvider: Another provider has this name.
            SecondExternalProvider: The policy allows one, and there is one.
            RegistryClosed: The registry was initialized or shut down already.

        """
        label = label_of(provider)
        if self._is_elsewhere():
            return
        with self._lock:
            if self._is_sealed or self._is_closed:
                raise RegistryClosed(f"{label!r} came after `initialize_all` or `shutdown_all`")
            if label in self._registered:
                raise DuplicateProvider(f"another provider is registered as {label!r}")
            self._policy.check_place(label, self._registered)
            self._registered[label] = Lane(label, provider, self._clock, self._sink, self._limits)

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of the active providers, in the order of registration, the builtin first."""
        return tuple(lane.label for lane in self._lanes)

    @property
    def capabilities(self) -> Mapping[str, Mapping[str, Any]]:
        """Each active provider's name to what it declared; read-only, all the way down."""
        return MappingProxyType({lane.label: lane.capabilities for lane in self._lanes})

    # -- the life of a session ----------------------------------------------------------------

    def initialize_all(self, session_key: str, config: Mapping[str, Any]) -> None:
        """
        Open each provider, on this thread, the builtin one first and the others in the order of
        registration; drop those that fail. Then read the tool schemas, once for the session.

        Each is handed a copy of `config`, completed by `protocol`, `deadlines`, `limits` and
        `platform` where it has none; `home` is the host's to give. Blocks as long as they do.

        Raises:
            RegistryClosed: The registry was initialized or shut down already.

        """
        if self._is_elsewhere():
            return
        with self._lock:
            if self._is_sealed or self._is_closed:
                raise RegistryClosed("`initialize_all` was called already, or `shutdown_all` was")
            self._is_sealed = True
            waiting = self._policy.in_order(tuple(self._registered.values()))
            self._writes_are_called = self._policy.calls_writes(config)
            self._session = Session(session_key)
        lanes: list[Lane] = []
        try:
            for lane in waiting:
                handed = completed(config, self._deadlines, self._policy)
                if opened(lane, session_key, handed, self._clock, self._deadlines):
                    lanes.append(lane)
                else:
                    self._refused[lane.label] = lane
            self._tools = read_tools(lanes, self._policy, self._gather(self._deadlines.ask_s))
        finally:
            self._publish(tuple(lanes))

    def _publish(self, lanes: tuple[Lane, ...]) -> None:
        with self._lock:
            # With the lock held: either `begin_end` has closed the registry, and the providers are
            # ended here; or it comes later, and finds them in `_lanes`. None is ended by nobody.
            self._registered.clear()
            was_closed = self._is_closed
            self._lanes = () if was_closed else lanes
        if was_closed and lanes:  # shut down from another thread while the providers opened
            self._end_of(lanes).begin().wait()
        elif lanes:
            end_at_exit(self)

    def enrich_turn(self, user_message: str, messages: Sequence[Message]) -> list[tuple[str, str]]:
        """
        Returns (label, text) of each provider that knows something about this turn, in order.

        All providers are asked at once. One that has not answered after `Deadlines.enrich_s` is
        left out of this turn, and of the next ones until it has returned. Texts are as the
        providers gave them: hand them to `inject_memory_context`. If the session is switched
        meanwhile, the answers are dropped. Each provider gets its own copy of `messages`.
        """
        lanes = self._lanes
        if not lanes or self._is_elsewhere():
            return []
        # Read before the recall starts. A switch replaces it: then what the providers said is about
        # the session that was left.
        session = self._session
        gather = self._gather(self._deadlines.enrich_s)
        found = recall(lanes, plain_text(user_message), messages, gather)
        return found if session is self._session else []

    def on_memory_write(
        self,
        action: str,
        target: str,
        content: str | None,
        old_text: str | None = None,
        *,
        served_by: str | None = None,
    ) -> None:
        """
        Mirror one write of the memory tool to each provider but `served_by`; returns at once.

        `served_by` is the provider whose own tool made the write.
        """
        new, old = (None if text is None else plain_text(text) for text in (content, old_text))
        self._queue("on_memory_write", (action, target, new, old), served_by)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """
        Record one finished turn with each provider; returns at once.

        A block that was injected into `user_message` is taken out: the original is recorded.
        """
        original = strip_memory_context(plain_text(user_message))
        self._queue("on_turn_complete", (original, plain_text(assistant_response)))

    def on_compress(
        self, messages: Sequence[Message], compression_count: int
    ) -> CompressRefused | None:
        """
        Show each provider the messages that are about to go, as role and plain text, and wait.

        All at once; returns when all have returned, after `Deadlines.compress_s` at the latest.
        Gives None if the messages may go, and `CompressRefused` if a provider that serves
        `checkpoint` raised or has not returned: the host keeps them then, and tells the user.
        """
        lanes = self._lanes
        if not lanes or self._is_elsewhere():
            return None
        gather = self._gather(self._deadlines.compress_s)
        return compress(lanes, messages, compression_count, gather)

    # -- the end ------------------------------------------------------------------------------

    def shutdown_all(self) -> None:
        """
        Deliver what was accepted, shut each provider down, and wait; never raises.

        Everything together takes `Deadlines.shutdown_s` at most; what was not done by then is told
        by events. Further calls, from any thread, wait for the first one's end and change nothing.
        """
        ending = self.begin_end()
        if ending is not None:
            ending.wait()
            forget_at_exit(self)

    def begin_end(self) -> Ending | None:
        """Start the end for which `shutdown_all` waits; None if there is nothing to end here."""
        if self._is_elsewhere():
            return None
        with self._lock:
            self._is_closed = True
            if self._lanes:
                self.on_session_end([])  # unless it was ended already
                ending = self._end_of(self._lanes)
                # The lock is reentrant: a signal handler on this thread may have run all of this
                # since the look at `_lanes`. Its ending is kept, and begun a second time here,
                # which changes nothing; its `_ended` is kept as well.
                self._ending = self._ending or ending
                self._ending.begin()
                self._ended, self._lanes = self._lanes or self._ended, ()
            return self._ending

    def _end_of(self, lanes: tuple[Lane, ...]) -> Ending:
        return Ending(lanes, self._clock, self._deadlines.shutdown_s)

    def _end_unwatched(self) -> None:
        """Start the end of a registry that nobody can call any more, without waiting."""
        # A finalizer runs on any thread, in the middle of anything: it takes no lock and waits for
        # nobody. The exit threads of the lanes do the rest, and refer to the lanes alone.
        forget_at_exit(self)
        if self._lanes and not self._is_elsewhere():
            self._end_of(self._lanes).begin()
