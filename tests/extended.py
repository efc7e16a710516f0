"""A provider that notes every call and serves the extensions that it is told to."""

import contextlib
import json

from memproto.operations import EXTENSION_HOOKS
from memproto.registry import MemoryProviderRegistry
from tests.virtual import FakeProvider


class Extended(FakeProvider):
    """As `FakeProvider`, with the hooks of `extensions`; keywords of a call follow as a dict."""

    def __init__(self, name="fake", *extensions, declares=None, **hooks) -> None:
        super().__init__(name, **hooks)
        self.declares = {"extensions": list(extensions), **(declares or {})}
        for extension in extensions:
            for hook in EXTENSION_HOOKS[extension]:
                if not hasattr(self, hook):
                    setattr(self, hook, self._hook(hook))

    def _hook(self, hook):
        def call(*args, **keywords):
            return self._called(hook, *args, *([keywords] if keywords else []))

        return call

    def capabilities(self):
        return self.declares


@contextlib.contextmanager
def opened(*providers, session="session", config=None, **kwargs):
    """A registry that is open, and its events; it is shut down at the end."""
    events = []
    registry = MemoryProviderRegistry(on_event=events.append, **kwargs)
    for provider in providers:
        registry.register(provider)
    registry.initialize_all(session, {"home": "/nowhere", **(config or {})})
    try:
        yield registry, events
    finally:
        registry.shutdown_all()


def told(events, hook):
    """(provider, outcome, detail) of each event of a hook, in order."""
    return [(e.provider, e.outcome, e.detail) for e in events if e.hook == hook]


def schema(name, **changes):
    parameters = {
        "type": "object",
        "properties": {"text": {"type": "string"}, "tags": {"type": "array", "items": {}}},
        "required": ["text"],
    }
    return {"name": name, "description": "Keeps a note.", "parameters": parameters} | changes


def offering(name, *schemas, names=None, **hooks):
    """A provider of tools; `names` are those that it declares, by default all it has."""
    names = [one["name"] for one in schemas] if names is None else names
    hooks = {
        "get_tool_schemas": lambda: list(schemas),
        "handle_tool_call": lambda tool, *_: json.dumps({"by": name, "tool": tool}),
    } | hooks
    return Extended(name, "tools", declares={"tool_names": names}, **hooks)
