"""The context that `register(ctx)` gets, which stands in for all that a Hermes host offers."""

import json
import logging
import os
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memproto.adapters.hooks import HookContext

#: Methods of the plugin context of hermes-agent 0.19 that register, beyond those that the host's
#: own loader of memory plugins offers.
_REGISTERING = frozenset(
    {
        *("register_command", "register_context_engine", "register_image_gen_provider"),
        *("register_dashboard_auth_provider", "register_video_gen_provider", "register_platform"),
        *("register_web_search_provider", "register_browser_provider", "register_secret_source"),
        *("register_tts_provider", "register_transcription_provider", "register_middleware"),
        *("register_slack_action_handler", "register_auxiliary_task", "register_skill"),
    }
)


class PluginContext:
    """
    Takes the provider, and accepts whatever else a plugin registers or asks for.

    It answers as a host without a session does; a member that no host is known to have is accepted
    as well, and remembered.

    Attributes:
        providers: The objects that were registered as a memory provider, in order.
        hooks: The names under which callbacks were registered.
        registered: The same with the callbacks, for a plugin that has no provider.
        tools: The names of the tools that were registered.
        offered: The texts that were handed to what is no part of any known host's context.
        unknown: Names that were asked for and are no part of any known host's context.
        beyond: Names that were asked for and that the loader of memory plugins does not offer.
        manifest: As a host reads it from plugin.yaml, with the plugin's name alone.
        config: The plugin's settings: none.
        hermes_home: The directory that HERMES_HOME names.

    """

    def __init__(self, name: str = "", folder: Path | None = None) -> None:
        self.providers: list[Any] = []
        self.hooks: list[str] = []
        self.registered = HookContext()
        self.tools: list[str] = []
        self.offered: set[str] = set()
        self.unknown: set[str] = set()
        self.beyond: set[str] = set()
        self.name = name
        self.path = str(folder or "")
        self.manifest = _manifest(name, self.path)
        self.config: dict[str, Any] = {}
        self.settings: dict[str, Any] = {}
        self.hermes_home = Path(os.environ.get("HERMES_HOME", Path.home() / ".hermes"))
        self.profile_name = "default"
        self.logger = logging.getLogger(f"hermes.plugins.{name or 'memory'}")

    def register_memory_provider(self, provider: Any, *_: Any, **__: Any) -> None:
        """Take the provider."""
        self.providers.append(provider)

    def register_hook(self, hook_name: str = "", callback: Any = None, *_: Any, **__: Any) -> None:
        """Take a function for a hook of the agent's loop."""
        self.hooks.append(str(hook_name))
        self.registered.register_hook(str(hook_name), callback)

    def register_tool(self, name: Any = "", *_: Any, **__: Any) -> None:
        """Take the name of a tool, given by itself or in its schema."""
        named = name.get("name") if isinstance(name, dict) else name
        self.tools.append(str(named))

    def register_cli_command(self, *_: Any, **__: Any) -> None:
        """Accept a command line."""

    def inject_message(self, *_: Any, **__: Any) -> bool:
        """Refuse, as a host without a running agent does."""
        self.beyond.add("inject_message")
        return False

    def dispatch_tool(self, tool_name: str = "", *_: Any, **__: Any) -> str:
        """Answer with an error, as a host does for a tool that it does not have."""
        self.beyond.add("dispatch_tool")
        return json.dumps({"error": f"unknown tool: {tool_name}"})

    def get_config(self, _: str = "", default: Any = None) -> Any:
        """The default of a setting: there are no settings."""
        self.unknown.add("get_config")
        return default

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Stand in for any other part of the context: it takes anything and does nothing."""
        if name.startswith("__"):
            raise AttributeError(name)
        is_known = name in _REGISTERING or name == "llm"
        (self.beyond if is_known else self.unknown).add(name)
        return Accepting(set() if is_known else self.offered)


class Accepting:
    """
    A part of the context that is not there: called it gives None, asked it gives another.

    The use that a newer host makes of it is not known; the texts in a call may be names of hooks.
    """

    def __init__(self, offered: set[str]) -> None:
        self._offered = offered

    def __call__(self, *given: Any, **named: Any) -> None:
        """Accept the call."""
        self._offered.update(item for item in (*given, *named.values()) if isinstance(item, str))

    def __getattr__(self, name: str) -> "Accepting":
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def _manifest(name: str, path: str) -> types.SimpleNamespace:
    return types.SimpleNamespace(
        name=name,
        key=name,
        version="",
        description="",
        author="",
        kind="exclusive",
        source="user",
        path=path,
        requires_env=[],
        provides_tools=[],
        provides_hooks=[],
    )
