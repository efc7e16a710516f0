"""
Trust in a settings file that the operator has not written: the part that the kit takes of it.

A package is what is judged. Its own file may say how its provider is built and configured, and
nothing by which it would be judged more gently, get what is not its own, or run outside of the
kit's processes.
"""

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memproto.setup import variables

#: Keys that are the operator's alone: a program beside the run, exceptions, and bounds.
OPERATORS = ("service", "waivers", "caches", "max_hook_calls", "memory_mb", "command", "cwd")

#: Keys that name a function, which has to be of the package itself.
_FUNCTIONS = ("factory", "warm", "read_back", "settle", "cleanup")

#: Variables by which the kit keeps a provider in its places and away from the network.
_PLACES = re.compile(
    r"HOME|USERPROFILE|HERMES_.*|TMPDIR|TEMP|TMP|XDG_.*|(HTTP|HTTPS|FTP|ALL|NO)_PROXY"
    r"|SSL_.*|OPENSSL_.*|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|HF_HUB_OFFLINE"
    r"|MEMPROTO_.*|PYTEST_.*|COV_.*|COVERAGE_.*|GITHUB_.*|RUNNER_.*|ACTIONS_.*|CI",
    re.IGNORECASE,
)

#: Keys of the config that the kit sets, as a host does: a provider is not to choose its own.
_HOSTS = frozenset(
    (
        *("home", "host_home", "hermes_home", "protocol", "deadlines", "limits", "platform"),
        *("agent_context", "agent_identity", "agent_workspace", "user_id", "session_key"),
    )
)

Table = dict[str, Any]


def is_the_kits_own(path: Path) -> bool:
    """True if a file lies in memproto's own distribution: by its place, whatever it is called."""
    # In a checkout they stand elsewhere than in the wheel; where, memproto's own import knows.
    found = importlib.util.find_spec("memproto.reference_providers")
    folders = (found and found.submodule_search_locations) or ()
    return any(path.resolve().is_relative_to(Path(folder).resolve()) for folder in folders)


def of_package(table: Table, is_own: Callable[[str], bool]) -> tuple[Table, list[str]]:
    """
    The part of a package's table that is taken, and the keys that are not.

    `is_own` says whether "module:function" is code of the package.
    """
    return _sifted(
        table,
        lambda key, value: _is_harmless(key, value, is_own),
        {"env": _is_harmless_env, "config": lambda name, _: name not in _HOSTS},
    )


def from_above(table: Table) -> tuple[Table, list[str]]:
    """The same of a file above the working directory: all but the interpreter's variables."""
    return _sifted(
        table,
        _sets_no_interpreter,
        {"env": lambda name, _: not variables.is_interpreters(name)},
    )


def _sifted(
    table: Table, takes: Callable[[str, Any], bool], takes_of: dict[str, Callable[[str, Any], bool]]
) -> tuple[Table, list[str]]:
    """`takes` is asked for each key, and `takes_of` for each name in the tables of some keys."""
    taken: Table = {}
    refused: list[str] = []
    for key, value in table.items():
        if key in takes_of and isinstance(value, dict):
            kept = {name: item for name, item in value.items() if takes_of[key](name, item)}
            taken |= {key: kept} if kept or not value else {}
            refused += [f"{key}.{name}" for name in value if name not in kept]
        elif takes(key, value):
            taken[key] = value
        else:
            refused.append(key)
    return taken, refused


def _is_harmless(key: str, value: Any, is_own: Callable[[str], bool]) -> bool:
    if key in OPERATORS:
        return False
    if key in _FUNCTIONS and isinstance(value, str):
        return is_own(value)
    return _names_no(key, value, _is_kept_from_packages)


def _is_harmless_env(name: str, value: Any) -> bool:
    # A value that is no text takes a variable of the operator's.
    return isinstance(value, str) and not _is_kept_from_packages(name)


def _is_kept_from_packages(name: str) -> bool:
    return variables.is_interpreters(name) or _PLACES.fullmatch(name) is not None


def _sets_no_interpreter(key: str, value: Any) -> bool:
    if key == "caches" and isinstance(value, list):
        return not any(isinstance(item, str) and variables.is_interpreters(item) for item in value)
    return _names_no(key, value, variables.is_interpreters)


def _names_no(key: str, value: Any, is_kept: Callable[[str], bool]) -> bool:
    """True if `backend` names no variable that is kept from the file."""
    if key != "backend" or not isinstance(value, dict):
        return True
    name = value.get("env")
    return not (isinstance(name, str) and is_kept(name))
