"""The host's side of the protocol, to be embedded as it is: one registry for one agent."""

import os
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from memproto.deadlines import Clock, Deadlines, Limits
from memproto.errors import DuplicateProvider, RegistryClosed
from memproto.provider import MemoryProvider
from memproto.registry.activation import completed, opened
from memproto.registry.admission import label_of
from memproto.registry.answers import Answer, CompressRefused
from memproto.registry.calls.compression import compress
from memproto.registry.calls.lanes import ProviderLane
from memproto.registry.calls.recall import recall
from memproto.registry.core import Core, Session
from memproto.registry.events import attempt
from memproto.registry.messages import plain_text
from memproto.registry.parts.contributions import Contributions
from memproto.registry.parts.sessions import Sessions
from memproto.registry.parts.status import Status
from memproto.registry.parts.tools import Tools, read_tools
from memproto.registry.parts.turns import Turns
from memproto.registry.policy import Policy
from memproto.registry.shutdown import Ending, end_at_exit, forget_at_exit
from memproto.types import Event, Message

if TYPE_CHECKING:
    from memproto.wire import WireProvider


# Guarantees: no method raises what a provider raised, and none waits longer than its deadline,
#   whatever the providers do; the builtin provider stands first, the others in the
#   order of `register`, in everything; after `shutdown_all`, or once nothing refers to the
#   registry, no thread is left but those that a
#   provider does not give back; in a forked child every method does nothing.
# Assumes: the injected clock is monotonic; hosts call `shutdown_all`, since the exit function is
#   best effort. The user's KeyboardInterrupt on the main thread passes through.
class MemoryProviderRegistry:
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
        self._core = Core(deadlines, limits, clock, policy, on_event)
        self._tools = Tools(self._core)
        self._contributions = Contributions(self._core, self._tools)
        self._turns = Turns(self._core)
        self._sessions = Sessions(self._core)
        self._status = Status(self._core)
        self._ending: Ending | None = None
        #: Those that this registry started, by their names.
        self._programs: dict[str, WireProvider] = {}
        self._is_sealed = self._is_closed = False

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
        if self._core.is_elsewhere():
            return
        with self._core.lock:
            if self._is_sealed or self._is_closed:
                raise RegistryClosed(f"{label!r} came after `initialize_all` or `shutdown_all`")
            if label in self._core.registered:
                raise DuplicateProvider(f"another provider is registered as {label!r}")
            self._core.policy.check_place(label, self._core.registered)
            self._core.registered[label] = ProviderLane(
                label, provider, self._core.clock, self._core.sink, self._core.limits
            )

    def register_program(
        self,
        command: Sequence[str] | str,
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """
        Take in a provider that is a program, as `register` does; arguments as for `WireProvider`.

        Starts and greets it, and blocks for at most 20 s. If it is refused, it is ended again; one
        that is never opened ends with the registry.

        Raises:
            ValueError: The command is empty, or a text that cannot be split.
            NotStarted: It cannot be started, or is no server.
            MemprotoError: As for `register`.

        """
        if self._core.is_elsewhere():
            return
        # Hosts without such providers do not load the client.
        from memproto.wire import WireProvider

        provider = WireProvider(command, cwd=cwd, env=env)
        provider.start()
        try:
            self.register(provider)
        except BaseException:
            provider.shutdown()
            raise
        self._programs[provider.name] = provider

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of the active providers, in the order of registration, the builtin first."""
        return tuple(lane.label for lane in self._core.lanes)

    @property
    def capabilities(self) -> Mapping[str, Mapping[str, Any]]:
        """Each active provider's name to what it declared; read-only, all the way down."""
        return MappingProxyType({lane.label: lane.capabilities for lane in self._core.lanes})

    @property
    def dropped(self) -> Mapping[str, str]:
        """The providers that take no part, and why, in words for the operator."""
        return self._status.dropped

    @property
    def session_key(self) -> str:
        """The key of the session that the host is in; "" before `initialize_all`."""
        return self._sessions.session_key

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
        if self._core.is_elsewhere():
            return
        with self._core.lock:
            if self._is_sealed or self._is_closed:
                raise RegistryClosed("`initialize_all` was called already, or `shutdown_all` was")
            self._is_sealed = True
            waiting = self._core.policy.in_order(tuple(self._core.registered.values()))
            self._core.writes_are_called = self._core.policy.calls_writes(config)
            self._core.session = Session(session_key)
        lanes: list[ProviderLane] = []
        try:
            for lane in waiting:
                handed = completed(config, self._core.deadlines, self._core.policy)
                if opened(lane, session_key, handed, self._core.clock, self._core.deadlines):
                    lanes.append(lane)
                else:
                    self._core.refused[lane.label] = lane
            self._tools.table = read_tools(
                lanes, self._core.policy, self._core.gather(self._core.deadlines.ask_s)
            )
        finally:
            self._publish(tuple(lanes))

    def _publish(self, lanes: tuple[ProviderLane, ...]) -> None:
        with self._core.lock:
            # With the lock held: either `begin_end` has closed the registry, and the providers are
            # ended here; or it comes later, and finds them in `_lanes`. None is ended by nobody.
            self._core.registered.clear()
            was_closed = self._is_closed
            self._core.lanes = () if was_closed else lanes
        if was_closed and lanes:  # shut down from another thread while the providers opened
            self._end_of(lanes).begin().wait()
        elif lanes:
            end_at_exit(self)

    def on_session_end(self, messages: Sequence[Message]) -> None:
        """
        Tell each provider that serves `sessions` that the session is over; returns at once.

        Queued behind the writes, with the messages as role and plain text. A session ends once:
        further calls do nothing until a switch to another one. `shutdown_all`, and a switch with
        `reset`, end a session that was not ended, without messages.
        """
        self._sessions.on_session_end(messages)

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs: Any,
    ) -> None:
        """
        Go on in another session; returns at once.

        Queued behind the writes of the session that is left; what is written later comes after it.
        A provider is asked for nothing until it has switched, and what it was asked before is
        dropped. One that does not serve `sessions` stays in its session, with an event: to move
        it the host builds a new registry. An adapter that keeps the key for what it adapts says
        so by an attribute `keeps_session_key` that is True, and is told whatever it declares.

        Raises:
            ValueError: `new_session_id` is no session key.

        """
        self._sessions.on_session_switch(
            new_session_id,
            parent_session_id=parent_session_id,
            reset=reset,
            rewound=rewound,
            **kwargs,
        )

    def flush(self, timeout_s: float | None = None) -> bool:
        """
        True if all that was queued before this call was delivered, or told as lost.

        Waits for it, for `Deadlines.shutdown_s` by default. A provider's own thread waits for the
        others only.
        """
        return self._sessions.flush(timeout_s)

    # -- turns and writes -----------------------------------------------------------------

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        """
        Tell each provider that serves `turns` that a turn begins, before it is recalled for.

        All at once, each on a thread of its own; returns when all have returned, after
        `Deadlines.turn_start_s` at the latest.
        """
        self._turns.on_turn_start(turn_number, message, **kwargs)

    def enrich_turn(self, user_message: str, messages: Sequence[Message]) -> list[tuple[str, str]]:
        """
        Returns (label, text) of each provider that knows something about this turn, in order.

        All providers are asked at once. One that has not answered after `Deadlines.enrich_s` is
        left out of this turn, and of the next ones until it has returned. Texts are as the
        providers gave them: hand them to `inject_memory_context`. If the session is switched
        meanwhile, the answers are dropped. Each provider gets its own copy of `messages`.
        """
        lanes = self._core.lanes
        if not lanes or self._core.is_elsewhere():
            return []
        # Read before the recall starts. A switch replaces it: then what the providers said is about
        # the session that was left.
        session = self._core.session
        gather = self._core.gather(self._core.deadlines.enrich_s)
        found = recall(lanes, plain_text(user_message), messages, gather)
        return found if session is self._core.session else []

    def recall_items(self, request: Mapping[str, Any]) -> list[Answer]:
        """
        Returns the items of each provider that serves `items`, in order; each has all the budget.

        Called in place of `enrich_turn` for these providers. All are asked at once, for
        `Deadlines.enrich_s` at most; texts are as the providers gave them, for the fence. If
        the session is switched meanwhile, the answers are dropped.
        """
        return self._contributions.recall_items(request)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """
        Record one finished turn with each provider; returns at once.

        A block that was injected into `user_message` is taken out: the original is recorded.
        """
        self._turns.on_turn_complete(user_message, assistant_response)

    def record(self, turn: Mapping[str, Any]) -> None:
        """
        Record a finished turn with all that is known of it; returns at once.

        In place of `on_turn_complete`, not beside it: providers that do not serve `record` get
        that hook, once for each `turn_id` of the last thousand, so that a host that does not know
        whether a turn was taken may call this again. `turn` is as in
        `recorded-turn.schema.json`; `session_id` is that of the session where it is missing. A
        block that was injected into the message is taken out. A turn of a context in which no
        write hooks are called is not recorded, and one of a bot by `record` alone.

        Raises:
            ValueError: A key is missing that is always there.

        """
        self._turns.record(turn)

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
        for lane in self._core.writable():
            if lane.label != served_by:
                lane.accept("on_memory_write", (action, target, new, old))

    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        """Tell each provider that serves `delegation` what a subagent answered; returns at once."""
        self._sessions.on_delegation(task, result, child_session_id=child_session_id, **kwargs)

    # -- prompt and compression -----------------------------------------------------------

    def system_prompt_block(self) -> str:
        """
        Returns a section for each provider that serves `prompt` and says something, in order.

        Asked once in a session, all at once, for `Deadlines.ask_s` at most; the text is the same,
        byte for byte, until a switch to another session. Each block is made harmless for the
        fence, cut to `Limits.prompt_chars`, and headed by its provider's name. A provider that
        failed is left out for the session. If none of a provider's tools is offered, its
        section says so: the block may speak of them, and may hold what is remembered as well.
        """
        return self._contributions.system_prompt_block()

    def on_compress(
        self, messages: Sequence[Message], compression_count: int
    ) -> CompressRefused | None:
        """
        Show each provider the messages that are about to go, as role and plain text, and wait.

        All at once; returns when all have returned, after `Deadlines.compress_s` at the latest.
        Gives None if the messages may go, and `CompressRefused` if a provider that serves
        `checkpoint` raised or has not returned: the host keeps them then, and tells the user. In a
        context in which no write hook is called, no such provider is asked.
        """
        # A session in which no write hook is called stores nothing, and asks for no checkpoint.
        asks_all = self._core.writes_are_called
        lanes = [item for item in self._core.lanes if asks_all or not item.stops_compression]
        if not lanes or self._core.is_elsewhere():
            return None
        gather = self._core.gather(self._core.deadlines.compress_s)
        return compress(lanes, messages, compression_count, gather)

    def compress_notes(self, messages: Sequence[Message]) -> str:
        """
        Returns what a summary of `messages` should hold, framed as data, one section a provider.

        Called after `on_compress`, with the same messages. All that serve `compress_notes` are
        asked at once, for `Deadlines.compress_s` at most; each is cut to `Limits.notes_chars`.
        "" where nobody has anything to say.
        """
        return self._contributions.compress_notes(messages)

    # -- tools ----------------------------------------------------------------------------

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """
        Returns the bare schemas of all tools that may be called, in order; the caller's own copies.

        They were read once, when the session began, within `Deadlines.ask_s` for all providers.
        """
        return self._tools.get_tool_schemas()

    def tool_provider(self, tool_name: str) -> str | None:
        """The provider that serves a tool, for `served_by` of a mirrored write; or None."""
        return self._tools.tool_provider(tool_name)

    def handle_tool_call(self, tool_name: str, args: object, **kwargs: Any) -> str:
        """
        Returns the result of a tool call, which is one JSON document whatever happens.

        Blocks for at most `Deadlines.tool_s`; the hook runs on a thread of its own, so that calls
        of one answer of the model may be made side by side, from several threads. An unknown or
        forbidden tool, a provider that raised, answered late or with something else, and arguments
        that are no dict give `{"success": false, "error": ...}`. A provider that has not returned
        from an earlier call is not called again until it does.
        """
        return self._tools.handle_tool_call(tool_name, args, **kwargs)

    def suppresses_local_writes(self, target: str) -> bool:
        """
        True if the host leaves out its own write to `target`, and only mirrors it.

        Not where writes are not mirrored: one that nobody takes would be lost.
        """
        return self._tools.suppresses_local_writes(target)

    def suppresses_memory_review(self) -> bool:
        """True if the host leaves out its review of the memory: some target is suppressed."""
        return self._tools.suppresses_memory_review()

    # -- the user's and the operator's questions ------------------------------------------

    def export(self, scope: Mapping[str, Any]) -> list[Answer]:
        """
        Returns what each provider has stored in a scope; one that cannot say so is named, too.

        All at once, each after the writes that were queued before this call, for
        `Deadlines.privacy_s` at most.
        """
        return self._contributions.export(scope)

    def forget(self, scope: Mapping[str, Any]) -> list[Answer]:
        """
        Have each provider remove what is stored in a scope; returns how much that was.

        As `export`; documents hold `removed` and `pending`. A provider whose outcome is not
        `ok` may still hold something: the host tells the user.
        """
        return self._contributions.forget(scope)

    def recall_status(self) -> list[Answer]:
        """
        Returns how recall fares, of each provider that serves `status`, in order.

        All are asked at once; waits for `Deadlines.ask_s` at most.
        """
        return self._status.recall_status()

    def unavailable_reason(self) -> dict[str, str]:
        """
        Returns what is wrong with each provider with which something is, in words for the operator.

        Those that were dropped are named with the reason of that moment, those that serve
        `status` are asked at once; waits for `Deadlines.ask_s` at most.
        """
        return self._status.unavailable_reason()

    def backup_paths(self) -> list[Answer]:
        """
        Returns the absolute paths outside of the homes, of each provider that serves `backup`.

        May be called before `initialize_all`; then each provider that has the hook is asked. All
        at once, for `Deadlines.ask_s` at most. If an answer is not `ok`, its paths are missing
        from a backup.
        """
        return self._status.backup_paths()

    def stats(self) -> dict[str, Any]:
        """
        Returns plain JSON with no text of the user: each provider's state, queue and counters.

        `hooks` counts the events of each hook by outcome, `lost` the accepted calls that were
        given up; both since the registry was made.
        """
        return self._status.stats()

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
        if self._core.is_elsewhere():
            return None
        with self._core.lock:
            self._is_closed = True
            if self._core.lanes:
                self.on_session_end([])  # unless it was ended already
                ending = self._end_of(self._core.lanes)
                # The lock is reentrant: a signal handler on this thread may have run all of this
                # since the look at `_lanes`. Its ending is kept, and begun a second time here,
                # which changes nothing; its `_ended` is kept as well.
                self._ending = self._ending or ending
                self._ending.begin()
                self._core.ended, self._core.lanes = self._core.lanes or self._core.ended, ()
            for label, provider in self._programs.items():
                if all(lane.label != label for lane in self._core.ended):
                    provider.let_go()
            return self._ending

    def _end_of(self, lanes: tuple[ProviderLane, ...]) -> Ending:
        return Ending(lanes, self._core.clock, self._core.deadlines.shutdown_s)

    def _end_unwatched(self) -> None:
        """Start the end of a registry that nobody can call any more, without waiting."""
        # A finalizer runs on any thread, in the middle of anything: it takes no lock and waits for
        # nobody. The exit threads of the lanes do the rest, and refer to the lanes alone.
        forget_at_exit(self)
        if self._core.lanes and not self._core.is_elsewhere():
            self._end_of(self._core.lanes).begin()
