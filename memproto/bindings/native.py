"""The native binding: the nine members of `MemoryProvider` and the hooks of its extensions."""

from typing import Any

from memproto.adapters.coroutines import is_async
from memproto.adapters.members import found_without_running
from memproto.bindings.base import Binding
from memproto.operations import CORE_HOOKS, OPERATIONS


class _Native(Binding):
    """Providers as the specification describes them, with blocking hooks or coroutines."""

    def recognises(self, found: Any) -> bool:
        if not is_async(found):
            return not lacking(found)
        from memproto.adapters.hermes import is_hermes

        # The host of Hermes waits for no coroutine, and calls hooks with arguments of its own: one
        # that was written for it is judged as it would be called there.
        return not is_hermes(found)

    def defines(self, found: Any) -> bool:
        if isinstance(found, type):
            return all(hasattr(found, hook) for hook in CORE_HOOKS)
        return not lacking(found)

    def adapt(self, provider: Any) -> Any:
        if not is_async(provider):
            return provider
        # Few providers need it, and each process would pay for asyncio.
        from memproto.adapters.aio import from_async

        return from_async(provider)


def lacking(found: Any) -> list[str]:
    """The members of `MemoryProvider` that a class or an instance lacks."""
    return [hook for hook in CORE_HOOKS if not _has(found, hook)]


def _has(found: Any, hook: str) -> bool:
    """True if the class or instance has a member, without running a property."""
    kind = found if isinstance(found, type) else type(found)
    if hook == "name" and hasattr(kind, "name"):
        # A name of None is a name that is wrong, which a rule of its own says.
        return True
    return found_without_running(found, hook) is not None


NATIVE = _Native(
    name="native",
    title="native",
    hooks={row.name: row.native for row in OPERATIONS.values()},
    rules=("any", "native"),
)
