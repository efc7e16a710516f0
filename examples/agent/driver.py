"""
The steps by which the conformance kit drives this agent.

`pytest --memproto-host=driver:ExampleAgent` in this directory judges it as a host.
"""

import itertools

from agent import CLOCK, Agent

import memproto
from memproto.testing.driver import Compressed, HostDriver, Turn


class ExampleAgent(HostDriver):
    own_tool = CLOCK["name"]
    fence = memproto
    without = dict.fromkeys(("backup_paths", "forget"), "the example has no command for it")

    def __init__(self, *, deadlines=None, on_event=None):
        self.denied = frozenset()
        self.agent = Agent(
            None,
            list,  # the kit hands its memories over by `register`
            allows_tool=lambda provider, tool: tool not in self.denied,
            deadlines=deadlines,
            on_event=on_event,
        )

    def register(self, provider):
        self.agent.memory.register(provider)

    def start(self, session):
        self.denied = session.denied_tools
        self.agent.model = lambda messages, tools: session.model(messages)
        self.agent.start(session.session_id, session.config)

    def end(self):
        self.agent.memory.on_session_end(self.agent.history)

    def exit(self):
        self.agent.exit()

    def turn(self, user_message):
        return Turn("".join(self.agent.turn(user_message)))

    stream = turn

    def interrupt(self, user_message):
        return Turn("".join(itertools.islice(self.agent.turn(user_message), 1)))

    def reject(self, user_message):
        self.agent.guard = lambda answer: False
        try:
            return self.turn(user_message)
        finally:
            self.agent.guard = None

    def recall(self, user_message, messages):
        return self.agent.memory.enrich_turn(user_message, messages)

    def record(self, user_message, answer):
        self.agent.memory.on_turn_complete(user_message, answer)

    def record_turn(self, turn):
        self.agent.record(turn)

    def write_memory(self, action, target, content, old_text=None):
        written = {"action": action, "target": target, "content": content, "old_text": old_text}
        self.agent.mirror(written)

    def refuse_write(self, action, target, content, old_text=None):
        pass  # `call_tool` mirrors what was written, and no more

    def tools(self):
        return self.agent.memory.get_tool_schemas()

    def call_tool(self, name, args):
        return self.agent.call_tool(name, args)

    def prompt(self):
        return self.agent.instructions()

    def compress(self, messages, compression_count):
        asked = []
        self.agent.compressions = compression_count - 1
        self.agent.model = lambda messages, tools: asked.extend(messages) or iter(("Summary.",))
        kept = self.agent.summarized(messages) is None
        return Compressed(kept, "\n".join(message["content"] for message in asked[2:]))

    def switch(self, kind, new_session_id):
        if kind == "new":
            self.agent.memory.on_session_end(self.agent.history)
        parent = self.agent.memory.session_key if kind in ("branch", "compress") else ""
        how = {"reset": kind == "new", "rewound": kind == "rewind", "parent_session_id": parent}
        self.agent.memory.on_session_switch(new_session_id, **how)
        if kind in ("new", "resume"):
            self.agent.history = []

    def delegate(self, task, result, child_session_id):
        self.agent.memory.on_delegation(task, result, child_session_id=child_session_id)
