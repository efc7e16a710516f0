"""Native providers that note what a Hermes host brings about, and the host that opens them."""

import pytest

from memproto.adapters.hermes import to_hermes
from memproto.operations import EXTENSION_HOOKS

EVERYTHING = [name for name in EXTENSION_HOOKS if name != "checkpoint"]


class Plain:
    """Native, with the nine members; notes each call."""

    name = "plain"
    extensions = ()
    recalled = None
    fails = None

    def __init__(self):
        self.calls = []

    def _note(self, hook, *args, **kwargs):
        self.calls.append((hook, *args, *([kwargs] if kwargs else [])))
        if self.fails:
            raise self.fails

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        self.session_key, self.config = session_key, config

    def capabilities(self):
        return {"extensions": list(self.extensions), "tool_names": ["plain_add", "memory"]}

    def enrich_turn(self, user_message, messages):
        self._note("enrich_turn", user_message, messages)
        return self.recalled

    def on_memory_write(self, action, target, content, old_text=None):
        self._note("on_memory_write", action, target, content, old_text)

    def on_turn_complete(self, user_message, assistant_response):
        self._note("on_turn_complete", user_message, assistant_response)

    def on_compress(self, messages, compression_count):
        self._note("on_compress", messages, compression_count)

    def shutdown(self):
        self.calls.append(("shutdown",))


class Rich(Plain):
    """With every extension that a Hermes host has a hook for, and `record`."""

    extensions = EVERYTHING
    items = 2

    def get_tool_schemas(self):
        return [{"name": name, "parameters": {}} for name in ("plain_add", "memory", "later")]

    def handle_tool_call(self, tool_name, args, **kwargs):
        self._note("handle_tool_call", tool_name, args)
        return "{}"

    def queue_prefetch(self, query, *, session_id=""):
        self._note("queue_prefetch", query, session_id)

    def on_turn_start(self, turn_number, message, **kwargs):
        self._note("on_turn_start", turn_number, message)

    def on_session_end(self, messages):
        self._note("on_session_end", messages)

    def on_session_switch(self, new_session_id, **kwargs):
        self._note("on_session_switch", new_session_id, **kwargs)

    def on_delegation(self, task, result, *, child_session_id="", **kwargs):
        self._note("on_delegation", task, result, child_session_id)

    def get_config_schema(self):
        return [{"key": "region"}]

    def save_config(self, values, home):
        self._note("save_config", values, home)

    def post_setup(self, home, config):
        self._note("post_setup", home, config)

    def backup_paths(self):
        return ["/elsewhere"]

    def system_prompt_block(self):
        return "Static."

    def recall_status(self):
        return {"state": "ok", "recalled": self.items}

    def unavailable_reason(self):
        return "no key"

    def compress_notes(self, messages):
        return f"{len(messages)} told"

    def record(self, turn):
        self._note("record", turn)


@pytest.fixture
def hermes(tmp_path):
    """Opens a provider as Hermes does; gives the adapter."""

    def opened(provider, **keywords):
        adapter = to_hermes(provider)
        keywords = {"platform": "cli", "agent_context": "primary"} | keywords
        adapter.initialize(session_id="s1", hermes_home=str(tmp_path), **keywords)
        return adapter

    return opened
