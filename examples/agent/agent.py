"""
An agent with a memory: where a host calls what. docs/agent.md walks through it.

`Agent` is the loop; it knows no terminal and no model. `python examples/agent` talks to it.
"""

import functools
import json
import uuid
from datetime import UTC, datetime

from memproto import (
    MemoryProviderRegistry,
    Policy,
    StreamingContextScrubber,
    inject_memory_context,
)

INSTRUCTIONS = "You are a helpful assistant. Answer briefly."
REFUSED = "I cannot answer that."
MOST_ROUNDS = 8  # of tool calls in one turn
CLOCK = {  # the one tool that is the agent's own
    "name": "clock",
    "description": "Tells the time.",
    "parameters": {"type": "object", "properties": {}},
}

#: The extensions whose methods this host calls; providers are told.
DRIVES = frozenset(
    ("tools", "turns", "sessions", "prompt", "compress_notes", "record", "delegation", "status")
)


class Agent:
    """
    One conversation at a time, and the memory of all of them.

    `model(messages, tools)` gives the pieces of an answer: texts, and calls of tools as dicts with
    `id`, `name` and `arguments`. `providers()` gives new instances of the memories. `guard(answer)`
    says whether the user may see an answer. The rest is handed to the registry.
    """

    def __init__(self, model, providers, *, guard=None, allows_tool=None, **registry):
        self.model, self.providers, self.guard = model, providers, guard
        own = frozenset({CLOCK["name"]})
        policy = Policy(reserved_tools=own, allows_tool=allows_tool, drives=DRIVES)
        self._registry = functools.partial(MemoryProviderRegistry, policy=policy, **registry)
        self.memory = self._gathered()
        self.history = []
        self.turns = self.compressions = 0

    # -- the life of a session --------------------------------------------------------------------

    def start(self, session_id, config):
        """Open the memories; one that cannot start is left out, and `memory.dropped` says why."""
        self.config = config
        self.memory.initialize_all(session_id, config)

    def _gathered(self):
        """A registry of its own for each time that the memories are opened."""
        memory = self._registry()
        for provider in self.providers():
            memory.register(provider)
        return memory

    def new_session(self, session_id):
        """`/new`: the conversation is over, and the next one knows nothing of its words."""
        self.memory.on_session_end(self.history)
        declared = self.memory.capabilities.values()
        if all("sessions" in one.get("extensions", ()) for one in declared):
            self.memory.on_session_switch(session_id, reset=True)
        else:  # a memory that cannot change its session is opened again
            self.memory.shutdown_all()
            self.memory = self._gathered()
            self.start(session_id, self.config)
        self.history = []

    def exit(self):
        """Delivers what is queued, within 15 s; whatever happens, this comes last."""
        self.memory.on_session_end(self.history)
        self.memory.shutdown_all()

    # -- a turn -----------------------------------------------------------------------------------

    def turn(self, user_message):
        """
        Yield what the user sees of the answer, piece by piece.

        Only a turn that is finished is kept and recorded: where the model fails, the user breaks
        off, or nobody reads on, the code behind the loop is not reached.
        """
        started_at = datetime.now(UTC)
        request = self._request(user_message)
        answer = []
        for piece in self._scrubbed(self._said(request)):
            answer.append(piece)
            if self.guard is None:
                yield piece
        text = "".join(answer)
        if self.guard is not None:
            if not self.guard(text):
                yield REFUSED
                return
            yield text
        self._keep(user_message, text, started_at)

    def _request(self, user_message):
        """The model's input: the recalled texts are in the request, and nowhere else."""
        self.turns += 1
        self.memory.on_turn_start(self.turns, user_message)
        recalled = self.memory.enrich_turn(user_message, self.history)
        content = inject_memory_context(user_message, recalled)
        return [
            {"role": "system", "content": self.instructions()},
            *self.history,
            {"role": "user", "content": content},
        ]

    def instructions(self):
        """The system prompt with the memory's block, which stays the same for the session."""
        block = self.memory.system_prompt_block()
        return f"{INSTRUCTIONS}\n\n{block}" if block else INSTRUCTIONS

    def _said(self, request):
        """The texts of an answer; tools that the model calls are called in between."""
        for _ in range(MOST_ROUNDS):
            calls, said = [], []
            for piece in self.model(request, self.tools()):
                if isinstance(piece, str):
                    said.append(piece)
                    yield piece
                else:
                    calls.append(piece)
            if not calls:
                return
            request.append({"role": "assistant", "content": "".join(said), "tool_calls": calls})
            for call in calls:
                result = self.call_tool(call["name"], call["arguments"])
                request.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    def _scrubbed(self, pieces):
        """The same texts without a memory block that the model repeats, wherever they are cut."""
        scrubber = StreamingContextScrubber()
        for piece in pieces:
            shown = scrubber.feed(piece)
            if shown:
                yield shown
        rest = scrubber.flush()
        if rest:
            yield rest

    def _keep(self, user_message, answer, started_at):
        """The conversation holds what was typed and seen, and so does the memory."""
        self.history += [
            {"role": "user", "content": user_message},
            {"role": "assistant", "content": answer},
        ]
        self.record(
            {
                "turn_id": uuid.uuid4().hex,  # the same one if it is ever handed over again
                "started_at": started_at.isoformat(),
                "ended_at": datetime.now(UTC).isoformat(),
                "user_message": user_message,
                "assistant_response": answer,
            }
        )

    def record(self, turn):
        """Hand over a turn; who does not serve `record` gets the two texts. Returns at once."""
        self.memory.record(turn)

    # -- tools ------------------------------------------------------------------------------------

    def tools(self):
        """Tools that the model may call: the agent's own, and those of the memory."""
        return [CLOCK, *self.memory.get_tool_schemas()]

    def call_tool(self, name, arguments):
        """The result of a call, always one JSON document; a write is told to the other memories."""
        if name == CLOCK["name"]:
            return json.dumps({"now": datetime.now(UTC).isoformat()})
        result = self.memory.handle_tool_call(name, arguments)
        if self.memory.tool_provider(name) == "builtin" and json.loads(result).get("success"):
            self.mirror(arguments)
        return result

    def mirror(self, written):
        """Tell the other memories what the builtin one's tool wrote."""
        if written.get("action") in ("add", "replace", "remove"):
            self.memory.on_memory_write(
                written["action"],
                written.get("target", "memory"),
                written.get("content"),
                written.get("old_text"),
                served_by="builtin",
            )

    # -- compression ------------------------------------------------------------------------------

    def compress(self):
        """Replace all but the last turn by a summary; False where a memory wants the words kept."""
        old, last = self.history[:-2], self.history[-2:]
        summary = self.summarized(old) if old else None
        if summary is None:
            return False
        told = {"role": "user", "content": f"[Summary of what was said before]\n{summary}"}
        self.history = [told, *last]
        return True

    def summarized(self, messages):
        """The summary of messages that are about to go; None where they have to stay."""
        self.compressions += 1
        refused = self.memory.on_compress(messages, self.compressions)
        if refused is not None:
            return None
        asked = [
            {"role": "system", "content": "Summarize this conversation for yourself."},
            {"role": "user", "content": json.dumps(messages)},
            {"role": "user", "content": self.memory.compress_notes(messages)},
        ]
        said = self.model([message for message in asked if message["content"]], [])
        return "".join(piece for piece in self._scrubbed(said) if isinstance(piece, str))
