"""A plugin directory, imported as a Hermes host imports it; any other one as a plain package."""

import contextlib
import importlib.machinery
import importlib.util
import sys
import types
from pathlib import Path

from memproto.errors import NoSuchTarget
from memproto.loading.faults import does_not_import, missing
from memproto.loading.named_paths import reads_as_plugin

#: The parent under which a host puts plugins that a user installed.
_PARENT = "_hermes_user_memory"


def import_directory(target: str, path: Path) -> types.ModuleType:
    """
    Import a directory with `__init__.py` as a package of its own.

    A Hermes plugin gets the name and the parent package that its host gives it, and its modules
    are run one by one before its `__init__.py`, as the host runs them: one that fails stays as far
    as it came.

    Raises:
        TargetDoesNotImport: Its code raised.
        MissingPackage: It needs a package that is not installed.
        NoSuchTarget: It cannot be read as a package.

    """
    folder = path.resolve()
    module = _new(target, folder, _module_name(folder))
    if module.__name__.startswith(_PARENT):
        _run_submodules(folder, module.__name__)
    try:
        assert module.__spec__ is not None
        assert module.__spec__.loader is not None
        module.__spec__.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise missing(target, error) from None
    except Exception as error:
        raise does_not_import(target, error) from None
    return module


def _module_name(folder: Path) -> str:
    if (folder / "plugin.yaml").is_file() or reads_as_plugin(folder):
        return f"{_PARENT}.{folder.name}"
    return folder.name.replace("-", "_").replace(".", "_")


def _new(target: str, folder: Path, name: str) -> types.ModuleType:
    location = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if location is None or location.loader is None:
        raise NoSuchTarget(
            f"--memproto={target}", "cannot be read as a package", "see its __init__.py"
        )
    if name.startswith(_PARENT):
        _have_parent()
    module = importlib.util.module_from_spec(location)
    sys.modules[name] = module
    return module


def _have_parent() -> None:
    if _PARENT not in sys.modules:
        parent = importlib.machinery.ModuleSpec(_PARENT, None, is_package=True)
        parent.submodule_search_locations = []
        sys.modules[_PARENT] = importlib.util.module_from_spec(parent)


def _run_submodules(folder: Path, package: str) -> None:
    for file in sorted(folder.glob("*.py")):
        name = f"{package}.{file.stem}"
        location = importlib.util.spec_from_file_location(name, file)
        known = file.name == "__init__.py" or name in sys.modules
        if known or location is None or location.loader is None:
            continue
        sys.modules[name] = importlib.util.module_from_spec(location)
        with contextlib.suppress(Exception):
            location.loader.exec_module(sys.modules[name])
