"""
A TARGET that names a path: the package that it stands for, or the answer if there is none.

A checkout stands for the one plugin that it holds, as a vendor's repository has it in a directory.
"""

import contextlib
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

from memproto import shell
from memproto.errors import NoSuchTarget, SeveralProviders
from memproto.loading.faults import command
from memproto.near import nearest

#: Number of modules that one message names.
_MOST_NAMED = 4

#: Levels of directories in which the plugin of a checkout is looked for.
_MOST_LEVELS = 3

#: Directories of a checkout that hold no plugin of it.
_APART = frozenset({"tests", "test", "node_modules", "venv", "site-packages", "dist", "build"})

#: Modules that no provider is in.
_NO_PROVIDERS = frozenset({"__init__.py", "conftest.py", "setup.py", "tests", "test"})

#: By these words in its first lines a host knows a memory plugin.
_MARKS = ("register_memory_provider", "MemoryProvider")
_READ_CHARS = 8192


def is_package(path: Path) -> bool:
    """True if it is a directory with `__init__.py`; a name of any length may be asked about."""
    return os.path.isfile(path / "__init__.py")  # noqa: PTH113 - a Path raises for a long name


def packages_of(target: str, directory: Path) -> list[Path]:
    """
    The packages that a TARGET names by a path, as seen from `directory`; [] for another TARGET.

    A directory that is a package is the only one. Of any other one, as a checkout, they are the
    directories below it that hold plugin.yaml and a package; if there are several, those of them
    that speak of a memory provider.
    """
    path = directory / target
    if is_package(path):
        return [path]
    if not target or not _is_path(target, path):
        return []
    found = [folder for folder in _folders(path) if is_package(folder) and _has_manifest(folder)]
    return [folder for folder in found if reads_as_plugin(folder)] if len(found) > 1 else found


def _folders(path: Path, depth: int = 0) -> Iterator[Path]:
    """The directories below one, each before those in it; none that holds the code of others."""
    try:
        inner = sorted(Path(item.path) for item in os.scandir(path) if _is_below(item))
    except OSError:
        return
    yield from inner
    if depth + 1 < _MOST_LEVELS:
        for folder in inner:
            yield from _folders(folder, depth + 1)


def _is_below(item: os.DirEntry[str]) -> bool:
    is_folder = item.is_dir(follow_symlinks=False)
    return is_folder and item.name[0] not in "._" and item.name not in _APART


def _has_manifest(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("plugin.yaml", "plugin.yml"))


def reads_as_plugin(folder: Path) -> bool:
    """True if the first lines of a package speak of a memory provider, as a host looks for it."""
    with contextlib.suppress(OSError):
        text = (folder / "__init__.py").read_text("utf-8", errors="replace")[:_READ_CHARS]
        return any(mark in text for mark in _MARKS)
    return False


def refuse(target: str, directory: Path) -> None:
    """
    Refuse what names a file or a directory and no package, as seen from `directory`.

    Raises:
        NoSuchTarget: It does; the message says what to type instead.
        SeveralProviders: It is a checkout that holds several plugins.

    """
    named, _, attribute = target.partition(":")
    path = directory / named
    plugins = packages_of(target, directory)
    if len(plugins) > 1:
        names = [str(folder.relative_to(directory / target)) for folder in plugins]
        raise SeveralProviders(
            f"--memproto={target}",
            f"holds {len(plugins)} memory plugins: {', '.join(names)}",
            f"say which one, as in {command(str(Path(target, names[0])))}",
        )
    if plugins or target.startswith("hermes:") or not _is_path(named, path):
        return
    raise NoSuchTarget(f"--memproto={target}", *_said(named, path, attribute))


def _is_path(named: str, path: Path) -> bool:
    if os.sep in named or named.startswith((".", "~")) or not named:
        return True
    if not named.endswith(".py"):
        return False
    return os.path.isfile(path) or not _is_module(named)  # noqa: PTH113 - as above


def _is_module(named: str) -> bool:
    """True if a module of a package may be called so: `py` is a name like any other."""
    try:
        top = importlib.util.find_spec(named.partition(".")[0])
    except (ValueError, ImportError):
        return False
    return top is not None and top.submodule_search_locations is not None


def _said(named: str, path: Path, attribute: str) -> tuple[str, str]:
    """The fault and the fix."""
    if not named:
        return "names nothing", "name a module, module:attribute, or a directory with __init__.py"
    if named.startswith("~"):
        fix = f'write --memproto="$HOME{named[1:]}"'
        return "begins with a `~`, which the shell replaces at the beginning of a word only", fix
    after = f":{attribute}" if attribute else ""
    if os.path.isdir(path):  # noqa: PTH112 - as above
        fault = "is a directory without __init__.py, and holds no plugin.yaml beside one"
        inside = _modules_in(path)
        fixes = [_fix_of(path / name, Path(named, name), after) for name in inside[:_MOST_NAMED]]
        fix = "add the file, or name a module or a package inside of it"
        return f"{fault}; and a directory takes no attribute" if after else fault, (
            f"{fix}: {' or '.join(fixes)}" if fixes else fix
        )
    if os.path.isfile(path):  # noqa: PTH113 - as above
        if path.suffix != ".py" or not path.stem.isidentifier():
            return (
                "is a file, and no Python module",
                "name a module or a directory with __init__.py",
            )
        if path.name == "__init__.py":
            return "is a file, and its directory is the target", command(str(Path(named).parent))
        return "is a file, and a module is meant", _fix_of(path, Path(named), after)
    near = _beside(path)
    if near is not None:
        shown = os.path.relpath(near, path.parent)
        typed = Path(named).parent / shown
        fix = command(str(typed)) if is_package(near) else _fix_of(near, typed, after)
        return f"there is no {'file' if named.endswith('.py') else 'directory'} {path}", (
            f"did you mean {shown!r}? {fix}"
        )
    fault = f"there is no {'file' if named.endswith('.py') else 'directory'} {path}"
    return fault, _elsewhere(named, path, after)


def _elsewhere(named: str, path: Path, after: str) -> str:
    """Advice for a path at which nothing stands, and beside which nothing is called alike."""
    base = path
    for _ in Path(named).parts:
        base = base.parent
    # An absolute path is looked for below no directory of the user's.
    below = () if Path(named).is_absolute() else (base, *_folders(base))
    same = [folder / path.name for folder in below if _may_be(folder / path.name)]
    if same:
        return f"did you mean {str(same[0].relative_to(base))!r}? {_typed(same[0], base, after)}"
    inside = [
        folder / name
        for folder in (path.parent, base, base / "src")
        for name in (*_packages_in(folder), *_modules_in(folder))
        if name not in _NO_PROVIDERS
    ]
    found = list(dict.fromkeys(_typed(item, base, after) for item in inside))[:_MOST_NAMED]
    if found:
        return f"name one that is there: {' or '.join(found)}"
    return f"name a file that is there, or an installed module, as in {command('mypkg.memory')}"


def _may_be(path: Path) -> bool:
    return is_package(path) or (path.suffix == ".py" and path.is_file())


def _typed(path: Path, base: Path, after: str) -> str:
    """The command for a package or a module, as seen from `base`."""
    typed = path.relative_to(base) if path.is_relative_to(base) else path
    return command(str(typed)) if is_package(path) else _fix_of(path, typed, after)


def _beside(path: Path) -> Path | None:
    """The package or module in the same directory whose name is nearest to that of `path`."""
    folder = path.parent
    # The ending that all files have would make them alike.
    stems = {Path(name).stem: name for name in (*_packages_in(folder), *_modules_in(folder))}
    name = nearest(path.stem, stems)
    return folder / stems[name] if name else None


def _modules_in(folder: Path) -> list[str]:
    """The names of a directory's files that a module's name can stand for."""
    return [item for item in _listed(folder) if item[:-3].isidentifier() and item.endswith(".py")]


def _packages_in(folder: Path) -> list[str]:
    return [item for item in _listed(folder) if is_package(folder / item)]


def _listed(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names alone are asked for
    except OSError:
        return []


def _fix_of(path: Path, named: Path, after: str) -> str:
    """Advice on naming the module that a file is."""
    parts = [part for part in named.with_suffix("").parts if part != "."]
    if parts[:1] == ["src"]:
        parts = parts[1:]
    if ".." in parts or named.is_absolute() or not all(part.isidentifier() for part in parts):
        return f"cd {shell.quote(str(path.parent))} && {command(f'{path.stem}{after}')}"
    return command(f"{'.'.join(parts)}{after}")
