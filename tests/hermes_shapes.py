"""Providers in the shapes of the Hermes binding: its base class, a bare one, a full one."""


class HermesBase:
    """The shape of the Hermes base class: inherited hooks that do nothing."""

    def handle_tool_call(self, tool_name, args, **kwargs):
        raise NotImplementedError(tool_name)

    def prefetch(self, query, *, session_id=""):
        return ""

    def system_prompt_block(self):
        return ""

    def queue_prefetch(self, query, *, session_id=""):
        """Does nothing."""

    def on_session_end(self, messages):
        """Does nothing."""

    def on_session_switch(self, new_session_id, *, parent_session_id="", reset=False, **kwargs):
        """Does nothing."""

    def on_pre_compress(self, messages):
        return ""

    def backup_paths(self):
        return []


HermesBase.__name__ = "MemoryProvider"


class Bare:
    """Duck-typed, with as little as a Hermes provider can have; notes what it is called with."""

    name = "bare"

    def __init__(self):
        self.calls = []

    def is_available(self):
        return True

    def initialize(self, session_id, **kwargs):
        self.calls.append(("initialize", session_id, kwargs))

    def prefetch(self, query, *, session_id=""):
        return ""


class Full(HermesBase):
    """Inherits the base class and has three hooks of its own beside the required ones."""

    name = "full"
    schemas = ()

    def is_available(self):
        return True

    def initialize(self, session_id, **kwargs):
        """Nothing to set up."""

    def get_tool_schemas(self):
        return list(self.schemas)

    def on_session_end(self, messages):
        """Its own, and does nothing."""

    def backup_paths(self):
        return ["/elsewhere"]

    def on_pre_compress(self, messages):
        return "notes"
