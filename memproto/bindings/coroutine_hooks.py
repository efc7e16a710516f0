"""
Bindings of frameworks whose hooks are coroutines of an object that is no `MemoryProvider`.

Such an object stands behind the coroutine hooks of a provider, and all of these run on one event
loop, as in an application with a loop of its own.
"""

from collections.abc import Callable
from typing import Any

from memproto.adapters.members import found_without_running
from memproto.bindings.base import Binding
from memproto.bindings.per_user import PerUser
from memproto.operations import OPERATIONS
from memproto.types import Message

#: Hooks by which a provider of another binding is known, whatever else it has.
_OTHERS = ("is_available", "enrich_turn", "on_turn_complete", "prefetch", "sync_turn")


class Behind:
    """
    An author's object behind the coroutine hooks of a provider.

    Attributes:
        author: The author's own: that of the user of the session, if one is made for each.

    """

    def __init__(self, made: Any, binding: Binding) -> None:
        self._made = made
        self._binding = binding
        self.author = made.first if type(made) is PerUser else made

    def build_for(self, user_id: str | None) -> None:
        """Take the object of a user, if an application makes one for each."""
        if type(self._made) is PerUser:
            self.author = self._made.build(user_id)

    def served(self) -> set[str]:
        """The operations of which the author's object has the hook, beside `name` and `open`."""
        return set()

    @property
    def missing_hooks(self) -> tuple[str, ...]:
        """The hooks of the binding that nobody calls: the object lacks them, or they are off."""
        hooks = {self._binding.hook(operation) for operation in {"name", "open", *self.served()}}
        every = dict.fromkeys(self._binding.hook(operation) for operation in OPERATIONS)
        return tuple(hook for hook in every if hook not in hooks)

    def is_available(self) -> bool:
        """True: such a framework does not ask."""
        return True

    def on_compress(self, messages: list[Message], compression_count: int) -> None:
        """Nothing: such a framework does not tell it."""


class CoroutineBinding(Binding):
    """A binding whose objects stand behind coroutine hooks."""

    def behind(self, made: Any) -> Behind:
        """The object behind the hooks, for one that was made, or for a `PerUser`."""
        raise NotImplementedError

    def adapt(self, provider: Any) -> Any:
        """The instance with the nine members of `MemoryProvider`."""
        # Few providers need it, and each process would pay for asyncio.
        from memproto.adapters.aio import from_async

        behind = self.behind(provider)
        adapter = from_async(behind)
        vars(adapter)["missing_hooks"] = behind.missing_hooks
        return adapter

    def author_object(self, provider: Any) -> Any:
        """The author's own instance, out of what `adapt` gave."""
        behind = super().author_object(provider)
        if isinstance(behind, Behind):
            return behind.author
        return provider.first if type(provider) is PerUser else provider


def is_of_another(found: Any) -> bool:
    """True for a class or an instance with a hook of a native provider or of one of Hermes."""
    return any(found_without_running(found, hook) is not None for hook in _OTHERS)


def base_of(kind: type, is_base: Callable[[type], bool]) -> type | None:
    """The framework's base class among those of a class; None if it inherits from none."""
    return next(filter(is_base, kind.__mro__), None)


def implements(author: Any, hook: str, base: type | None) -> bool:
    """True if a framework calls a hook: the object's class has it, other than from the base."""
    function = getattr(type(author), hook, None)
    return callable(function) and function is not getattr(base, hook, None)
