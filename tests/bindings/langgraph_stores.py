"""Stores of LangGraph by their shape: good ones, and others with one fault each."""

import contextlib
import dataclasses
import json
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from memproto.bindings import InMemory

Namespace = tuple[str, ...]


@dataclasses.dataclass
class Item:
    """An item as the framework's `SearchItem`."""

    namespace: Namespace
    key: str
    value: Any


class Shelf:
    """Keeps items in a table of SQLite, newest first, by a connection for each call."""

    def __init__(self) -> None:
        self._file = Path("shelf.db").resolve()

    @contextlib.contextmanager
    def _table(self) -> Iterator[sqlite3.Connection]:
        # Less than the five seconds that a recall may take.
        table = sqlite3.connect(self._file, timeout=2)
        with contextlib.closing(table), table:
            table.execute(
                "create table if not exists items (space text, key text, value text,"
                " primary key (space, key))"
            )
            yield table

    def batch(self, ops: Any) -> list[Any]:
        raise NotImplementedError("the methods below do what operations would")

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: dict[str, Any],
        index: Any = None,
    ) -> None:
        row = (json.dumps(namespace), key, json.dumps(value))
        with self._table() as table:
            table.execute("insert or replace into items values (?, ?, ?)", row)

    def get(self, namespace: Namespace, key: str) -> Item | None:
        return next((item for item in self._within(namespace) if item.key == key), None)

    def delete(self, namespace: Namespace, key: str) -> None:
        with self._table() as table:
            table.execute(
                "delete from items where space = ? and key = ?", (json.dumps(namespace), key)
            )

    def search(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        limit: int = 10,
        offset: int = 0,
    ) -> list[Item]:
        return self._within(namespace_prefix)[offset : offset + limit]

    def list_namespaces(self) -> list[Namespace]:
        return list({item.namespace: None for item in self._within(())})

    def _within(self, prefix: Namespace) -> list[Item]:
        return [item for item in self._all() if item.namespace[: len(prefix)] == prefix]

    def _all(self) -> list[Item]:
        with self._table() as table:
            rows = list(table.execute("select * from items order by rowid desc"))
        return [Item(tuple(json.loads(space)), key, json.loads(v)) for space, key, v in rows]


class Searching(Shelf):
    """Has an index: items that share most words with the query come first."""

    index_config: ClassVar[dict[str, Any]] = {"dims": 1, "embed": len, "fields": ["body"]}

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: dict[str, Any],
        index: Any = None,
    ) -> None:
        assert index == ["text"], "the index of the store is of another field"
        super().put(namespace, key, value)

    def search(
        self,
        namespace_prefix: Namespace,
        /,
        *,
        query: str | None = None,
        limit: int = 10,
        offset: int = 0,
    ) -> list[Item]:
        asked = {*(query or "").casefold().split()}

        def distance(item: Item) -> int:
            return -len(asked & {*item.value["text"].casefold().split()})

        return sorted(self._within(namespace_prefix), key=distance)[offset : offset + limit]


class Passing(Shelf):
    """Keeps items as long as its process lives."""

    def __init__(self) -> None:
        self._items: dict[tuple[Namespace, str], Item] = {}
        self._lock = threading.Lock()

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: dict[str, Any],
        index: Any = None,
    ) -> None:
        with self._lock:
            self._items[namespace, key] = Item(namespace, key, dict(value))

    def delete(self, namespace: Namespace, key: str) -> None:
        with self._lock:
            self._items.pop((namespace, key), None)

    def _all(self) -> list[Item]:
        with self._lock:
            return list(self._items.values())


def passing() -> InMemory:
    """The store says that it forgets with its process."""
    return InMemory(Passing())


#: A store that was built already, as a module of an application holds it.
built = Shelf()


# -- with one fault --------------------------------------------------------------------------------


class Together(Shelf):
    """Searches all namespaces of a root, so that users see one another's items."""

    def _within(self, prefix: Namespace) -> list[Item]:
        return super()._within(prefix[:1])


class Near(Shelf):
    """Joins labels to a text and searches for its beginning, as `LIKE 'users.ines%'` does."""

    def _within(self, prefix: Namespace) -> list[Item]:
        sought = ".".join(prefix)
        return [item for item in self._all() if ".".join(item.namespace).startswith(sought)]


class KeepsDeleted(Shelf):
    """Deletes by a key that no item has."""

    def delete(self, namespace: Namespace, key: str) -> None:
        super().delete(namespace, f"{key}.json")


class KeepsOld(Shelf):
    """Keeps the first value of a key."""

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: dict[str, Any],
        index: Any = None,
    ) -> None:
        if self.get(namespace, key) is None:
            super().put(namespace, key, value)


class DropsLong(Shelf):
    """Takes a long value and keeps nothing of it."""

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: dict[str, Any],
        index: Any = None,
    ) -> None:
        if len(value["text"]) < 200:
            super().put(namespace, key, value)


class Loses(Shelf):
    """Answers each put as if it were stored, so that nothing comes back at all."""

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: dict[str, Any],
        index: Any = None,
    ) -> None:
        pass


class Hangs(Shelf):
    """Waits for a backend that never answers, without a deadline."""

    def _within(self, prefix: Namespace) -> list[Item]:
        threading.Event().wait()
        return []


class GivesBytes(Shelf):
    """Gives the texts that it read from the disk."""

    def _all(self) -> list[Item]:
        return [Item(("users",), "a", {"text": b"known: ", "kind": "memory"}), *super()._all()]

    def _within(self, prefix: Namespace) -> list[Item]:
        return [item for item in self._all() if item.namespace[:1] == prefix[:1]]
