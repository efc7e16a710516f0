"""The hooks of a provider, called by a person's command: what they raise becomes one sentence."""

from collections.abc import Callable
from typing import Any, TypeVar

from memproto.adapters.hermes import owns
from memproto.bindings import author_object
from memproto.errors import MemprotoError

T = TypeVar("T")


class ProviderFailed(MemprotoError):
    """A hook of the provider raised."""


def hook_of(provider: Any, name: str) -> Callable[..., Any] | None:
    """A hook of the provider that raises nothing but `ProviderFailed`; None where it has none."""
    hook = getattr(provider, name, None)
    if not callable(hook):
        return None

    def call(*arguments: Any) -> Any:
        return attempt(f"{name} of the provider", lambda: hook(*arguments))

    return call


def attempt(what: str, run: Callable[[], T]) -> T:
    """
    Run code of the provider, named `what`.

    Raises:
        ProviderFailed: It raised, or tried to end the process.

    """
    try:
        return run()
    except (Exception, SystemExit) as error:
        raise ProviderFailed(f"{what} raised {type(error).__name__}: {error}") from error


def is_own(provider: Any, name: str) -> bool:
    """True if a hook is more than the one that a Hermes provider inherits from its base class."""
    raw = author_object(provider)
    return hasattr(raw, name) and owns(raw, name)
