"""
The calls that an agent of the installed strands-agents makes to a memory store, and the kit's.

Run in an environment of its own; raises where they differ.
"""

import sys

from strands import Agent, tool
from strands.memory import MemoryEntry, MemoryManager, MemoryStore
from strands.memory.extraction.triggers import InvocationTrigger
from strands.models.model import Model

from memproto import bindings

TURNS = [("  My ferry is called Ondine. ", "Noted."), ("What is my ferry called?", "Ondine.")]


class Says(Model):
    """A model that gives the next answer, and keeps what it was asked."""

    def __init__(self):
        self.answers = [answer for _, answer in TURNS]
        self.asked = []

    def update_config(self, **model_config):
        pass

    def get_config(self):
        return {}

    async def structured_output(self, output_model, prompt, system_prompt=None, **kwargs):
        raise NotImplementedError
        yield

    async def stream(self, messages, *args, **kwargs):
        self.asked.append(messages[-1]["content"])
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": self.answers.pop(0)}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


class Listens(MemoryStore):
    """Notes each call with its arguments, and knows one text."""

    name = "listens"
    description = None
    max_search_results = None
    writable = True

    def __init__(self):
        self.extraction = {"trigger": InvocationTrigger()}
        self.calls = []

    def get_tools(self):
        self.calls.append(("get_tools",))

        @tool
        def look_back(topic: str) -> str:
            """Look a topic up."""
            return f"nothing on {topic}"

        return [look_back]

    async def initialize(self):
        self.calls.append(("initialize",))

    async def search(self, query, options=None):
        self.calls.append(("search", query, dict(options)))
        return [MemoryEntry(content="<b>A ferry</b>")]

    async def add_messages(self, messages, context=None):
        said = [(m["role"], [dict(block) for block in m["content"]]) for m in messages]
        self.calls.append(("add_messages", said, context.sequence_numbers, type(context).__name__))

    async def add(self, content, metadata=None):
        self.calls.append(("add", content, metadata))


def by_an_agent():
    store, model = Listens(), Says()
    memory = MemoryManager(stores=[store], add_tool_config=True)
    agent = Agent(model=model, memory_manager=memory, callback_handler=None)
    for asked, _ in TURNS:
        agent(asked)
    agent.tool.add_memory(entries=["The cook is Imke."])
    shown = model.asked[0][-1]["text"]
    assert "<memory>" in shown, shown
    assert "&lt;b&gt;A ferry&lt;/b&gt;" in shown, shown
    return store.calls


def by_the_kit():
    store = Listens()
    binding = bindings.recognised(store)
    assert binding is bindings.STRANDS
    provider = binding.adapt(store)
    provider.initialize("s1", {"home": "unused"})
    for asked, answered in TURNS:
        assert provider.enrich_turn(asked, []) == "<b>A ferry</b>"
        provider.on_turn_complete(asked, answered)
    provider.on_memory_write("add", "memory", "The cook is Imke.")
    (schema,) = provider.get_tool_schemas()
    assert schema["name"] == "look_back"
    assert schema["parameters"]["required"] == ["topic"]
    assert "nothing on boats" in provider.handle_tool_call("look_back", {"topic": "boats"})
    assert '"status": "error"' in provider.handle_tool_call("look_back", {})
    provider.shutdown()
    return store.calls


agents, kits = by_an_agent(), by_the_kit()
assert agents == kits, f"\n{agents}\n{kits}"
sys.stdout.write("the same calls\n")
