"""The provider that a module holds: by `register(ctx)`, by a function, as a class, or deeper."""

import importlib
import importlib.machinery
import inspect
import pkgutil
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memproto import bindings, shell
from memproto.adapters.hooks import from_registered
from memproto.adapters.members import found_without_running
from memproto.bindings import hermes_agent
from memproto.errors import NotAProvider, SeveralProviders
from memproto.loading.context import PluginContext
from memproto.loading.faults import command, no_provider

#: Marks in the source of a submodule that may hold the provider of its package.
_MARKS = (
    *("register_memory_provider", "MemoryProvider"),
    *(f"def {binding.hook('record')}" for binding in bindings.IN_PROCESS),
)
_MOST_SUBMODULES = 200

#: Number of commands that one message gives.
_MOST_NAMED = 8

#: Hooks by which a provider is known that sets them on its instances.
_STORING = tuple(binding.hook("record") for binding in bindings.IN_PROCESS)

#: The hook without which a plugin of hooks is no memory.
_RECALLS = "pre_llm_call"

#: Names under which the one argument of a plugin's entry function goes.
_CONTEXT_NAMES = frozenset({"ctx", "context", "plugin_context", "plugin_ctx", "host", "collector"})


def provider_of_module(target: str, module: types.ModuleType, *, deep: bool = True) -> Any:
    """
    `register(ctx)`, else `make_provider()`, else the only provider class defined in it.

    If a package shows none of these itself, its modules are looked through, by their source,
    and the one that holds a provider is imported.

    Raises:
        NoProvider: There is none.
        SeveralProviders: There are several classes, or several modules that hold one.

    """
    if callable(getattr(module, "register", None)):
        return Registering(target, module.register, module)
    if callable(getattr(module, "make_provider", None)):
        return module.make_provider
    if (found := _only_class(target, module)) is not None:
        return found
    found = _in_submodules(target, module) if deep else None
    found = found or _shown_when_built(target, module)
    if found is None and bindings.import_installed():
        found = _only_class(target, module)
    if found is None:
        fault = f"{module.__name__} defines no provider"
        raise no_provider(target, "; ".join((fault, *bindings.faults())))
    return found


def _only_class(target: str, module: types.ModuleType) -> type | None:
    classes = provider_classes(module)
    if len(classes) > 1:
        raise _several(target, module.__name__, [item.__name__ for item in classes])
    return classes[0] if classes else None


def _several(target: str, module: str, names: list[str]) -> SeveralProviders:
    fault = f"{module} holds {len(names)} providers: {', '.join(sorted(names))}"
    return _which(target, fault, [f"{module}:{name}" for name in names])


def _which(target: str, fault: str, names: list[str]) -> SeveralProviders:
    """The error that lists several providers, and gives the command for each."""
    top = names[0].partition(":")[0].partition(".")[0]
    if importlib.machinery.PathFinder.find_spec(top) is not None:
        commands = " or ".join(command(name) for name in sorted(names)[:_MOST_NAMED])
        return SeveralProviders(f"--memproto={target}", fault, f"say which one: {commands}")
    place = getattr(sys.modules.get(top), "__file__", None)
    if place is None or not Path(place).parent.name.isidentifier():
        fix = "have register(ctx) register the one that is meant"
        return SeveralProviders(f"--memproto={target}", fault, fix)
    fix = f"cd {shell.quote(str(Path(place).parents[1]))} && {command(min(names))}"
    return SeveralProviders(f"--memproto={target}", fault, f"say which one, as in {fix}")


def provider_classes(module: types.ModuleType) -> list[type]:
    """Provider classes whose code is in the module's package, not merely imported into it."""
    root = module.__name__
    mine: list[type] = []
    for value in vars(module).values():
        if not inspect.isclass(value) or value in mine or inspect.isabstract(value):
            continue
        home = getattr(value, "__module__", "")
        if (home == root or home.startswith(f"{root}.")) and looks_like_provider(value):
            mine.append(value)
    # A stand-in for the host's base class is no provider beside one that is built on it.
    return [item for item in mine if item.__name__ != "MemoryProvider"] or mine


def looks_like_provider(value: Any) -> bool:
    """True if a class defines the hooks of a provider, of a binding that this process knows."""
    if getattr(value, "_is_protocol", False):
        return False
    return bindings.defined(value)


def _shown_when_built(target: str, module: types.ModuleType) -> type | None:
    """The one class of the module whose instances have hooks that the class does not show."""
    found = [
        item for item in _defined(module) if _may_have_hooks(item) and _is_provider_when_built(item)
    ]
    if len(found) > 1:
        raise _several(target, module.__name__, [item.__name__ for item in found])
    return found[0] if found else None


def _defined(module: types.ModuleType) -> list[type]:
    values = {id(value): value for value in vars(module).values() if inspect.isclass(value)}
    return [item for item in values.values() if item.__module__ == module.__name__]


def _may_have_hooks(kind: type) -> bool:
    """True if a class answers for members that it does not define, or sets hooks when it begins."""
    if inspect.isabstract(kind) or takes_arguments(kind):
        return False
    code = getattr(kind.__init__, "__code__", None)  # type: ignore[misc]  # it is only looked at
    named = {*code.co_names, *code.co_consts} if code else set()
    return hasattr(kind, "__getattr__") or not named.isdisjoint(_STORING)


def _is_provider_when_built(kind: type) -> bool:
    try:
        built = kind()
    except Exception:  # the author's code, of a class that nobody has named
        return False
    return bindings.defined(built)


# -- submodules ------------------------------------------------------------------------------------


def _in_submodules(target: str, package: types.ModuleType) -> Any:
    """The provider in the one submodule that holds one; None for none."""
    found: dict[str, Any] = {}
    for name in _candidates(package):
        module = importlib.import_module(name)
        if callable(getattr(module, "register", None)) and _says_register(module):
            return Registering(target, module.register, module)
        found |= {f"{item.__module__}:{item.__name__}": item for item in _defined_in(module)}
    if len(found) > 1:
        names = ", ".join(sorted(found))
        fault = f"the modules of {package.__name__} hold {len(found)} providers: {names}"
        raise _which(target, fault, list(found))
    return next(iter(found.values()), None)


def _defined_in(module: types.ModuleType) -> list[type]:
    return [item for item in provider_classes(module) if item.__module__ == module.__name__]


def _says_register(module: types.ModuleType) -> bool:
    return "register_memory_provider" in _source(Path(str(module.__file__)))


def _candidates(package: types.ModuleType) -> Iterator[str]:
    """Submodules whose source speaks of a provider; only those are imported."""
    for folder in map(Path, getattr(package, "__path__", ())):
        files = sorted(folder.rglob("*.py"), key=lambda path: (len(path.parts), path))
        for file in files[:_MOST_SUBMODULES]:
            parts = file.relative_to(folder).with_suffix("").parts
            is_test = any(part.startswith(("test", "conftest", "__main__")) for part in parts)
            if is_test or not any(mark in _source(file) for mark in _MARKS):
                continue
            inner = parts[:-1] if parts[-1] == "__init__" else parts
            if inner and all(part.isidentifier() for part in inner):
                yield ".".join((package.__name__, *inner))


def _source(file: Path) -> str:
    try:
        return file.read_text("utf-8", errors="replace")
    except OSError:
        return ""


def submodules(module: types.ModuleType) -> list[str]:
    """The names of a package's modules, for a reader."""
    return sorted(item.name for item in pkgutil.iter_modules(getattr(module, "__path__", ())))


# -- register(ctx) ---------------------------------------------------------------------------------


class Registering:
    """
    A factory that calls `register(ctx)` for each instance, and gives what was registered.

    If `register` takes no provider to the context and the module defines one class, that class
    is built, as a Hermes host does.

    Attributes:
        context: The context of the last call, or None before the first one.

    """

    def __init__(
        self, target: str, register: Callable[..., Any], module: types.ModuleType | None = None
    ) -> None:
        self.context: PluginContext | None = None
        self._target = target
        self._register = register
        self._module = module or sys.modules.get(getattr(register, "__module__", ""))
        self._given: list[Any] = []

    def __call__(self) -> Any:
        """Register once more, and give a new instance."""
        context = self.context = self._new_context()
        self._register(context)
        if not context.providers:
            return self._without_provider(context)
        provider = context.providers[-1]
        if isinstance(provider, type):
            return provider()
        if any(provider is earlier for earlier in self._given):
            # A module that registers one object of its own is no factory; its class is.
            return _another(provider)
        self._given.append(provider)
        return provider

    def _without_provider(self, context: PluginContext) -> Any:
        """The one class of the module; else its hooks, where it recalls by one."""
        is_class = self._module is not None and len(provider_classes(self._module)) == 1
        if is_class or _RECALLS not in context.hooks:
            return self._only_class()()
        try:
            return from_registered(context.registered, _label(context.name))
        except NotAProvider as fault:
            raise no_provider(self._target, str(fault)) from None

    def notes(self) -> tuple[str, ...]:
        """Things that were asked of the context beyond what the loader of memory plugins offers."""
        if self.context is None:
            return ()
        unknown, beyond = sorted(self.context.unknown), sorted(self.context.beyond)
        if hermes_agent.release().forwards_registrations:
            beyond = [name for name in beyond if not name.startswith("register_")]
        told = [f"register(ctx) asks for ctx.{name}, which no known host has" for name in unknown]
        told += [f"register(ctx) asks for ctx.{name}, not for memory plugins" for name in beyond]
        return tuple(told)

    def _new_context(self) -> PluginContext:
        file = getattr(self._module, "__file__", None)
        name = getattr(self._module, "__name__", "").rpartition(".")[2]
        return PluginContext(name, Path(file).parent if file else None)

    def _only_class(self) -> type:
        classes = [] if self._module is None else provider_classes(self._module)
        if len(classes) == 1:
            return classes[0]
        raise no_provider(self._target, "register(ctx) registered no memory provider")


def _another(provider: Any) -> Any:
    """
    A new instance of the class of a provider; of what a proxy stands before, in a new proxy.

    If the class builds none without arguments, it is the same object again, as a host has it.
    """
    kind = type(provider)
    if not takes_arguments(kind):
        return kind()
    behind = found_without_running(provider, "__wrapped__")
    if behind is None or takes_arguments(type(behind)):
        return provider
    return kind(type(behind)())


def _label(name: str) -> str:
    """The name of a plugin's module as that of a provider; a plugin of hooks has none itself."""
    label = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:64].strip("-")
    return label or "plugin"


def is_registering(found: Any) -> bool:
    """True if `found` is a plugin's entry function, which takes the context and gives nothing."""
    if isinstance(found, type) or not callable(found):
        return False
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return False
    name = str(getattr(getattr(found, "func", found), "__name__", ""))
    if name == "register":
        return any(_is_one(item) for item in parameters)
    needed = [item.name for item in parameters if item.default is item.empty and _is_one(item)]
    named = name.startswith("register") or bool(_CONTEXT_NAMES.intersection(needed))
    return len(needed) == 1 and named


def _is_one(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)


def takes_arguments(build: Callable[[], Any]) -> bool:
    """True if `build` cannot be called with nothing."""
    try:
        inspect.signature(build).bind()
    except (TypeError, ValueError):
        return True
    return False
