"""
A third binding in one module: an invented framework, its hooks under names of its own.

`BINDING` is registered by an entry point, as a package would; nothing else knows the framework.
"""

import inspect
from typing import Any

from memproto.bindings import Binding
from tests.good.journal import Journal

#: Operation to the hook of the framework; it has no declaration and no extensions.
HOOKS = {
    "name": "label",
    "available": "ready",
    "open": "begin",
    "recall": "fetch",
    "record": "save",
    "mirror": "note",
    "close": "finish",
}


class Shelf:
    """A provider as the framework wants it; what it keeps is a journal's."""

    label = "shelf"

    def __init__(self) -> None:
        self._journal = Journal()

    def ready(self) -> bool:
        return True

    def begin(self, *, session: str, options: dict[str, Any]) -> None:
        self._journal.initialize(session, options)

    def fetch(self, question: str) -> str | None:
        return self._journal.enrich_turn(question, [])

    def save(self, asked: str, answered: str) -> None:
        self._journal.on_turn_complete(asked, answered)

    def note(self, action: str, target: str, content: str | None, old: str | None) -> None:
        self._journal.on_memory_write(action, target, content, old)

    def finish(self) -> None:
        self._journal.shutdown()


class FetchesBytes(Shelf):
    """Its recall gives what it read from the disk."""

    def fetch(self, question: str) -> bytes:  # type: ignore[override]
        return (super().fetch(question) or "").encode()


class SavesNothingOdd(Shelf):
    """Its record raises for what an encoder of its own does not take."""

    def save(self, asked: str, answered: str) -> None:
        asked.encode("ascii")
        super().save(asked, answered)


class Stray:
    """Nothing that any framework would take."""

    def fetch(self, question: str) -> str:
        return question


class Adapter:
    """A provider of the framework with the nine members of `MemoryProvider`."""

    missing_hooks = ()

    def __init__(self, shelf: Any) -> None:
        self.shelf = shelf

    @property
    def name(self) -> Any:
        return self.shelf.label

    def is_available(self) -> Any:
        return self.shelf.ready()

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self.shelf.begin(session=session_key, options=config)

    def capabilities(self) -> dict[str, Any]:
        return {"spec_version": "1.0"}

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> Any:
        return self.shelf.fetch(user_message)

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        self.shelf.note(action, target, content, old_text)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self.shelf.save(user_message, assistant_response)

    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        """The framework discards messages without a word."""

    def shutdown(self) -> None:
        self.shelf.finish()


class Larder(Binding):
    """Providers of the framework, by their shape."""

    def recognises(self, found: Any) -> bool:
        return all(inspect.getattr_static(found, hook, None) is not None for hook in HOOKS.values())

    def adapt(self, provider: Any) -> Any:
        return Adapter(provider)

    def author_object(self, provider: Any) -> Any:
        return provider.shelf if type(provider) is Adapter else provider


BINDING = Larder(name="larder", title="Larder", hooks=HOOKS, can_declare=False)
