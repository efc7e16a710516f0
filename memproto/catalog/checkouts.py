"""The checkout of an entry's repository: the plugin's directory in it, and its commit."""

import contextlib
import os
import subprocess
from pathlib import Path

from memproto.catalog.entries import Entry

_TIMEOUT_S = 60


class NotThere(Exception):
    """The plugin's directory is not in the checkout; the message is the reason."""


def plugin_of(entry: Entry, checkout: str) -> Path:
    """
    The plugin's directory, as a path below `checkout`.

    Raises:
        NotThere: It is missing, no directory, or outside of the checkout.

    """
    if Path(entry.subdir).is_absolute() or ".." in Path(entry.subdir).parts:
        raise NotThere(f"subdir {entry.subdir!r} leads out of the repository")
    path = Path(checkout, entry.subdir)
    if not path.is_dir():
        raise NotThere(f"there is no directory {entry.subdir or '.'!r} in {checkout}")
    if not path.resolve().is_relative_to(Path(checkout).resolve()):
        raise NotThere(f"subdir {entry.subdir!r} leads out of the repository")
    return path


def commit_of(checkout: str) -> str:
    """The commit that the checkout is at; "" if git knows none, or is not installed."""
    return _said(checkout, "rev-parse", "--verify", "HEAD^{commit}")


def changed_in(checkout: str) -> list[str]:
    """Files of the commit that are not as it has them; files beside it may be of a build."""
    said = _said(checkout, "status", "--porcelain", "--untracked-files=no")
    return [line[3:] for line in said.splitlines()]


def _said(checkout: str, *words: str) -> str:
    # No variable of a git that called this, as a hook does, may name another repository. Nor does
    # the checkout say what is run: a stranger wrote its settings.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    quiet = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    safe = ["-c", f"safe.directory={Path(checkout).resolve()}", "-c", "core.fsmonitor=false"]
    command = ["git", *safe, "-C", checkout, *words]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            command,
            env={**kept, **quiet},
            capture_output=True,
            text=True,
            errors="backslashreplace",
            timeout=_TIMEOUT_S,
            check=False,
        )
        return done.stdout.rstrip("\n") if done.returncode == 0 else ""
    return ""
