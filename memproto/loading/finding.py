"""TARGET to the class or function that builds a provider: the five forms, the first match wins."""

import importlib
import importlib.metadata
import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

from memproto.errors import NoSuchTarget
from memproto.loading.faults import does_not_import, missing
from memproto.loading.modules import provider_of_module, registering, takes_arguments

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


def resolve(target: str) -> tuple[Any, str]:
    """
    What builds the provider that `target` names, and where it was found; imports it.

    Raises:
        NoSuchTarget: Nothing of that name can be found.
        TargetDoesNotImport: Importing it raised.
        MissingPackage: It needs a package that is not installed.
        NoProvider: What was found is no provider.
        SeveralProviders: A module holds more than one.

    """
    path = Path(target)
    if path.is_dir() and (path / "__init__.py").is_file():
        return provider_of_module(target, _import_directory(target, path)), str(path)
    if target.startswith("hermes:"):
        return _bundled(target), target
    if ":" in target:
        return _as_factory(target, _attribute(target)), target
    point = _entry_point(target)
    if point is not None:
        return _from_entry_point(target, point), f"entry point {point.name} = {point.value}"
    return provider_of_module(target, _import(target, target)), f"module {target}"


def _import(target: str, module: str) -> types.ModuleType:
    _assert_exists(target, module)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise missing(target, error) from None
    except Exception as error:
        raise does_not_import(target, error) from None


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
        raise missing(target, error) from None
    except Exception as error:
        raise does_not_import(target, error) from None
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
        return provider_of_module(target, module)
    return _as_factory(target, _attribute(f"{point.module}:{point.attr}"))


def _as_factory(target: str, found: Any) -> Any:
    """What an attribute stands for: a module's provider, a plugin's register(ctx), or itself."""
    if isinstance(found, types.ModuleType):
        return provider_of_module(target, found)
    return registering(target, found) if _registers(found) else found


def _registers(found: Any) -> bool:
    """Whether `found` is a plugin's register(ctx): of that name, and not callable with nothing."""
    is_function = isinstance(found, types.FunctionType) and found.__name__ == "register"
    return is_function and takes_arguments(found)


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
        raise missing(target, error) from None
    except Exception as error:
        raise does_not_import(target, error) from None
    if found is None:
        raise NoSuchTarget(
            f"--memproto={target}",
            f"hermes-agent bundles no memory provider {name!r}",
            "see `hermes memory list` for the names",
        )
    return lambda: load_one(name)
