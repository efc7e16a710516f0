"""
The checks on an entry and its plugin, under the names that `hermes plugins validate` gives them.

Written from what that command checks, so that it need not be installed. It asks nothing of a memory
hook, which the requirements of the specification do, and its security scan and its checks of
desktop plugins are not repeated. Checks that it does not have are `catalog entry`, `pinned commit`,
`entry capabilities` and `declared and served`.
"""

import dataclasses
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

from memproto.adapters.hermes_base import RESERVED_TOOLS
from memproto.catalog import checkouts, entries
from memproto.catalog.entries import KINDS, Entry
from memproto.catalog.probe import probed
from memproto.errors import KitUsageError

Outcome = Literal["pass", "fail", "warn"]

#: Kinds of registrations to the list of plugin.yaml that declares them.
_REGISTERED = {
    "tools": "provides_tools",
    "hooks": "provides_hooks",
    "middleware": "provides_middleware",
}

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_CLAUSE = re.compile(r"(>=|<=|==|!=|>|<|~=)?\s*v?\d+(\.\d+)*[0-9A-Za-z.+-]*")
_TYPES = frozenset(
    {
        *("str", "string", "int", "integer", "float", "number", "bool", "boolean"),
        *("list", "array", "dict", "mapping", "map", "object"),
    }
)


@dataclasses.dataclass(frozen=True)
class Check:
    """
    One check of the gate.

    Attributes:
        name: The name that authors know it by.
        outcome: `fail` closes the gate; `warn` does not.
        detail: The fact, in one sentence without a full stop.
        file: The file that has to change, as it was typed or below the checkout; "" for none.

    """

    name: str
    outcome: Outcome
    detail: str
    file: str = ""


def of_entry(entry: Entry, checkout: str) -> Iterator[Check]:
    """The entry itself, and the commit that the checkout is at."""
    wrong = "; ".join(entry.faults)
    said = wrong or f"{entry.name}: name, repo and sha are as a catalog takes them"
    yield Check("catalog entry", "fail" if wrong else "pass", said, entry.file)
    commit = checkouts.commit_of(checkout)
    if not commit:
        fault = f"{checkout} is no checkout of git's, so that its commit is not known"
        yield Check("pinned commit", "warn", fault, entry.file)
    elif commit != entry.sha:
        fault = f"{checkout} is at {commit}, and the entry pins {entry.sha or 'nothing'}"
        yield Check("pinned commit", "fail", fault, entry.file)
    elif changed := checkouts.changed_in(checkout):
        fault = f"{checkout} holds changes beside the commit: {_listed(changed)}"
        yield Check("pinned commit", "fail", fault)
    else:
        yield Check("pinned commit", "pass", f"{checkout} is at {commit}")


def of_plugin(entry: Entry, plugin: Path, release: str = "") -> Iterator[Check]:
    """plugin.yaml by itself, and declared against registered; starts a process, and blocks."""
    file = next((item for item in _manifests(plugin) if item.is_file()), None)
    if file is None:
        yield Check("manifest", "fail", f"there is no plugin.yaml in {plugin}", str(plugin))
        return
    try:
        manifest = entries.mapping(file, str(file), "write plugin.yaml anew")
    except KitUsageError as error:
        yield Check("manifest", "fail", f"plugin.yaml {error.fault}", str(file))
        return
    yield Check("manifest", "pass", "plugin.yaml can be parsed", str(file))
    for name, wrong, right in (
        ("manifest fields", _of_fields(manifest), "name, version and description are there"),
        ("requires_hermes", _of_release(manifest), "it is a range of versions, or not declared"),
        ("config schema", _of_config(manifest), "it has the form of one, or is not declared"),
        ("requires_env", _of_variables(manifest), "each variable is in capitals"),
    ):
        yield Check(name, "fail" if wrong else "pass", "; ".join(wrong) or right, str(file))
    yield from _of_registrations(entry, manifest, plugin, file, release)


def _manifests(plugin: Path) -> tuple[Path, ...]:
    return plugin / "plugin.yaml", plugin / "plugin.yml"


def _of_fields(manifest: dict[str, Any]) -> list[str]:
    lacks = [name for name in ("name", "version", "description") if not manifest.get(name)]
    return [f"plugin.yaml lacks {', '.join(lacks)}"] if lacks else []


def _of_release(manifest: dict[str, Any]) -> list[str]:
    clauses = str(manifest.get("requires_hermes") or "").split(",")
    wrong = [
        part.strip() for part in clauses if part.strip() and not _CLAUSE.fullmatch(part.strip())
    ]
    return [f"requires_hermes {part!r} is no version, as in '>=0.19'" for part in wrong]


def _of_config(manifest: dict[str, Any]) -> list[str]:
    schema = manifest.get("config_schema")
    if schema in (None, [], {}):
        return []
    if not isinstance(schema, dict):
        return ["config_schema is no mapping of a key to its form"]
    return [fault for key, form in schema.items() for fault in _of_form(key, form)]


def _of_form(key: Any, form: Any) -> Iterator[str]:
    if not isinstance(form, dict):
        yield f"config_schema.{key} is no mapping, such as {{type: str}}"
        return
    kind, required = form.get("type"), form.get("required")
    if kind is not None and str(kind).lower() not in _TYPES:
        yield f"config_schema.{key} has the type {kind!r}, which is no type of a setting"
    if required is not None and not isinstance(required, bool):
        yield f"config_schema.{key}.required is neither true nor false"


def _of_variables(manifest: dict[str, Any]) -> list[str]:
    listed = manifest.get("requires_env") or []
    if not isinstance(listed, list):
        return ["requires_env is no list"]
    named = [str(item.get("name") or "") if isinstance(item, dict) else item for item in listed]
    wrong = [name for name in named if not isinstance(name, str) or not _VARIABLE.fullmatch(name)]
    return [f"requires_env names {name!r}, which is not in capitals" for name in wrong]


# -- declared, registered, served ------------------------------------------------------------------


def _of_registrations(
    entry: Entry, manifest: dict[str, Any], plugin: Path, file: Path, release: str
) -> Iterator[Check]:
    found = probed(plugin.absolute(), release) if (plugin / "__init__.py").is_file() else {}
    fault = found.get("fault", "" if found else f"there is no __init__.py in {plugin}")
    if fault:
        yield Check("capability probe", "fail", str(fault), str(plugin))
        return
    yield Check("capability probe", "pass", "register(ctx) ran in a process of its own")
    for kind, key in _REGISTERED.items():
        declared = entries.names(manifest.get(key))
        yield _declared(kind, key, declared, found, file)
    tools = {*entries.names(manifest.get("provides_tools")), *found["tools"], *found["served"]}
    taken = sorted(tools & RESERVED_TOOLS)
    said = f"the host has tools of its own named {_listed(taken)}" if taken else "no name is taken"
    yield Check("built-in tool collisions", "fail" if taken else "pass", said, str(file))
    yield _of_capabilities(entry, manifest, plugin, found)


def _declared(kind: str, key: str, declared: list[str], found: dict[str, Any], file: Path) -> Check:
    """Registrations that plugin.yaml does not name; the reverse is `declared and served`."""
    more = sorted(set(found[kind]) - set(declared))
    said = f"{_listed(more)} registered, and not in {key}" if more else "all are declared"
    return Check(f"declared {kind}", "fail" if more else "pass", said, str(file))


def _of_capabilities(
    entry: Entry, manifest: dict[str, Any], plugin: Path, found: dict[str, Any]
) -> Check:
    """The entry's lists against the plugin's: a user agrees to those of the entry."""
    less, more = [], []
    for kind in KINDS:
        listed = set(entry.capabilities[kind])
        own = _own(kind, manifest, found)
        due = own if kind == "requires_env" else _registered(kind, found)
        less += [f"{kind}: {name}" for name in sorted(due - listed)]
        more += [f"{kind}: {name}" for name in sorted(listed - own)]
    if less:
        said = f"the plugin has what the entry does not name ({_listed(less)})"
        return Check("entry capabilities", "fail", said, entry.file)
    # A provider may offer tools in a session only, whose names are then in its source.
    source = _source(plugin)
    strange = [line for line in more if line.partition(": ")[2] not in source]
    if strange:
        said = f"the entry names what is nowhere in the plugin ({_listed(strange)})"
        return Check("entry capabilities", "fail", said, entry.file)
    if more:
        said = f"the entry names what plugin.yaml and register(ctx) do not ({_listed(more)})"
        return Check("entry capabilities", "warn", said, entry.file)
    return Check("entry capabilities", "pass", "the entry names what the plugin has", entry.file)


def _own(kind: str, manifest: dict[str, Any], found: dict[str, Any]) -> set[str]:
    """All that stands for a name of an entry's list, declared, registered or served."""
    own = {*entries.names(manifest.get(kind)), *_registered(kind, found)}
    if kind == "provides_tools":
        own |= set(found["served"])
    if kind == "provides_hooks":
        own |= {*entries.names(manifest.get("hooks")), *found["members"]}
    return own


def _registered(kind: str, found: dict[str, Any]) -> set[str]:
    return {name for key, listed in _REGISTERED.items() if listed == kind for name in found[key]}


def _source(plugin: Path) -> str:
    files = sorted(plugin.rglob("*.py"))
    return "\n".join(file.read_text("utf-8", errors="replace") for file in files)


def of_report(rows: Iterable[dict[str, Any]], rule: str) -> Check:
    """Declared against served, as the requirement `rule` saw the hooks and tools of plugin.yaml."""
    name = "declared and served"
    row = next((row for row in rows if row["id"] == rule), None)
    if row is None or row["outcome"] == "not_run":
        return Check(name, "warn", f"{rule} was not run")
    if row["outcome"] in ("fail", "warn"):
        return Check(name, "fail", f"{rule}: {row['observed']}")
    if row["outcome"] in ("pass", "not_applicable"):
        return Check(name, "pass", f"{rule}: {row['reason'] or 'each name stands for something'}")
    return Check(name, "warn", f"{rule} is open: {row['reason'] or row['observed']}")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
