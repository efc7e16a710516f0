"""
A provider: the nine members that every provider has.

`memproto.extensions` holds the members that it may add.

Everything here is `typing.Protocol`: a provider conforms by its shape and inherits nothing.
Values named here are described in `spec/v1`, their JSON shapes in `spec/v1/schemas`.
"""

from typing import Any, Protocol, runtime_checkable

from memproto.types import Capabilities, Message


@runtime_checkable
class MemoryProvider(Protocol):
    """
    One memory, for one session of one agent.

    Every hook may be called on any thread, recall beside one write included; the host never
    calls two write hooks of one instance at the same time.
    """

    @property
    def name(self) -> str:
        """
        The provider's identity: configuration key, log label and label of its section.

        Constant for the life of the installation. Spec: MP-NAME-001, MP-NAME-002, MP-NAME-003.
        """
        ...

    def is_available(self) -> bool:
        """
        True if the provider is installed and minimally configured.

        Cheap: opens no socket, starts no process, writes no file. Called before `initialize`.
        Spec: MP-AVAIL-001 to MP-AVAIL-003.
        """
        ...

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """
        Set up for one session, once, on the host's calling thread; may block.

        Args:
            session_key: The host's id of the session: opaque, any length, any character.
            config: Holds `home`, `protocol`, `deadlines`, `limits` and `platform`; may hold the
                further keys of the specification, and keys that this version does not know.

        Raises:
            Misconfigured: The operator must act. The host drops the provider and says so.

        Spec: MP-INIT-001 to MP-INIT-003.

        """
        ...

    def shutdown(self) -> None:
        """
        Write what was accepted, and let go of everything. Returns within 15 s and never raises.

        May be called twice, from two threads, before `initialize` and after one that failed.
        Spec: MP-SHUT-001 to MP-SHUT-006.
        """
        ...

    def capabilities(self) -> Capabilities:
        """
        Declare what this instance does; called once after `initialize`, then frozen.

        As in `schemas/capabilities.schema.json`. Spec: MP-CAP-001 to MP-CAP-003.
        """
        ...

    def enrich_turn(self, user_message: str, messages: list[Message]) -> str | None:
        """
        Recall what is known that bears on this turn, or None.

        Called beside the other providers, on any thread, and answered within 5 s. `messages` is
        the conversation so far, read-only; content may be a list of parts.
        Spec: MP-RECALL-001 to MP-RECALL-006.
        """
        ...

    def on_memory_write(
        self,
        action: str,
        target: str,
        content: str | None,
        old_text: str | None = None,
    ) -> None:
        """
        Mirror one write of the built-in memory tool. May block; the host owns the queue.

        Returning means accepted. Raising a `ProviderError` means not stored, and is a report.
        Spec: MP-WRITE-001 to MP-WRITE-006.
        """
        ...

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """
        Record one finished turn. May block; the host owns the queue and the order.

        Returning means accepted. Raising a `ProviderError` means not stored, and is a report.
        Spec: MP-TURN-001 to MP-TURN-004.
        """
        ...

    def on_compress(self, messages: list[Message], compression_count: int) -> None:
        """
        Take what is needed from messages that the host is about to discard. At most 120 s.

        `messages` are `{"role": str, "content": str}` with plain text.
        Spec: MP-COMP-001 to MP-COMP-003.
        """
        ...


@runtime_checkable
class AsyncMemoryProvider(Protocol):
    """A provider whose hooks are coroutines; hosts drive it through `memproto.adapters.aio`."""

    @property
    def name(self) -> str:
        """As `MemoryProvider.name`."""
        ...

    def is_available(self) -> bool:
        """As `MemoryProvider.is_available`; not a coroutine, since it does no I/O."""
        ...

    def capabilities(self) -> Capabilities:
        """As `MemoryProvider.capabilities`; not a coroutine."""
        ...

    async def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """As `MemoryProvider.initialize`."""
        ...

    async def shutdown(self) -> None:
        """As `MemoryProvider.shutdown`."""
        ...

    async def enrich_turn(self, user_message: str, messages: list[Message]) -> str | None:
        """As `MemoryProvider.enrich_turn`."""
        ...

    async def on_memory_write(
        self,
        action: str,
        target: str,
        content: str | None,
        old_text: str | None = None,
    ) -> None:
        """As `MemoryProvider.on_memory_write`."""
        ...

    async def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """As `MemoryProvider.on_turn_complete`."""
        ...

    async def on_compress(self, messages: list[Message], compression_count: int) -> None:
        """As `MemoryProvider.on_compress`."""
        ...
