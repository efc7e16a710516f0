"""An entry of a catalog: one YAML file that pins a plugin to a commit of its repository."""

import dataclasses
import importlib
import re
from pathlib import Path
from typing import Any

from memproto.errors import KitUsageError, MissingPackage

_NAME = re.compile(r"[a-z0-9_-]{1,64}")
_SHA = re.compile(r"[0-9a-f]{40}")
_TIERS = ("official", "community")

#: The lists of an entry's `capabilities`.
KINDS = ("provides_tools", "provides_hooks", "provides_middleware", "requires_env")

#: The category of an entry whose plugin is a memory provider.
MEMORY = "memory"


@dataclasses.dataclass(frozen=True)
class Entry:
    """
    The parts of an entry that its gate needs; "" for one that is not there.

    Attributes:
        file: Its file, as it was typed.
        name: The key of the catalog.
        repo: The address of the plugin's repository.
        sha: The commit that is pinned.
        subdir: The plugin's directory in the repository.
        category: The kind of plugin.
        capabilities: Names by the list that holds them, for each list of `KINDS`.
        faults: Reasons for which a catalog does not take the entry in.

    """

    file: str
    name: str
    repo: str
    sha: str
    subdir: str
    category: str
    capabilities: dict[str, list[str]]
    faults: tuple[str, ...]


def read(file: str, option: str = "--memproto-catalog") -> Entry:
    """
    The entry in a file; what is wrong with its values is among its faults.

    Raises:
        KitUsageError: There is no such file, or it is no YAML mapping.
        MissingPackage: PyYAML is not installed.

    """
    data = mapping(file, f"{option}={file}", "name the YAML file of one entry")
    texts = {
        key: str(data.get(key) or "").strip()
        for key in ("name", "repo", "sha", "subdir", "category")
    }
    texts["sha"] = texts["sha"].lower()
    named = data.get("capabilities")
    lists = named if isinstance(named, dict) else {}
    return Entry(
        file=file,
        **texts,
        capabilities={kind: names(lists.get(kind)) for kind in KINDS},
        faults=tuple(_faults(texts, str(data.get("tier") or _TIERS[1]))),
    )


def names(listed: Any) -> list[str]:
    """The names of a list, as texts or as mappings with a `name`; [] for what is no list."""
    found = listed if isinstance(listed, list) else []
    named = [item.get("name") if isinstance(item, dict) else item for item in found]
    return [item for item in named if isinstance(item, str)]


def mapping(file: str | Path, what: str, fix: str) -> dict[str, Any]:
    """
    The mapping that a YAML file holds.

    Raises:
        KitUsageError: It cannot be read, or holds another thing.
        MissingPackage: PyYAML is not installed.

    """
    try:
        yaml = importlib.import_module("yaml")
    except ModuleNotFoundError:
        fault = "is YAML, which needs PyYAML to be read"
        raise MissingPackage(what, fault, "pip install 'memproto[kit]'") from None
    try:
        found = yaml.safe_load(Path(file).read_text("utf-8-sig"))
    except OSError as error:
        raise KitUsageError(what, f"cannot be read ({error.strerror})", fix) from None
    except UnicodeError as error:
        raise KitUsageError(what, f"is no UTF-8: {error}", "save it as UTF-8") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or getattr(error, "reason", None)
        line = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        mend = f"mend it{line}" if mark else fix
        raise KitUsageError(what, f"is no YAML{line}: {why or 'it cannot be read'}", mend) from None
    if not isinstance(found, dict):
        raise KitUsageError(what, "holds no mapping of keys to values", fix)
    return found


def _faults(texts: dict[str, str], tier: str) -> list[str]:
    found = []
    if not _NAME.fullmatch(texts["name"]):
        found.append(f"name {texts['name']!r} is not 1 to 64 of a-z, 0-9, _ and -")
    if not texts["repo"].startswith("https://"):
        found.append(f"repo {texts['repo']!r} does not begin with https://")
    if not _SHA.fullmatch(texts["sha"]):
        found.append(f"sha {texts['sha']!r} is not the 40 hexadecimal digits of a commit")
    if tier not in _TIERS:
        found.append(f"tier {tier!r} is none of {', '.join(_TIERS)}")
    return found
