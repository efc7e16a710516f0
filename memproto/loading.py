"""
From TARGET, as the user typed it, to a factory of instances.

First match wins: a directory with `__init__.py`; `hermes:NAME`; `module:attribute`; an entry-point
name; a module. Import happens here, so that callers who do not trust the target call this in a
process that they can do without.
"""

import dataclasses
import importlib
import importlib.metadata
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memproto.adapters import aio, hermes
from memproto.errors import (
    MissingPackage,
    NoProvider,
    NoSuchTarget,
    SeveralProviders,
    TargetDoesNotImport,
)
from memproto.operations import CORE_HOOKS, Binding

#: Entry-point groups that may hold a provider, in the order in which they are searched.
GROUPS = (
    "memproto.providers",
    "hermes_agent.memory_providers",
    "hermes_agent.plugins",
    "hermes.memory_provider",
)

_FORMS = (
    "a directory with __init__.py, hermes:NAME, module:attribute, an entry-point name, or a module"
)


@dataclasses.dataclass(frozen=True)
class Loaded:
    """
    A target that was found and imported.

    Attributes:
        target: As it was typed.
        build: Gives a new instance with the nine members, adapted where that is needed.
        binding: The binding that its author wrote it for.
        origin: Where it came from: file, module or entry point, for a reader.
        raw: The class or factory itself.

    """

    target: str
    build: Callable[[], Any]
    binding: Binding
    origin: str
    raw: Any


def load(target: str, factory: str = "") -> Loaded:
    """
    Import what `target` names; `factory` ("module:function") replaces it where it is set.

    Imports and may build instances. Blocks as long as the target's own code does.

    Raises:
        NoSuchTarget: Nothing of that name can be found.
        TargetDoesNotImport: Importing or building it raised.
        MissingPackage: It needs a package that is not installed.
        NoProvider: What was found is no provider.
        SeveralProviders: A module holds more than one.

    """
    found, origin = _resolve(factory or target)
    return _as_loaded(target, found, origin)


def _resolve(target: str) -> tuple[Any, str]:
    path = Path(target)
    if path.is_dir() and (path / "__init__.py").is_file():
        return _provider_of_module(target, _import_directory(target, path)), str(path)
    if target.startswith("hermes:"):
        return _bundled(target), target
    if ":" in target:
        return _as_factory(target, _attribute(target)), target
    point = _entry_point(target)
    if point is not None:
        return _from_entry_point(target, point), f"entry point {point.name} = {point.value}"
    return _provider_of_module(target, _import(target, target)), f"module {target}"


# -- finding --------------------------------------------------------------------------------------


def _import(target: str, module: str) -> types.ModuleType:
    _assert_exists(target, module)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise _missing(target, error) from None
    except Exception as error:
        raise _does_not_import(target, error) from None


def _assert_exists(target: str, module: str) -> None:
    """Tell 'there is no such module' from 'the module needs one that is missing'."""
    parts = module.split(".")
    if not all(part.isidentifier() for part in parts):
        raise NoSuchTarget(f"--memproto={target}", "is no name of a module", f"give {_FORMS}")
    # Only the top package is looked up: asking for a submodule would import its parents here.
    try:
        known = parts[0] in sys.modules or importlib.util.find_spec(parts[0]) is not None
    except (ValueError, ImportError):
        known = False
    if not known:
        raise NoSuchTarget(
            f"--memproto={target}",
            f"there is no module or entry point named {parts[0]!r} here",
            f"install the package in this environment, or give {_FORMS}",
        )


def _import_directory(target: str, path: Path) -> types.ModuleType:
    """Import a plugin directory as a package of its own, so that its relative imports work."""
    name = path.resolve().name.replace("-", "_").replace(".", "_")
    location = importlib.util.spec_from_file_location(
        name, path / "__init__.py", submodule_search_locations=[str(path.resolve())]
    )
    if location is None or location.loader is None:
        raise NoSuchTarget(
            f"--memproto={target}", "cannot be read as a package", "see its __init__.py"
        )
    module = importlib.util.module_from_spec(location)
    sys.modules[name] = module
    try:
        location.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise _missing(target, error) from None
    except Exception as error:
        raise _does_not_import(target, error) from None
    return module


def _attribute(target: str) -> Any:
    module_name, _, attribute = target.partition(":")
    value: Any = _import(target, module_name)
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise NoSuchTarget(
                f"--memproto={target}",
                f"{module_name} has no attribute {attribute!r}",
                f"name one of: {', '.join(_public(value)[:8]) or 'nothing public is there'}",
            )
        value = getattr(value, part)
    return value


def _public(value: Any) -> list[str]:
    return [
        name for name, item in vars(value).items() if not name.startswith("_") and callable(item)
    ]


def _entry_point(target: str) -> importlib.metadata.EntryPoint | None:
    for group in GROUPS:
        for point in importlib.metadata.entry_points(group=group, name=target):
            return point
    return None


def _from_entry_point(target: str, point: importlib.metadata.EntryPoint) -> Any:
    module = _import(target, point.module)
    if not point.attr:
        return _provider_of_module(target, module)
    return _as_factory(target, _attribute(f"{point.module}:{point.attr}"))


def _as_factory(target: str, found: Any) -> Any:
    """What an attribute stands for: a module's provider, a plugin's register(ctx), or itself."""
    if isinstance(found, types.ModuleType):
        return _provider_of_module(target, found)
    return _registering(target, found) if _registers(found) else found


def _registers(found: Any) -> bool:
    """Whether `found` is a plugin's register(ctx): of that name, and not callable with nothing."""
    is_function = isinstance(found, types.FunctionType) and found.__name__ == "register"
    return is_function and _takes_arguments(found)


def _bundled(target: str) -> Any:
    name = target.partition(":")[2]
    _assert_exists(target, "plugins")
    loader = _import(target, "plugins.memory")
    load_one = getattr(loader, "load_memory_provider", None)
    if load_one is None:
        raise NoSuchTarget(
            f"--memproto={target}",
            "the installed `plugins.memory` is not that of hermes-agent",
            "pip install hermes-agent",
        )
    try:
        found = load_one(name)
    except ModuleNotFoundError as error:
        raise _missing(target, error) from None
    except Exception as error:
        raise _does_not_import(target, error) from None
    if found is None:
        raise NoSuchTarget(
            f"--memproto={target}",
            f"hermes-agent bundles no memory provider {name!r}",
            "see `hermes memory list` for the names",
        )
    return lambda: load_one(name)


# -- what a module holds --------------------------------------------------------------------------


def _provider_of_module(target: str, module: types.ModuleType) -> Any:
    """`register(ctx)`, else `make_provider()`, else the only provider class defined in it."""
    if callable(getattr(module, "register", None)):
        return _registering(target, module.register)
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
        raise _no_provider(target, f"{module.__name__} defines no provider")
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


def _registering(target: str, register: Callable[[Any], Any]) -> Callable[[], Any]:
    given: list[Any] = []

    def build() -> Any:
        context = PluginContext()
        register(context)
        if not context.providers:
            raise _no_provider(target, "register(ctx) registered no memory provider")
        provider = context.providers[-1]
        if any(provider is earlier for earlier in given):
            # A module that registers one object of its own is no factory; its class is.
            return type(provider)()
        given.append(provider)
        return provider

    return build


# -- from what was found to instances -------------------------------------------------------------


def _as_loaded(target: str, found: Any, origin: str) -> Loaded:
    """Build one instance, to learn its binding and that it can be built at all."""
    if not callable(found):
        raise NoProvider(
            f"--memproto={target}",
            f"is {type(found).__name__}, an object that is built already",
            "name the class, or a function without arguments that builds a new instance",
        )
    first = _built(target, found)
    adapt, binding = _adapter(target, first)
    return Loaded(target, lambda: adapt(found()), binding, origin, found)


def _built(target: str, build: Callable[[], Any]) -> Any:
    try:
        return build()
    except (NoProvider, MissingPackage):
        raise
    except ModuleNotFoundError as error:
        raise _missing(target, error) from None
    except TypeError as error:
        if _takes_arguments(build):
            raise NoProvider(
                f"--memproto={target}",
                f"cannot be built without arguments ({error})",
                'set `factory = "module:function"` in [tool.memproto], without arguments',
            ) from None
        raise _does_not_import(target, error) from None
    except Exception as error:
        raise _does_not_import(target, error) from None


def _takes_arguments(build: Callable[[], Any]) -> bool:
    try:
        inspect.signature(build).bind()
    except (TypeError, ValueError):
        return True
    return False


def _adapter(target: str, provider: Any) -> tuple[Callable[[Any], Any], Binding]:
    if aio.is_async(provider):
        return aio.from_async, "native"
    missing = [hook for hook in CORE_HOOKS if not _has(provider, hook)]
    if not missing:
        return (lambda instance: instance), "native"
    if hermes.is_hermes(provider):
        return hermes.from_hermes, "hermes"
    raise _no_provider(
        target, f"{type(provider).__name__} lacks {', '.join(missing)} of the nine members"
    )


def _has(provider: Any, hook: str) -> bool:
    """Whether the class or instance has a member, without running a property."""
    return hasattr(type(provider), hook) or hook in getattr(provider, "__dict__", {})


# -- errors ---------------------------------------------------------------------------------------


def _missing(target: str, error: ModuleNotFoundError) -> MissingPackage:
    return MissingPackage(
        f"--memproto={target}",
        f"needs the module {error.name!r}, which is not installed here",
        f"install the package that holds {error.name!r} into this environment",
    )


def _does_not_import(target: str, error: Exception) -> TargetDoesNotImport:
    frame = _innermost(error)
    return TargetDoesNotImport(
        f"--memproto={target}",
        f"raises {type(error).__name__}: {error} ({frame})",
        "make it import and build in a plain interpreter first",
    )


def _innermost(error: Exception) -> str:
    place = error.__traceback__
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place else "no frame"


def _no_provider(target: str, fault: str) -> NoProvider:
    return NoProvider(
        f"--memproto={target}", fault, "name the provider's class, or a factory without arguments"
    )
