"""
The registrations of a plugin, seen in a process of their own: `python -m memproto.catalog.probe`.

The plugin is a stranger's: the process is confined to loopback, and its homes are empty. The answer
goes to a descriptor that the plugin does not know, as JSON: `tools`, `hooks`, `middleware` that
register(ctx) registered; `served` tools and the `members` of the provider; or `fault`.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from memproto import loading
from memproto.bindings import hermes_agent
from memproto.errors import MemprotoError
from memproto.loading.context import PluginContext
from memproto.loading.directories import import_directory
from memproto.testing.processes import confinement
from memproto.testing.settings import credentials

_TIMEOUT_S = 60

#: The answer of a plugin is not read further: a stranger's text has no end that it must have.
_MOST_BYTES = 1 << 20


def probed(plugin: Path, release: str = "") -> dict[str, Any]:
    """
    The answer for a plugin's directory; blocks for at most 60 s.

    `release` of Hermes Agent is the one of `--memproto-hermes`, or "".
    """
    with (
        tempfile.TemporaryDirectory(prefix="memproto-probe-") as home,
        tempfile.TemporaryFile() as at,
    ):
        plain, _ = credentials.split(dict(os.environ))
        environment = {**plain, "HOME": home, "HERMES_HOME": f"{home}/hermes"}
        words = [sys.executable, "-P", "-m", __spec__.name, str(at.fileno()), str(plugin), release]
        try:
            done = subprocess.run(
                words,
                cwd=home,
                env=environment,
                pass_fds=[at.fileno()],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"fault": f"register(ctx) did not return within {_TIMEOUT_S} s"}
        at.seek(0)
        said = at.read(_MOST_BYTES)
    with contextlib.suppress(ValueError):
        answer = json.loads(said)
        if isinstance(answer, dict):
            return answer
    return {"fault": f"the process of register(ctx) ended with {done.returncode} and no answer"}


class _Context(PluginContext):
    """Remembers registrations of middleware as well."""

    def __init__(self, plugin: Path) -> None:
        super().__init__(plugin.name, plugin)
        self.middleware: list[str] = []

    def register_middleware(self, kind: Any = "", *_: Any, **__: Any) -> None:
        """Take the kind."""
        self.middleware.append(str(kind))


def _answer(plugin: Path) -> dict[str, Any]:
    try:
        module = import_directory(str(plugin), plugin)
    except MemprotoError as error:
        return {"fault": f"it cannot be imported: {error}"}
    register = getattr(module, "register", None)
    if not callable(register):
        return {"fault": "it has no register(ctx)"}
    context = _Context(plugin.resolve())
    try:
        register(context)
    except Exception as error:  # the author's code
        return {"fault": f"register(ctx) raised {type(error).__name__}: {error}"}
    return {
        "tools": context.tools,
        "hooks": context.hooks,
        "middleware": context.middleware,
        **_of_provider(str(plugin)),
    }


def _of_provider(target: str) -> dict[str, list[str]]:
    """The tools and the members of a provider that was built and not started."""
    try:
        loaded = loading.load(target)
        provider = loaded.build()
        members = [name for name in dir(provider) if not name.startswith("_")]
        schemas = provider.get_tool_schemas() if "get_tool_schemas" in members else []
        found = [item.get("name") for item in schemas if isinstance(item, dict)]
        return {"served": [name for name in found if isinstance(name, str)], "members": members}
    except Exception:  # the author's code, which requirements of the kit judge
        return {"served": [], "members": []}


def _main(descriptor: int, plugin: Path, release: str) -> None:
    confinement.confine()
    hermes_agent.choose(release)
    hermes_agent.import_ahead(str(plugin))
    with contextlib.redirect_stdout(sys.stderr):
        answer = _answer(plugin)
    os.write(descriptor, json.dumps(answer).encode("utf-8", "backslashreplace"))
    # Threads of the plugin are not waited for.
    os._exit(0)


if __name__ == "__main__":
    _main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
