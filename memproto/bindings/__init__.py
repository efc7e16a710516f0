"""
The bindings: how each framework calls a provider, one object in one module each.

A caller that depends on the framework of a provider asks its `Binding` by the question's meaning;
nothing outside of this package compares the name of one. docs/bindings.md says how to bring one.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from memproto.bindings.agent_framework import AGENT_FRAMEWORK
from memproto.bindings.base import Binding, Trait
from memproto.bindings.hermes import HERMES
from memproto.bindings.installed import installed, loaded
from memproto.bindings.langgraph import LANGGRAPH, LANGGRAPH_IN_MEMORY, InMemory
from memproto.bindings.native import NATIVE, lacking
from memproto.bindings.openclaw import OPENCLAW
from memproto.bindings.per_user import PerUser
from memproto.bindings.strands import STRANDS, STRANDS_PER_USER
from memproto.bindings.wire import WIRE

__all__ = [
    "AGENT_FRAMEWORK",
    "BUILT_IN",
    "HERMES",
    "IN_PROCESS",
    "LANGGRAPH",
    "LANGGRAPH_IN_MEMORY",
    "NATIVE",
    "OPENCLAW",
    "STRANDS",
    "STRANDS_PER_USER",
    "WIRE",
    "Binding",
    "InMemory",
    "PerUser",
    "Trait",
    "author_object",
    "builder",
    "defined",
    "faults",
    "import_ahead",
    "import_installed",
    "lacking",
    "named",
    "placed",
    "recognised",
    "told",
]

#: Those that the package brings; an instance that two of them know is the first one's.
BUILT_IN: tuple[Binding, ...] = (
    *(STRANDS, STRANDS_PER_USER, AGENT_FRAMEWORK, LANGGRAPH, LANGGRAPH_IN_MEMORY),
    *(OPENCLAW, WIRE, NATIVE, HERMES),
)

#: Those whose hooks are methods of an object of Python.
IN_PROCESS: tuple[Binding, ...] = (NATIVE, HERMES, STRANDS, AGENT_FRAMEWORK)

#: Names that stand for something else where the name of a binding stands.
_RESERVED = ("any", "host")


def named(name: str) -> Binding | None:
    """The binding of that name that the package brings."""
    return next((binding for binding in BUILT_IN if binding.name == name), None)


def told(data: dict[str, Any]) -> Binding:
    """
    A binding by the data that another process told; code of strangers is not imported.

    Raises:
        ValueError: They are not values of a binding.

    """
    binding = Binding.from_dict(data)
    return named(binding.name) or binding


def recognised(provider: Any) -> Binding | None:
    """
    The binding of an instance, or None.

    Its class counts more than what its instance answers for besides, as a proxy may. Bindings of
    other packages are imported and asked if none of ours knows it.
    """
    shown = [binding for binding in BUILT_IN if binding.recognises(provider)]
    by_class = [binding for binding in shown if binding.recognises(type(provider))]
    known = next(iter(by_class or shown), None)
    return known or next((item for item in import_installed() if _knows(item, provider)), None)


def _knows(stranger: Binding, provider: Any) -> bool:
    """True if a binding of another package knows an instance; one that raises does not."""
    try:
        return bool(stranger.recognises(provider))
    except (Exception, SystemExit):
        return False


def defined(found: Any) -> bool:
    """True if `found` is a provider by its own members, of a binding that this process knows."""
    known = any(binding.defines(found) for binding in BUILT_IN)
    return known or any(_knows(binding, found) for binding in loaded())


def author_object(provider: Any) -> Any:
    """The author's own instance, if an adapter of a binding stands before it."""
    for binding in (*BUILT_IN, *loaded()):
        behind = binding.author_object(provider)
        if behind is not provider:
            return behind
    return provider


def placed(target: str, directory: Path) -> str:
    """A target of a binding's own kind with its path as seen from `directory`; others as is."""
    for binding in BUILT_IN:
        target = binding.placed(target, directory)
    return target


def builder(target: str) -> tuple[Binding, Callable[[], Any], str] | None:
    """
    The binding whose kind a target is of, the function that builds a provider, and its place.

    Raises:
        KitUsageError: It is of such a kind and names nothing.

    """
    for binding in BUILT_IN:
        if (found := binding.builder(target)) is not None:
            return binding, *found
    return None


def import_ahead(target: str) -> None:
    """Import what hosts have imported long before they load a provider; never raises."""
    for binding in BUILT_IN:
        binding.import_ahead(target)


def faults() -> tuple[str, ...]:
    """The faults of other packages' bindings, once they were asked."""
    return _installed()[1]


def import_installed() -> tuple[Binding, ...]:
    """The bindings of other packages, which are imported at the first call."""
    return _installed()[0]


def _installed() -> tuple[tuple[Binding, ...], tuple[str, ...]]:
    return installed((*_RESERVED, *(binding.name for binding in BUILT_IN)))
