"""
Two sessions of an exported provider under the installed hermes-agent, by its loader and manager.

Run in an environment of its own: `python hermes_session.py NAME`; HERMES_HOME holds the plugin.
Prints one JSON document about what was seen.
"""

import json
import logging
import sys

from agent.memory_manager import MemoryManager
from agent.memory_provider import MemoryProvider
from plugins.memory import discover_memory_providers, load_memory_provider

CONVERSATION = [
    {"role": "user", "content": [{"type": "text", "text": "The pilot is called Marisol."}]},
    {"role": "assistant", "content": None, "tool_calls": []},
]


class Complaints(logging.Handler):
    """The host's complaints about the provider."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def started(name, session_id):
    """A manager with the provider, as the agent's start makes it."""
    provider = load_memory_provider(name)
    manager = MemoryManager()
    if provider.is_available():
        manager.add_provider(provider)
    keywords = {"platform": "telegram", "agent_context": "primary", "user_id": "7"}
    manager.initialize_all(session_id=session_id, agent_workspace="hermes", **keywords)
    return provider, manager


def first_session(name):
    """Everything that a host brings about, and what came of it."""
    provider, manager = started(name, "s1")
    seen = {"is_subclass": isinstance(provider, MemoryProvider), "name": provider.name}
    seen["prompt"] = manager.build_system_prompt()
    seen["tools"] = [schema["name"] for schema in manager.get_all_tool_schemas()]
    manager.on_turn_start(1, "Where is the ferry?", model="m")
    seen["empty"] = manager.prefetch_all("Where is the ferry?", session_id="s1")
    manager.sync_all("The ferry is called Ondine.", "Noted.", session_id="s1")
    manager.queue_prefetch_all("The ferry is called Ondine.", session_id="s1")
    for tool in seen["tools"]:
        call = {"action": "add", "target": "memory", "content": "Tide clerk: Osric."}
        args = call if tool.endswith("memory") else {"text": "Tide clerk: Osric."}
        seen[tool] = json.loads(manager.handle_tool_call(tool, args))
    write_memory(manager)
    seen["notes"] = manager.on_pre_compress(CONVERSATION)
    manager.on_delegation(
        "Find the chandler.", "The chandler is called Ulla.", child_session_id="c"
    )
    manager.on_session_switch("s2", parent_session_id="s1", reset=False, reason="compression")
    manager.on_session_end(CONVERSATION)
    manager.shutdown_all()
    return seen


def write_memory(manager):
    """One write of the host's memory tool, as the release at hand mirrors it."""
    args = {"action": "add", "target": "memory", "content": "The cook is called Imke."}
    if hasattr(manager, "notify_memory_tool_write"):
        manager.notify_memory_tool_write('{"success": true}', args)
    else:
        manager.on_memory_write(*args.values(), metadata={"tool_name": "memory"})


def second_session(name):
    """Knowledge of a new process: each question, and the text that is recalled for it."""
    _, manager = started(name, "s3")
    questions = ("the ferry", "the cook", "the tide clerk", "the pilot", "the chandler")
    recalled = {about: manager.prefetch_all(f"Who or what is {about}?") for about in questions}
    manager.shutdown_all()
    return recalled


def main(name):
    complaints = Complaints()
    logging.getLogger().addHandler(complaints)
    listed = {row[0]: list(row[1:]) for row in discover_memory_providers()}
    seen = {"listed": listed.get(name), "first": first_session(name)}
    seen |= {"second": second_session(name), "complaints": complaints.lines}
    sys.stdout.write(json.dumps(seen) + "\n")


main(sys.argv[1])
