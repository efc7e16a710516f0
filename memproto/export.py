"""
`memproto export-hermes TARGET DIR`: a native provider as a plugin directory of Hermes Agent.

A provider that is a module of the working directory is copied into it, and it is whole then; an
installed provider is imported by its name.
"""

import argparse
import contextlib
import importlib.metadata
import json
import operator
import os
import shutil
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

from memproto import __version__, loading
from memproto.adapters.hermes import to_hermes
from memproto.adapters.hermes_base import HOOKS
from memproto.adapters.hermes_hosted import has_hooks
from memproto.adapters.hermes_served import SERVED
from memproto.errors import KitUsageError, MemprotoError
from memproto.loading import packages
from memproto.loading.modules import provider_of_module
from memproto.operations import OPERATIONS
from memproto.types import is_label

#: The names that a Hermes host looks up among its own before it looks for a directory.
TAKEN = frozenset(
    {
        *("builtin", "byterover", "hindsight", "holographic", "honcho", "mem0", "openviking"),
        *("retaindb", "supermemory"),
    }
)

_CHECK_S = 60
_IMPORT = """
import importlib, sys

sys.path.insert(0, sys.argv[1])
importlib.import_module(sys.argv[2])
"""
_LOAD = """
import sys
from memproto import errors, loading

try:
    loading.load(sys.argv[1])
except errors.KitUsageError as error:
    sys.exit(error.fault)
"""

_INSTALLED = '''"""The memory provider {name}; made by `memproto export-hermes` {version}."""

from memproto.export import from_target


def register(ctx):
    """Hand a new instance over to the host."""
    ctx.register_memory_provider(from_target({target}, name={quoted}))
'''

_COPIED = '''"""The memory provider {name}; made by `memproto export-hermes` {version}."""

from importlib import import_module

from memproto.export import from_module


def register(ctx):
    """Hand a new instance over to the host."""
    source = import_module({module}, __name__)
    ctx.register_memory_provider(from_module(source, {attribute}, name={quoted}))
'''


def add_command(parser: argparse.ArgumentParser) -> None:
    """Give `parser` the arguments of this command, and what runs it."""
    parser.add_argument("target", metavar="TARGET", help="as for `pytest --memproto=TARGET`")
    parser.add_argument("folder", metavar="DIR", type=Path, help="new; its name is the provider's")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    folder = export(options.target, options.folder, Path.cwd())
    sys.stdout.write(
        f"{folder} holds the provider {folder.name!r}\n"
        f"  place it in the `plugins` directory of the Hermes home, where it is not there yet\n"
        f"  and name it in config.yaml: memory: {{provider: {folder.name}}}\n"
    )
    return 0


# -- what an exported directory calls --------------------------------------------------------------


def from_target(target: str, *, name: str) -> Any:
    """The provider that `target` names, for the host; raises as `loading.load`."""
    return to_hermes(loading.load(target).build(), name=name)


def from_module(module: types.ModuleType, attribute: str, *, name: str) -> Any:
    """The provider that a module holds, or one attribute of it, for the host."""
    found = operator.attrgetter(attribute)(module) if attribute else module
    if isinstance(found, types.ModuleType):
        found = provider_of_module(name, found)
    return to_hermes(found(), name=name)


# -- the command -----------------------------------------------------------------------------------


def export(target: str, folder: Path, directory: Path) -> Path:
    """
    Write the plugin directory `folder` for `target`, as seen from `directory`; gives its path.

    Imports the target and builds an instance. At the end the directory is loaded as a host does,
    in a process that does not see `directory`.

    Raises:
        KitUsageError: The target cannot be loaded or is a Hermes provider already; the folder is
            taken, or its name is; or what was exported does not load elsewhere.

    """
    folder = folder.absolute()
    _refuse_folder(folder)
    local = _local_source(target, directory)
    provider = _native(target, directory)
    try:
        to_hermes(provider, name=folder.name)
    except MemprotoError as fault:
        raise KitUsageError(target, str(fault), "see MP-NAME-002") from None
    is_new = not folder.exists()
    try:
        _write(folder, target, provider, local)
        _refuse_what_does_not_load(target, folder, local)
    except BaseException:
        _emptied(folder, is_new=is_new)
        raise
    return folder


def _refuse_folder(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise KitUsageError(str(folder), "is there already, and not empty", "name a new directory")
    if not is_label(folder.name):
        fault = f"{folder.name!r} is no name of a provider"
        raise KitUsageError(str(folder), fault, "take small letters, digits, - and _")
    if folder.name in TAKEN:
        fault = f"Hermes has a provider {folder.name!r} of its own, which it would load"
        raise KitUsageError(str(folder), fault, f"name it otherwise, such as my-{folder.name}")


def _native(target: str, directory: Path) -> Any:
    """An instance of what `target` names, with blocking hooks."""
    sys.path[:0] = [str(directory), str(directory / "src")]
    try:
        loaded = loading.load(target)
        if loaded.binding.plugs_into_hermes:
            fault = "is a provider of Hermes already"
            raise KitUsageError(target, fault, "install it there as its author says")
        return loaded.build()
    except SystemExit as error:
        fault = f"importing it raised SystemExit: {error}"
        raise KitUsageError(target, fault, "end nothing at import") from None


def _local_source(target: str, directory: Path) -> Path | None:
    """The file or package that has to be copied: what is imported from the working directory."""
    if (directory / target / "__init__.py").is_file():
        return (directory / target).resolve()
    module = target.partition(":")[0]
    top = module.partition(".")[0]
    is_entry = ":" not in target and packages.entry_point(target) is not None
    if is_entry or not top.isidentifier():
        return None
    for root in (directory, directory / "src"):
        for candidate in (root / top, root / f"{top}.py"):
            is_there = candidate.is_file() or (candidate / "__init__.py").is_file()
            if is_there and not _is_installed(top, directory):
                return candidate
    return None


def _is_installed(module: str, directory: Path) -> bool:
    """True if a module is found without the working directory."""
    hidden = {"", str(directory), str(directory / "src")}
    seen = sys.path
    sys.path = [entry for entry in seen if entry not in hidden]
    try:
        # Asked one by one: `importlib.util.find_spec` finds what this process has imported.
        return any(finder.find_spec(module, None) is not None for finder in sys.meta_path)
    finally:
        sys.path = seen


# -- what is written -------------------------------------------------------------------------------


def _write(folder: Path, target: str, provider: Any, local: Path | None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    known = {"name": folder.name, "version": __version__, "quoted": json.dumps(folder.name)}
    if local is None:
        text = _INSTALLED.format(target=json.dumps(target), **known)
    else:
        _copy(local, folder)
        module, _, attribute = target.partition(":")
        name = local.stem if (Path(target) / "__init__.py").is_file() else module
        words = {"module": json.dumps(f".{name}"), "attribute": json.dumps(attribute)}
        text = _COPIED.format(**words, **known)
    (folder / "__init__.py").write_text(text, "utf-8")
    (folder / "plugin.yaml").write_text(_manifest(folder.name, target, provider), "utf-8")
    if settings := _settings(provider):
        (folder / "memproto.toml").write_text(settings, "utf-8")


def _copy(source: Path, folder: Path) -> None:
    if source.is_dir():
        unwanted = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
        shutil.copytree(source, folder / source.name, ignore=unwanted)
    else:
        shutil.copy(source, folder)


def _manifest(name: str, target: str, provider: Any) -> str:
    """plugin.yaml; JSON is YAML, so each value is written as JSON."""
    summary = (type(provider).__doc__ or "").strip().partition("\n")[0]
    values = {
        "name": name,
        "version": _version_of(target),
        "description": summary or f"The memory provider {name}, a native one of memproto.",
        "hooks": _hooks(provider),
        "pip_dependencies": ["memproto"],
    }
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in values.items())


def _hooks(provider: Any) -> list[str]:
    served = {key for key in SERVED if has_hooks(provider, key)}
    rows = [row for row in OPERATIONS.values() if row.extension in served and row.name in HOOKS]
    return ["on_memory_write", "on_pre_compress", *(HOOKS[row.name] for row in rows)]


def _settings(provider: Any) -> str:
    """For the kit, what the provider declares and a Hermes provider cannot; "" for nothing."""
    try:
        declared = dict(provider.capabilities())
    except Exception:  # natively nobody asks before a session
        return ""
    told = {key: declared[key] for key in ("retention", "recall_basis") if key in declared}
    told |= {key: sorted(declared[key]) for key in ("stores", "isolates") if key in declared}
    lines = [f"declares.{key} = {json.dumps(value)}\n" for key, value in told.items()]
    return "".join(["# The kit takes these for declared; see docs/settings.md.\n", *lines])


def _version_of(target: str) -> str:
    """The version of the distribution that holds the target; "0" for none."""
    point = packages.entry_point(target)
    top = (point.value if point else target).partition(":")[0].partition(".")[0]
    holders = importlib.metadata.packages_distributions().get(top, [])
    return importlib.metadata.version(holders[0]) if holders else "0"


def _refuse_what_does_not_load(target: str, folder: Path, local: Path | None) -> None:
    """Load the directory as a host does; a module that was copied is imported alone first."""
    alone = "" if local is None else _fault_elsewhere(_IMPORT, str(folder), local.stem)
    fault = alone or _fault_elsewhere(_LOAD, str(folder))
    if fault:
        fix = "install the provider as a package, and name it so"
        raise KitUsageError(target, f"does not load from another directory: {fault}", fix)


def _fault_elsewhere(*code: str) -> str:
    """The fault in a process that knows no working directory; "" for none."""
    with tempfile.TemporaryDirectory(prefix="memproto-") as elsewhere:
        try:
            done = subprocess.run(
                [sys.executable, "-P", "-c", *code],
                cwd=elsewhere,
                env={**os.environ, "HERMES_HOME": elsewhere, "PYTHONDONTWRITEBYTECODE": "1"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_CHECK_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"it is not done after {_CHECK_S} s"
    lines = done.stderr.strip().splitlines() or ["the process ended"]
    return lines[-1] if done.returncode else ""


def _emptied(folder: Path, *, is_new: bool) -> None:
    with contextlib.suppress(OSError):
        shutil.rmtree(folder)
        if not is_new:
            folder.mkdir()
