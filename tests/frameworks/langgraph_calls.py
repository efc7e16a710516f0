"""
The operations that a node of the installed langgraph makes on its graph's store, and the kit's.

Run in an environment of its own; raises where they differ.
"""

import sys

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, InvalidNamespaceError
from langgraph.store.base.batch import AsyncBatchedBaseStore
from langgraph.store.memory import InMemoryStore
from typing_extensions import TypedDict

from memproto import bindings
from memproto.bindings import LANGGRAPH, LANGGRAPH_IN_MEMORY

SPACE = ("users", "ines@vell~2eorg")
OLD, NEW = "My ferry is called Ondine.", "My ferry is called Vell."
ASKED = "What is my ferry called?"


class Listens(InMemoryStore):
    """Notes each operation."""

    __slots__ = ("ops",)

    def __init__(self, **more):
        super().__init__(**more)
        self.ops = []

    def batch(self, ops):
        self.ops += [*ops]
        return super().batch(self.ops[-1:])


def texts(items):
    return "\n".join(item.value["text"] for item in items)


class State(TypedDict):
    found: list[str]


def node(state: State, runtime: Runtime) -> State:
    store, value = runtime.store, {"kind": "memory"}
    store.put(SPACE, "a", {"text": OLD, **value})
    found = texts(store.search(SPACE, query=ASKED, limit=10))
    (item,) = store.search(SPACE, limit=100)
    store.put(SPACE, item.key, {"text": NEW, **value})
    again = texts(store.search(SPACE, query=ASKED, limit=10))
    (item,) = store.search(SPACE, limit=100)
    store.delete(SPACE, item.key)
    return {"found": [found, again, texts(store.search(SPACE, query=ASKED, limit=10))]}


def by_a_graph():
    store = made()
    graph = StateGraph(State)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    found = graph.compile(store=store).invoke({"found": []})
    return found["found"], store.ops


def made():
    def embed(texts):
        return [[1.0, float(len(text))] for text in texts]

    return Listens(index={"dims": 2, "embed": embed, "fields": ["text"]})


def by_the_kit():
    store = made()
    binding = bindings.recognised(store)
    assert binding is LANGGRAPH_IN_MEMORY, binding
    session = binding.adapt(store)
    session.initialize("s1", {"user_id": "ines@vell.org"})
    session.on_memory_write("add", "memory", OLD)
    found = [session.enrich_turn(ASKED, [])]
    session.on_memory_write("replace", "memory", NEW, "Ondine")
    found.append(session.enrich_turn(ASKED, []))
    session.on_memory_write("remove", "memory", None, "Vell")
    found.append(session.enrich_turn(ASKED, []) or "")
    return found, store.ops


def without_keys_and_ends(ops):
    """The operations without the keys, which are new each time, and the ends of listings."""
    shown = [op._replace(key="") if hasattr(op, "key") else op for op in ops]
    return [op for op in shown if not getattr(op, "offset", 0)]


def the_base_class_takes_no_id_as_it_is():
    for label in ("ines@vell.org", "", "\x00"):
        try:
            InMemoryStore().put(("users", label), "a", {})
        except InvalidNamespaceError:
            continue
        raise AssertionError(label)


found, ops = by_a_graph()
ours, our_ops = by_the_kit()
assert found == ours == [OLD, NEW, ""], f"\n{found}\n{ours}"
graphs, kits = without_keys_and_ends(ops), without_keys_and_ends(our_ops)
assert graphs == kits, "\n".join(f"{a}\n{b}\n" for a, b in zip(graphs, kits, strict=False))
the_base_class_takes_no_id_as_it_is()
assert not any(LANGGRAPH.recognises(base) for base in (BaseStore, AsyncBatchedBaseStore))
sys.stdout.write("the same calls\n")
