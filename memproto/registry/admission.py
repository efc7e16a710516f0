"""Providers that are refused at registration, each with an error of its own name."""

from memproto.adapters.coroutines import is_async, is_coroutine_function
from memproto.errors import InvalidLabel, NotAProvider
from memproto.operations import CORE_HOOKS
from memproto.registry.events import attempt
from memproto.types import LABEL, is_label

_HOOKS = tuple(hook for hook in CORE_HOOKS if hook != "name")


def label_of(provider: object) -> str:
    """
    Returns the name of a provider that can be registered; reads its members, calls none.

    Raises:
        NotAProvider: It is a class; a member is missing, a hook is a coroutine function, or the
            name raised.
        InvalidLabel: The name cannot label a section of the block.

    """
    _check_members(provider)
    name, error = attempt(getattr, provider, "name")
    if error:
        raise NotAProvider(f"reading the name of {type(provider).__name__} raised {error}")
    if not is_label(name):
        raise InvalidLabel(f"{name!r} cannot label a section: it must match {LABEL.pattern}")
    return str.__str__(name)


def _check_members(provider: object) -> None:
    subject = _under_adapter(provider)
    if isinstance(subject, type):
        raise NotAProvider(f"{subject.__name__} is a class; an instance of it is expected")
    members = {hook: attempt(getattr, subject, hook)[0] for hook in _HOOKS}
    missing = [hook for hook, member in members.items() if not callable(member)]
    kind = type(subject).__name__
    if missing:
        raise NotAProvider(f"{kind} has no callable {', '.join(missing)}{_way_out(subject)}")
    if subject is not provider:
        return
    if is_async(provider) or any(map(is_coroutine_function, members.values())):
        raise NotAProvider(f"{kind} has coroutine hooks; wrap it with memproto.adapters.aio")


def _under_adapter(provider: object) -> object:
    """The provider under an adapter of coroutines, which has all the members; else `provider`."""
    under = attempt(getattr, provider, "wrapped")[0]
    if under is None or not is_async(under):
        return provider
    from memproto.adapters.aio import AsyncAdapter  # here, since few providers have coroutines

    return under if issubclass(type(provider), AsyncAdapter) else provider


def _way_out(subject: object) -> str:
    from memproto.adapters.hermes import is_hermes  # here, since few registries need it

    is_one, _ = attempt(is_hermes, subject)
    return "; wrap it with memproto.adapters.hermes.from_hermes" if is_one else ""
