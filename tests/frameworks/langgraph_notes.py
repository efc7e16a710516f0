"""The stores of tests/bindings on the base class of the installed langgraph."""

import asyncio

from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from tests.bindings import langgraph_stores

__all__ = ["InMemoryStore"]  # a target


class Notes(BaseStore):
    """Serves operations by a shelf, as most stores do: its other methods are the framework's."""

    shelf = langgraph_stores.Shelf

    def __init__(self):
        self._shelf = self.shelf()

    def batch(self, ops):
        return [self._done(op) for op in ops]

    async def abatch(self, ops):
        return await asyncio.to_thread(self.batch, list(ops))

    def _done(self, op):
        match op:
            case PutOp(value=None):
                return self._shelf.delete(op.namespace, op.key)
            case PutOp():
                return self._shelf.put(op.namespace, op.key, op.value, op.index)
            case GetOp():
                return self._shelf.get(op.namespace, op.key)
            case SearchOp():
                asked = {"query": op.query, "limit": op.limit, "offset": op.offset}
                return self._shelf.search(op.namespace_prefix, **asked)
            case ListNamespacesOp():
                return self._shelf.list_namespaces()


class Near(Notes):
    """Finds the items of users whose ids begin alike."""

    shelf = langgraph_stores.Near


class KeepsDeleted(Notes):
    """Deletes by a key that no item has."""

    shelf = langgraph_stores.KeepsDeleted
