"""
From the TARGET of a host, as the user typed it, to a factory of hosts and the host's fence.

`module:attribute` names the class of a registry or of a driver, or a function without arguments
that builds one; `hermes` is the driver of the installed hermes-agent.
"""

import dataclasses
import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from memproto import shell, spec
from memproto.bindings import BUILT_IN, NATIVE, Binding
from memproto.errors import MissingPackage, NoSuchTarget, TargetDoesNotImport
from memproto.loading.faults import raised_at
from memproto.near import nearest
from memproto.testing.driver import NEEDED, HostDriver, has_step

#: Methods of a registry, in the order of a session's life.
METHODS = (
    "register",
    "initialize_all",
    "enrich_turn",
    "on_memory_write",
    "on_turn_complete",
    "on_compress",
    "shutdown_all",
)

#: The functions of a fence.
FENCE = (
    "sanitize_context",
    "build_memory_context_block",
    "inject_memory_context",
    "parse_memory_context",
    "StreamingContextScrubber",
)

#: A driver of the kit's own by the name of its framework.
SHIPPED = {binding.name: binding.host_driver for binding in BUILT_IN if binding.host_driver}

#: Module to the package that holds it, for drivers of the kit's own.
_PACKAGES = {"strands": "strands-agents", "agent_framework": "agent-framework-core"}

_FORM = "give module:attribute, as in --memproto-host=mypkg:make_registry or mypkg:MyDriver"


@dataclasses.dataclass(frozen=True)
class LoadedHost:
    """
    A host that was found and imported.

    Attributes:
        target: As it was typed.
        build: Gives a new registry or driver; takes those of `accepts` as keyword arguments.
        binding: Always native: the binding of the providers that a host is judged with.
        origin: The place that it came from, for a reader.
        fence: Name to function, for those of `FENCE` that were found.
        accepts: Those of `deadlines` and `on_event` that the factory takes, and `policy` if it
            builds a registry of ours.
        is_driver: True if it gives drivers.
        most: Number of providers that it takes at a time; None for any number.
        without: Why a driver's framework has no such thing, by step, requirement, or `fence`.

    """

    target: str
    build: Callable[..., Any]
    binding: Binding
    origin: str
    fence: dict[str, Callable[..., Any]]
    accepts: frozenset[str]
    is_driver: bool = False
    most: int | None = None
    without: Mapping[str, str] = dataclasses.field(default_factory=dict)


def load(target: str, factory: str = "") -> LoadedHost:
    """
    Import what `target` names; `factory` ("module:function") replaces it where it is set.

    Imports, and builds one registry. Blocks as long as the target's own code does.

    Raises:
        NoSuchTarget: Nothing of that name can be found, it is no registry, or its driver names a
            requirement in `without` that is none on hosts.
        TargetDoesNotImport: Importing or building it raised.
        MissingPackage: It needs a package that is not installed.

    """
    name = factory or SHIPPED.get(target, target)
    build = _attribute(target, name)
    if not callable(build):
        raise _nothing(target, f"is {type(build).__name__}, and neither a class nor a factory")
    accepts = _accepted(build)
    first = _run(target, build)
    is_driver = _is_driver(target, first)
    if is_driver or not _takes_our_policy(first):
        accepts -= {"policy"}
    fence = _fence_of(build, first)
    most = getattr(first, "most_providers", None) if is_driver else None
    without = _without(target, first) if is_driver else {}
    return LoadedHost(target, build, NATIVE, name, fence, accepts, is_driver, most, without)


def _is_driver(target: str, first: Any) -> bool:
    """True if it is a driver; a registry has the methods of one, and maybe more."""
    missing = [method for method in METHODS if not callable(getattr(first, method, None))]
    if not missing:
        return False
    steps = [step for step in NEEDED if not has_step(first, step)]
    if not steps:
        return True
    fault = f"{type(first).__name__} lacks {', '.join(missing)} of a registry"
    if isinstance(first, HostDriver) or len(steps) < len(NEEDED):
        fault = f"{type(first).__name__} lacks the steps {', '.join(steps)} of a driver"
    raise _nothing(target, fault)


def _without(target: str, driver: Any) -> dict[str, str]:
    """The reasons of a driver; an id in it is one of a requirement on hosts."""
    without = dict(getattr(driver, "without", {}))
    known = [item.id for item in spec.requirements().values() if item.side == "host"]
    for name in without:
        if name.startswith("MP-") and name not in known:
            near = nearest(name, known)
            raise NoSuchTarget(
                f"--memproto-host={target}",
                f"`without` of its driver names {name}, which is no requirement on hosts",
                f"did you mean {near}?" if near else "`memproto list` shows all ids",
            )
    return without


def _takes_our_policy(registry: Any) -> bool:
    return any(kind.__module__.startswith("memproto.") for kind in type(registry).__mro__)


# -- finding --------------------------------------------------------------------------------------


def _attribute(target: str, name: str) -> Any:
    module_name, colon, attribute = name.partition(":")
    if not colon or not attribute:
        raise _nothing(target, "names no attribute of a module", nearest(target, SHIPPED))
    _assert_exists(target, module_name)
    value: Any = _run(target, functools.partial(importlib.import_module, module_name))
    for part in attribute.split("."):
        if not hasattr(value, part):
            near = nearest(part, [item for item in vars(value) if not item.startswith("_")])
            meant = f"{module_name}:{attribute.replace(part, near)}" if near else ""
            raise _nothing(target, f"{module_name} has no attribute {attribute!r}", meant)
        value = getattr(value, part)
    return value


def _assert_exists(target: str, module: str) -> None:
    """Tell 'there is no such module' from 'the module needs one that is missing'."""
    top = module.partition(".")[0]
    if not all(part.isidentifier() for part in module.split(".")):
        raise _nothing(target, f"{module!r} is no name of a module")
    try:
        known = top in sys.modules or importlib.util.find_spec(top) is not None
    except (ValueError, ImportError):
        known = False
    if not known:
        raise _nothing(target, f"there is no module named {top!r} here")


def _run(target: str, step: Callable[[], Any]) -> Any:
    """Run the target's own code, and turn what it raises into a message."""
    option = f"--memproto-host={target}"
    try:
        return step()
    except ModuleNotFoundError as error:
        fault = f"needs the module {error.name!r}, which is not installed here"
        top = str(error.name).partition(".")[0]
        top = _PACKAGES.get(top, top)
        fix = f"pip install {top}, or the package that holds it if that has another name"
        raise MissingPackage(option, fault, fix) from None
    except Exception as error:
        fault = f"raises {type(error).__name__}: {error}{raised_at(error, target)}"
        fix = "make it import, and build without arguments, in a plain interpreter first"
        raise TargetDoesNotImport(option, fault, fix) from None


def _nothing(target: str, fault: str, meant: str = "") -> NoSuchTarget:
    """The error, with the command for the target that was probably meant."""
    command = f"pytest --memproto-host={shell.quote(meant)}"
    fix = f"did you mean {meant!r}? {command}" if meant else _FORM
    return NoSuchTarget(f"--memproto-host={target}", fault, fix)


# -- what it takes and brings ---------------------------------------------------------------------


def _accepted(build: Callable[..., Any]) -> frozenset[str]:
    """Keyword arguments of the kit that the factory names."""
    try:
        parameters = inspect.signature(build).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    names = {item.name for item in parameters if item.kind is not item.POSITIONAL_ONLY}
    return frozenset({"deadlines", "on_event", "policy"} & names)


def _fence_of(build: Callable[..., Any], registry: Any) -> dict[str, Callable[..., Any]]:
    """The functions of the `fence` of the host, or of the first place that holds each."""
    own = getattr(build, "fence", None) or getattr(type(registry), "fence", None)
    places = [own] if own is not None else list(_places(build, registry))
    found: dict[str, Callable[..., Any]] = {}
    for name in FENCE:
        for place in places:
            if callable(function := getattr(place, name, None)):
                found[name] = function
                break
    return found


def _places(build: Callable[..., Any], registry: Any) -> Iterator[ModuleType]:
    """Modules of the factory, of the registry's class and of its bases; then their packages."""
    names = [getattr(build, "__module__", "")]
    names += [kind.__module__ for kind in type(registry).__mro__ if kind is not object]
    tops = [name.partition(".")[0] for name in names]
    for name in [*names, *tops]:
        if name and name in sys.modules:
            yield sys.modules[name]
