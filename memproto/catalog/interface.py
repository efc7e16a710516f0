"""
The interface of a release of hermes-agent as its files show it, beside the one that the kit knows.

The files are parsed and never imported, so that an archive of a release is enough. The kit knows
each release by a row of `interfaces.json`; `differences` says in sentences how another one differs.
"""

import ast
import contextlib
import dataclasses
import functools
import importlib.metadata
import importlib.resources
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from memproto.adapters.hermes_releases import RELEASES
from memproto.errors import KitUsageError

#: Parts of the interface, and the files of hermes-agent in which they stand.
FILES = {
    "base": "agent/memory_provider.py",
    "manager": "agent/memory_manager.py",
    "loader": "plugins/memory/__init__.py",
}

_BASE, _MANAGER, _COLLECTOR = "MemoryProvider", "MemoryManager", "_ProviderCollector"

#: Names under which the manager has a provider.
_PROVIDERS = frozenset({"provider", "p"})

#: A constant of the manager that bounds a call, in seconds.
_BOUND = re.compile(r"_?[A-Z][A-Z_]*_TIMEOUT_S")


@dataclasses.dataclass(frozen=True)
class Interface:
    """
    All that a provider meets of one release.

    Attributes:
        hooks: Hook of the base class to its parameters behind `self`, such as
            `query, *, session_id=`; "" for an attribute that is no method.
        abstract: Hooks without which a provider is not built.
        names: Public names of the module of the base class, which providers import.
        manager: Public method of the manager to its parameters: what the host hands on.
        calls: Hook to the arguments with which the manager calls it, each way once.
        bounds: Name to seconds of what the manager waits for.
        loader: Public functions of the loader, and the methods that its context offers.
        groups: Entry-point groups in which the loader looks.

    """

    hooks: Mapping[str, str]
    abstract: tuple[str, ...]
    names: tuple[str, ...]
    manager: Mapping[str, str]
    calls: Mapping[str, tuple[str, ...]]
    bounds: Mapping[str, float]
    loader: tuple[str, ...]
    groups: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The interface that `as_dict` gave."""
        lists = {key: tuple(data[key]) for key in ("abstract", "names", "loader", "groups")}
        calls = {hook: tuple(ways) for hook, ways in data["calls"].items()}
        return cls(**{**data, **lists, "calls": calls})


# -- what the kit knows, and what is there ---------------------------------------------------------


@functools.cache
def known() -> Mapping[str, Interface]:
    """Release to the interface that the kit knows of it, for each of `RELEASES`."""
    text = importlib.resources.files(__package__).joinpath("interfaces.json").read_text("utf-8")
    rows = json.loads(text)
    return {release: Interface.from_dict(rows[release]) for release in RELEASES}


def installed() -> tuple[Path, str]:
    """
    The directory in which hermes-agent is installed, and its version.

    Raises:
        KitUsageError: It is not installed.

    """
    try:
        found = importlib.metadata.distribution("hermes-agent")
    except importlib.metadata.PackageNotFoundError:
        fix = "pip install hermes-agent, or name a directory that holds its files"
        raise KitUsageError("hermes-agent", "is not installed here", fix) from None
    return Path(str(found.locate_file(""))), found.version


def version(folder: Path) -> str:
    """The version of the hermes-agent in a directory, by pyproject.toml or as installed; or ""."""
    with contextlib.suppress(OSError, ValueError):
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8")).get("project")
        if isinstance(project, dict) and isinstance(project.get("version"), str):
            return str(project["version"])
    found = importlib.metadata.distributions(name="hermes-agent", path=[str(folder)])
    return next((each.version for each in found), "")


def read(folder: Path) -> Interface:
    """
    The interface of the hermes-agent whose files stand in a directory; none of them is imported.

    Raises:
        KitUsageError: One of the files is missing, or cannot be parsed.

    """
    trees = {part: _parsed(folder, file) for part, file in FILES.items()}
    base = _class(trees["base"], _BASE, folder / FILES["base"])
    manager = _class(trees["manager"], _MANAGER, folder / FILES["manager"])
    members = {name: _parameters(node) for name, node in _methods(base)}
    members |= dict.fromkeys(_assigned(base.body), "")
    hooks = {name: text for name, text in members.items() if not name.startswith("_")}
    return Interface(
        hooks=dict(sorted(hooks.items())),
        abstract=tuple(sorted(name for name, node in _methods(base) if _is_abstract(node))),
        names=tuple(sorted(_public(trees["base"]))),
        manager=dict(sorted(_public_methods(manager))),
        calls=_calls(manager, hooks),
        bounds=dict(sorted(_bounds(trees["manager"]))),
        loader=tuple(sorted(_offered(trees["loader"]))),
        groups=tuple(sorted(_groups(trees["loader"]))),
    )


def _parsed(folder: Path, file: str) -> ast.Module:
    path = folder / file
    try:
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError) as error:
        why = "is not there" if isinstance(error, FileNotFoundError) else f"is unreadable: {error}"
        raise KitUsageError(
            str(path), why, "name the directory that holds `agent` and `plugins` of hermes-agent"
        ) from None


def _class(tree: ast.Module, name: str, path: Path) -> ast.ClassDef:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return node
    fix = "its interface has another form: read it, and write a row by hand"
    raise KitUsageError(str(path), f"has no class {name}", fix)


def _methods(owner: ast.ClassDef) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in owner.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node


def _public_methods(owner: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for name, node in _methods(owner):
        if not name.startswith("_"):
            yield name, _parameters(node)


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The parameters behind `self`; those with a default end in `=`."""
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    first = len(plain) - len(given.defaults)
    told = [f"{each.arg}{'=' if at >= first else ''}" for at, each in enumerate(plain)]
    if given.vararg:
        told.append(f"*{given.vararg.arg}")
    elif given.kwonlyargs:
        told.append("*")
    pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    told += [f"{each.arg}{'=' if default is not None else ''}" for each, default in pairs]
    told += [f"**{given.kwarg.arg}"] if given.kwarg else []
    return ", ".join(told[1:] if told[:1] == ["self"] else told)


def _is_abstract(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(each).endswith("abstractmethod") for each in node.decorator_list)


def _assigned(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        yield from (each.id for each in targets if isinstance(each, ast.Name))


def _public(tree: ast.Module) -> Iterator[str]:
    """Names that a provider may import, without those that the module itself imports."""
    defined = [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    for name in [*defined, *_assigned(tree.body)]:
        if not name.startswith("_") and name != "logger":
            yield name


def _calls(manager: ast.ClassDef, hooks: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Calls of hooks on what the manager names a provider."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(manager):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = node.func.value
        if node.func.attr in hooks and isinstance(owner, ast.Name) and owner.id in _PROVIDERS:
            found.setdefault(node.func.attr, set()).add(_arguments(node))
    return {hook: tuple(sorted(ways)) for hook, ways in sorted(found.items())}


def _arguments(node: ast.Call) -> str:
    """The number of arguments by position, and the names of the others."""
    named = sorted(f"{each.arg}=" if each.arg else "**" for each in node.keywords)
    return ", ".join([*(["_"] * len(node.args)), *named])


def _bounds(tree: ast.Module) -> Iterator[tuple[str, float]]:
    for node in tree.body:
        for name in _assigned([node]):
            value = getattr(node, "value", None)
            if _BOUND.fullmatch(name) and isinstance(value, ast.Constant):
                yield name.strip("_"), float(value.value)  # type: ignore[arg-type]  # of such a name


def _offered(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name
        if isinstance(node, ast.ClassDef) and node.name == _COLLECTOR:
            for name, _ in _methods(node):
                if name.startswith("register_") or name == "__getattr__":
                    yield f"ctx.{name}"


def _groups(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        value = getattr(node, "value", None)
        text = value.value if isinstance(value, ast.Constant) else None
        if isinstance(text, str) and any("GROUP" in name for name in _assigned([node])):
            yield text


# -- differences -----------------------------------------------------------------------------------

#: Attribute of an interface to its words in a sentence about one of its items.
_WORDS = {
    "hooks": "the base class",
    "abstract": "the hooks that a provider has to have",
    "names": "agent.memory_provider",
    "manager": "the manager",
    "calls": "the manager's calls",
    "bounds": "the manager's bounds in seconds",
    "loader": "the loader",
    "groups": "the entry-point groups",
}


def differences(before: Interface, now: Interface) -> list[str]:
    """A line for each item that is new, gone or otherwise, in the order of the attributes."""
    return [
        line
        for part, words in _WORDS.items()
        for line in _compared(words, _items(before, part), _items(now, part))
    ]


def _items(interface: Interface, part: str) -> dict[str, str]:
    found = getattr(interface, part)
    if not isinstance(found, Mapping):
        return dict.fromkeys(found, "")
    return {key: " | ".join(v) if isinstance(v, tuple) else str(v) for key, v in found.items()}


def _compared(words: str, before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*before, *now}):
        if name not in before:
            yield f"{words}: {_told(name, now[name])} is new"
        elif name not in now:
            yield f"{words}: {_told(name, before[name])} is gone"
        elif before[name] != now[name]:
            yield f"{words}: {_told(name, before[name])} is now {_told(name, now[name])}"


def _told(name: str, text: str) -> str:
    return f"{name}({text})" if text else name
