"""
The binding of LangGraph: stores, called as the nodes of a graph call them.

The framework need not be installed where a verdict is made: a store is known by the name of its
base class, or by its shape.
"""

import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from memproto.adapters.coroutines import is_coroutine_function
from memproto.adapters.members import found_without_running
from memproto.bindings.base import Binding, by_requirement
from memproto.bindings.coroutine_hooks import base_of, implements, is_of_another
from memproto.errors import WriteRefused
from memproto.operations import OPERATIONS
from memproto.types import SPEC_VERSION, Capabilities, Message

#: Operation to the method of a store that serves it.
_HOOKS = {"recall": "search", "mirror": "put"}

#: The methods by which a store is known that inherits from none of the framework's classes.
_SHAPE = ("get", "put", "search", "delete", "list_namespaces", "batch")

#: The modules and the names of the framework's base classes, which are no stores by themselves.
_BASE = ("langgraph.store.base", "BaseStore")
_ABSTRACT = (_BASE, ("langgraph.store.base.batch", "AsyncBatchedBaseStore"))

#: The class of stores that say that they forget with their process.
_IN_MEMORY = ("langgraph.store.memory", "InMemoryStore")

#: The first label of the namespaces of users, and the namespace of sessions that have none.
_OF_USERS, _OF_NOBODY = "users", ("nobody",)

#: The key of a value under which the text stands, and that of the target of the write.
_TEXT, _KIND = "text", "kind"

#: Number of items that a search by meaning gives, as where a caller names none.
_MOST_FOUND = 10

#: Number of items of one page of a listing.
_PAGE = 100

#: Characters that a label may not hold, and the one that marks their places.
_NOT_IN_A_LABEL = re.compile(r"[.\x00~]")

#: Why a requirement cannot be decided, and the requirements. docs/langgraph.md says the same.
_REASONS: Mapping[str, tuple[str, ...]] = {
    "an application builds a store with its connection, its files and its threads": (
        *("MP-LOAD-002", "MP-LOAD-003", "MP-LOAD-004", "MP-LOAD-007"),
    ),
    "a store of LangGraph has no name": ("MP-NAME-002", "MP-NAME-003"),
    "LangGraph does not ask a store whether it is available": ("MP-AVAIL-002", "MP-AVAIL-003"),
    "LangGraph tells a store of no session, and hands it no configuration and no context": (
        *("MP-INIT-002", "MP-INIT-003", "MP-CTX-001", "MP-CTX-002", "MP-CTX-003"),
        *("MP-ISO-001", "MP-TENANT-002", "MP-TENANT-007", "MP-TENANT-008", "MP-TENANT-009"),
    ),
    "LangGraph names a store no home, so that it stores where its application says": (
        *("MP-ISO-005", "MP-ISO-009", "MP-TENANT-005"),
    ),
    "a search of a store is told no messages and no length": (
        *("MP-RECALL-003", "MP-RECALL-007", "MP-TEXT-001"),
    ),
    "a search by meaning gives the nearest items, however far they are": ("MP-RECALL-008",),
    "on an event loop an application calls the coroutines of a store": ("MP-THR-004",),
    "LangGraph does not tell a store that it is over": (
        *("MP-SHUT-001", "MP-SHUT-002", "MP-SHUT-003", "MP-SHUT-004", "MP-SHUT-005"),
        *("MP-ISO-004", "MP-PROC-001", "MP-PROC-003", "MP-FAULT-003", "MP-FAULT-006"),
        *("MP-RES-001", "MP-RES-002", "MP-RES-003", "MP-RES-004", "MP-RES-005", "MP-RES-006"),
        "MP-RES-008",
    ),
    "LangGraph lets a store fail to be built while its backend is away or locked": (
        *("MP-FAULT-004", "MP-STORE-009"),
    ),
    "LangGraph does not tell a store that messages are discarded": (
        *("MP-COMP-001", "MP-COMP-002", "MP-COMP-003"),
    ),
    "the times of an item are no part of its text": ("MP-TIME-003",),
}

#: The same for requirements on a new process, if the store forgets with its process.
_OF_PROCESSES: Mapping[str, tuple[str, ...]] = {
    "the store forgets with its process, as it says": (
        *("MP-ISO-011", "MP-PROC-005", "MP-PROC-006", "MP-PROC-007", "MP-PROC-009", "MP-PROC-010"),
    ),
}


class InMemory:
    """
    A factory gives it if a store forgets with its process, and is of no class that says so.

    `InMemoryStore` and its subclasses need it not. A store of SQLite at `:memory:` does.

    Attributes:
        store: The store itself.

    """

    def __init__(self, store: Any) -> None:
        self.store = store


class _LangGraph(Binding):
    """Stores that outlive their process."""

    def recognises(self, found: Any) -> bool:
        return _is_store(found) and not _forgets(found)

    def adapt(self, provider: Any) -> Any:
        return _Sessions(provider)

    def author_object(self, provider: Any) -> Any:
        if type(provider) is _Sessions:
            return provider.author
        return provider.store if type(provider) is InMemory else provider

    def where(self, provider: Any, operation: str) -> str:
        # A store hears of a session by its first search.
        store, hook = self.author_object(provider), _HOOKS.get(operation, self.hook("recall"))
        # Most stores write `batch` alone, and inherit the methods that make one operation of it.
        is_own = implements(store, hook, _base_of(type(store)))
        if is_own and operation in _HOOKS:
            return ""
        return f"{type(store).__name__}.{hook if is_own else 'batch'}"

    def notes(self, provider: Any) -> tuple[str, ...]:
        return _notes(self.author_object(provider), forgets=_forgets(provider))


class _LangGraphInMemory(_LangGraph):
    """Stores that forget with their process."""

    def recognises(self, found: Any) -> bool:
        if type(found) is InMemory:
            return _is_store(found.store)
        return _is_store(found) and _forgets(found)


def _is_store(found: Any) -> bool:
    """True for a class or an instance that a graph takes as its store; runs no property of it."""
    kind = found if isinstance(found, type) else type(found)
    if _named(kind) in _ABSTRACT:
        return False
    return _base_of(kind) is not None or _has_shape(found)


def _named(kind: type) -> tuple[str, str]:
    return kind.__module__, kind.__name__


def _base_of(kind: type) -> type | None:
    """The framework's base class of stores, among those of a class."""
    return base_of(kind, lambda base: _named(base) == _BASE)


def _has_shape(found: Any) -> bool:
    """True for a store that inherits from none of the framework's classes."""
    methods = [found_without_running(found, method) for method in _SHAPE]
    if not all(map(callable, methods)) or any(map(is_coroutine_function, methods)):
        return False
    return not is_of_another(found)


def _forgets(found: Any) -> bool:
    """True if a store says that it forgets with its process, by its class or by its application."""
    kind = found if isinstance(found, type) else type(found)
    return kind is InMemory or base_of(kind, lambda base: _named(base) == _IN_MEMORY) is not None


def _index_of(store: Any) -> Mapping[str, Any] | None:
    """The configuration of a store's index, by which it searches; None if it shows none."""
    found = getattr(store, "index_config", None)
    return found if isinstance(found, Mapping) else None


def _notes(store: Any, *, forgets: bool) -> tuple[str, ...]:
    notes = []
    if _base_of(type(store)) is None:
        notes.append("judged by its shape: no subclass of the BaseStore of langgraph")
    if _index_of(store) is None:
        notes.append("it shows no index, so that recall is all that the namespace holds")
    if forgets:
        notes.append("it forgets with its process, so that no new process is asked")
    return tuple(notes)


def _label(user_id: str) -> str:
    """An id as a label of a namespace, which may not be empty, nor hold a full stop or a NUL."""
    return _NOT_IN_A_LABEL.sub(lambda found: f"~{ord(found[0]):02x}", user_id) or "~"


class _Sessions:
    """
    A session of a store: the entries of its user, in one namespace.

    Its methods call those of the store on the thread of the caller, and let its errors through.

    Attributes:
        author: The author's own store.

    """

    name = "langgraph"

    def __init__(self, made: Any) -> None:
        self.author = made.store if type(made) is InMemory else made
        self._namespace: tuple[str, ...] = _OF_NOBODY

    @property
    def missing_hooks(self) -> tuple[str, ...]:
        """The hooks of the binding that nobody calls: LangGraph has none of these."""
        hooks = {LANGGRAPH.hook(operation) for operation in ("name", "open", *_HOOKS)}
        every = dict.fromkeys(LANGGRAPH.hook(operation) for operation in OPERATIONS)
        return tuple(hook for hook in every if hook not in hooks)

    def is_available(self) -> bool:
        """True: LangGraph does not ask."""
        return True

    def capabilities(self) -> Capabilities:
        """Declarations that follow from the calls: users apart, and each change of an entry."""
        actions = ["add", "replace", "remove"]
        found: Capabilities = {
            "extensions": [],
            "isolates": ["user"],
            "mirrors": {"memory": actions, "user": actions},
            "spec_version": SPEC_VERSION,
        }
        if _index_of(self.author) is None:
            # A listing brings the same whatever the query: no answer depends on it.
            found["recall_basis"] = "session"
        return found

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """Choose the namespace of the session's user; the store is told nothing."""
        user = config.get("user_id")
        self._namespace = _OF_NOBODY if user is None else (_OF_USERS, _label(user))

    def enrich_turn(self, user_message: str, messages: list[Message]) -> Any:
        """
        The texts that a search for the message finds, one a line; None if there are none.

        The search gives ten items if the store shows an index, else all that the namespace holds.
        Texts that are no str come as they are.
        """
        if _index_of(self.author) is None:
            items = list(self._listed(user_message))
        else:
            items = self.author.search(self._namespace, query=user_message, limit=_MOST_FOUND)
        texts = [item.value[_TEXT] for item in items]
        if not all(isinstance(text, str) for text in texts):
            return texts
        return "\n".join(texts) or None

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        """Nothing: nodes of an application decide what of a turn becomes a value."""

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """
        Put an entry under a key of its own, put another under the same key, or delete it.

        The entry to change is the one of the target whose text holds `old_text`.

        Raises:
            WriteRefused: No entry holds `old_text`, or several different ones do.

        """
        if action == "add":
            self._put(uuid.uuid4().hex, target, content or "")
            return
        held = self._holding(target, old_text or "")
        if action == "remove":
            self.author.delete(self._namespace, held.key)
        else:
            self._put(held.key, target, content or "")

    def on_compress(self, messages: list[Message], compression_count: int) -> None:
        """Nothing: LangGraph does not tell it."""

    def shutdown(self) -> None:
        """Nothing: LangGraph does not tell a store that it is over."""

    # -- the calls --------------------------------------------------------------------------------

    def _put(self, key: str, target: str, content: str) -> None:
        value = {_TEXT: content, _KIND: target}
        index = _index_of(self.author)
        if index is None or _TEXT in (index.get("fields") or ()):
            self.author.put(self._namespace, key, value)
        else:
            # An index of other fields would pass over the text.
            self.author.put(self._namespace, key, value, index=[_TEXT])

    def _listed(self, query: str | None = None) -> Iterator[Any]:
        """All items of the namespace, page by page, until a page brings none that is new."""
        seen: set[Any] = set()
        while True:
            page = self.author.search(self._namespace, query=query, limit=_PAGE, offset=len(seen))
            new = [item for item in page if item.key not in seen]
            seen.update(item.key for item in new)
            yield from new
            if not new:
                return

    def _holding(self, target: str, old_text: str) -> Any:
        held = {
            item.value[_TEXT]: item
            for item in self._listed()
            if item.value.get(_KIND) == target and old_text in item.value[_TEXT]
        }
        if len(held) != 1:
            number = "several entries hold" if held else "no entry holds"
            raise WriteRefused(f"{number} the text that is to be changed")
        return next(iter(held.values()))


LANGGRAPH = _LangGraph(
    name="langgraph",
    title="LangGraph",
    hooks=_HOOKS,
    can_declare=False,
    config_keys=(),
    own_homes=False,
    may_lack_hooks=True,
    one_for_process=True,
    out_of_reach=by_requirement(_REASONS),
)

LANGGRAPH_IN_MEMORY = _LangGraphInMemory(
    **{
        **vars(LANGGRAPH),
        "name": "langgraph-in-memory",
        "forgets": True,
        "out_of_reach": by_requirement(_REASONS, _OF_PROCESSES),
    }
)
