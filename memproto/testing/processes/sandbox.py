"""
Fresh places for a check: HOME, temporary files, working directory, the provider's home.

The operator's own home is never read or written: everything that points to it is replaced, and
nothing of the environment goes through but what a program needs to run at all.
"""

import contextlib
import dataclasses
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from memproto.adapters.homes import own_folder
from memproto.bindings.hermes_agent import RELEASE_VARIABLE

#: Variables without which an interpreter or its native libraries may not start.
_KEPT = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONHASHSEED",
    "PYTHONUTF8",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "SYSTEMROOT",
    "MEMPROTO_TIME_SCALE",
    RELEASE_VARIABLE,
)

#: The variables that name the places of a child, in which alone two of a target's differ.
PLACES = frozenset(
    (
        *("HOME", "USERPROFILE", "HERMES_HOME", "TMPDIR", "TEMP", "TMP"),
        *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"),
        "XDG_RUNTIME_DIR",
    )
)


#: Nothing listens there: a request that respects proxies fails at once instead of leaving.
NOWHERE = ("127.0.0.1", 9)
_DEAD_PROXY = f"http://{NOWHERE[0]}:{NOWHERE[1]}"


def places(root: Path) -> dict[str, Path]:
    """The directories of one check below `root`, created."""
    found = {name: root / name for name in ("user", "tmp", "work", "memory")}
    for path in found.values():
        own_folder(path)
    return found


def environment(root: Path, extra: dict[str, str]) -> dict[str, str]:
    """The whole environment of a child whose places are below `root`."""
    at = places(root)
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    if "PYTHONPATH" in kept:
        # It may be relative to the directory of the call, which is not that of a child.
        kept["PYTHONPATH"] = os.pathsep.join(
            map(os.path.abspath, kept["PYTHONPATH"].split(os.pathsep))
        )
    user = str(at["user"])
    fresh = {
        "HOME": user,
        "USERPROFILE": user,
        "TMPDIR": str(at["tmp"]),
        "TEMP": str(at["tmp"]),
        "TMP": str(at["tmp"]),
        "XDG_CONFIG_HOME": f"{user}/.config",
        "XDG_DATA_HOME": f"{user}/.local/share",
        "XDG_CACHE_HOME": f"{user}/.cache",
        "XDG_STATE_HOME": f"{user}/.local/state",
        "XDG_RUNTIME_DIR": str(at["tmp"]),
        "HERMES_HOME": str(at["memory"]),
        "HERMES_DISABLE_LAZY_INSTALLS": "1",
        "HF_HUB_OFFLINE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONFAULTHANDLER": "",
        "NO_PROXY": "localhost,127.0.0.1,::1",
    }
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), _DEAD_PROXY)
    lower = {
        name.lower(): value for name, value in {**proxies, "NO_PROXY": fresh["NO_PROXY"]}.items()
    }
    return {**kept, **fresh, **proxies, **lower, **extra}


@dataclasses.dataclass(frozen=True)
class Standing:
    """
    The place where a process stands.

    Attributes:
        variables: Its whole environment.
        folder: Its working directory.

    """

    variables: dict[str, str]
    folder: str

    @classmethod
    def now(cls) -> "Standing":
        """The place and the environment of this process at present."""
        return cls(dict(os.environ), str(Path.cwd()))

    def take(self) -> None:
        """Have this process stand there; it keeps nothing of the environment that it has now."""
        for name in set(os.environ) - set(self.variables):
            del os.environ[name]
        os.environ.update(self.variables)
        tempfile.tempdir = None
        os.chdir(self.folder)


def enter(root: Path, extra: dict[str, str]) -> None:
    """Make the places below `root` this process's own, as a fresh process would find them."""
    Standing(environment(root, extra), str(places(root)["work"])).take()


@contextlib.contextmanager
def entered(root: Path, extra: dict[str, str]) -> Iterator[None]:
    """Have the places below `root` in the body, and afterwards what there was before."""
    before = Standing.now()
    enter(root, extra)
    try:
        yield
    finally:
        before.take()


class HostHome:
    """
    The directory that a binding's variable names, as HERMES_HOME in a Hermes host: it stands.

    A thread of a provider that reads the variable a moment after a hook is to find in it what the
    hook found. Only the end of a check puts back what was there, unless the provider changed it.
    """

    def __init__(self) -> None:
        self._variable = self._named = ""
        self._before: str | None = None

    def name(self, variable: str, home: str) -> None:
        """Have the variable name a directory from now on; "" for either leaves it as it is."""
        now = os.environ.get(variable) if variable else None
        if not variable or home in ("", now):
            return
        if not self._named:
            self._variable, self._before = variable, now
        self._named = home
        os.environ[variable] = home

    def put_back(self) -> None:
        """Have it name what it did before, if it names what was asked for last."""
        named, self._named = self._named, ""
        if not named or os.environ.get(self._variable) != named:
            return
        if self._before is None:
            del os.environ[self._variable]
        else:
            os.environ[self._variable] = self._before


#: There is one environment in a process.
HOST_HOME = HostHome()


def search_path(directory: Path) -> list[str]:
    """Places from which a target in `directory` may be imported: the directory and its ./src."""
    return [str(path) for path in (directory, directory / "src") if path.is_dir()]


def interpreter() -> str:
    """The interpreter that children run."""
    return sys.executable
