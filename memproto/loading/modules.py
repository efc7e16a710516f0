"""The provider that a module holds: by `register(ctx)`, by a function, or as a class."""

import inspect
import types
from collections.abc import Callable
from typing import Any

from memproto.adapters import hermes
from memproto.errors import SeveralProviders
from memproto.loading.faults import no_provider
from memproto.operations import CORE_HOOKS


def provider_of_module(target: str, module: types.ModuleType) -> Any:
    """`register(ctx)`, else `make_provider()`, else the only provider class defined in it."""
    if callable(getattr(module, "register", None)):
        return registering(target, module.register)
    if callable(getattr(module, "make_provider", None)):
        return module.make_provider
    classes = _provider_classes(module)
    if len(classes) > 1:
        names = ", ".join(sorted(item.__name__ for item in classes))
        first = min(item.__name__ for item in classes)
        raise SeveralProviders(
            f"--memproto={target}",
            f"{module.__name__} holds {len(classes)} providers: {names}",
            f"say which one, as in --memproto={module.__name__}:{first}",
        )
    if not classes:
        raise no_provider(target, f"{module.__name__} defines no provider")
    return classes[0]


def _provider_classes(module: types.ModuleType) -> list[type]:
    """Provider classes whose code is in the module's package, not merely imported into it."""
    root = module.__name__
    mine: list[type] = []
    for value in vars(module).values():
        if not inspect.isclass(value) or value in mine or inspect.isabstract(value):
            continue
        home = getattr(value, "__module__", "")
        if (home == root or home.startswith(f"{root}.")) and _looks_like_provider(value):
            mine.append(value)
    return mine


def _looks_like_provider(value: Any) -> bool:
    if getattr(value, "_is_protocol", False):
        return False
    return all(hasattr(value, hook) for hook in CORE_HOOKS) or hermes.is_hermes(value)


class PluginContext:
    """
    What `register(ctx)` gets: it takes the provider, and accepts whatever else a plugin registers.

    Attributes:
        providers: What was registered, in order.

    """

    def __init__(self) -> None:
        self.providers: list[Any] = []

    def register_memory_provider(self, provider: Any) -> None:
        """Take the provider."""
        self.providers.append(provider)

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Stand in for any other part of the context: it takes anything and does nothing."""
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None


def registering(target: str, register: Callable[[Any], Any]) -> Callable[[], Any]:
    """A factory that calls `register(ctx)` for each instance, and gives what was registered."""
    given: list[Any] = []

    def build() -> Any:
        context = PluginContext()
        register(context)
        if not context.providers:
            raise no_provider(target, "register(ctx) registered no memory provider")
        provider = context.providers[-1]
        if any(provider is earlier for earlier in given):
            # A module that registers one object of its own is no factory; its class is.
            return type(provider)()
        given.append(provider)
        return provider

    return build


def takes_arguments(build: Callable[[], Any]) -> bool:
    """Whether `build` cannot be called with nothing."""
    try:
        inspect.signature(build).bind()
    except (TypeError, ValueError):
        return True
    return False
