"""
The calls that an agent of the installed agent-framework makes to a provider, and the kit's.

Run in an environment of its own; raises where they differ.
"""

import asyncio
import sys

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    ContextProvider,
    Message,
)

from memproto import bindings
from memproto.errors import Unavailable

TURNS = [("  My ferry is called Ondine. ", "Noted."), ("What is my ferry called?", "Ondine.")]


class Says(BaseChatClient):
    """A client that gives the next answer, and keeps what it was asked."""

    def __init__(self):
        super().__init__()
        self.answers = [answer for _, answer in TURNS]
        self.asked = []

    def _inner_get_response(self, *, messages, stream, options, **kwargs):
        async def answer():
            self.asked.append((options.get("instructions"), [m.text for m in messages]))
            return ChatResponse(messages=[Message("assistant", [self.answers.pop(0)])])

        return answer()


class Listens(ContextProvider):
    """Notes each call with its arguments, and knows one text."""

    def __init__(self):
        super().__init__("listens")
        self.calls = []
        self.contexts = []

    async def before_run(self, *, agent, session, context, state):
        assert isinstance(agent, Agent)
        assert context.response is None
        self.note("before_run", session, context, state)
        context.extend_instructions(self.source_id, "Mind the tides.")
        context.extend_messages(self, [Message("user", ["You know: a ferry."])])
        state["runs"] = state.get("runs", 0) + 1

    async def after_run(self, *, agent, session, context, state):
        assert isinstance(agent, Agent)
        assert context is self.contexts[-1], "the context of the same run"
        self.note("after_run", session, context, state)

    def note(self, hook, session, context, state):
        self.contexts.append(context)
        said = [(message.role, message.text) for message in context.input_messages]
        answers = [(m.role, m.text) for m in context.response.messages] if context.response else []
        ids = (session.session_id, context.session_id, context.service_session_id)
        assert state is session.state[self.source_id]
        self.calls.append((hook, said, answers, ids, dict(state)))


async def by_an_agent():
    provider, client = Listens(), Says()
    agent = Agent(client=client, context_providers=[provider])
    session = AgentSession(session_id="s1")
    for asked, _ in TURNS:
        await agent.run(asked, session=session)
    instructions, messages = client.asked[0]
    assert "Mind the tides." in instructions
    assert messages == ["You know: a ferry.", TURNS[0][0]]
    return provider.calls


def by_the_kit():
    listens = Listens()
    binding = bindings.recognised(listens)
    assert binding is bindings.AGENT_FRAMEWORK
    provider = binding.adapt(listens)
    provider.initialize("s1", {"home": "unused", "user_id": "ines"})
    for asked, answered in TURNS:
        assert provider.enrich_turn(asked, []) == "Mind the tides.\nYou know: a ferry."
        provider.on_turn_complete(asked, answered)
    calls = list(listens.calls)
    provider.on_turn_complete("A turn that nobody recalled for.", "Noted.")
    assert [call[0] for call in listens.calls[len(calls) :]] == ["before_run", "after_run"]
    provider.shutdown()
    return calls


class Enters(Listens):
    """A provider that an application enters and leaves."""

    async def __aenter__(self):
        self.calls.append("entered")
        return self

    async def __aexit__(self, *raised):
        self.calls.append("left")


def a_provider_is_entered_and_left():
    enters = Enters()
    provider = bindings.AGENT_FRAMEWORK.adapt(enters)
    provider.shutdown()
    assert enters.calls == []
    provider.initialize("s1", {"home": "unused"})
    provider.shutdown()
    provider.shutdown()
    assert enters.calls == ["entered", "left"]


def a_provider_that_does_nothing_lacks_its_hooks():
    missing = bindings.AGENT_FRAMEWORK.adapt(ContextProvider("bare")).missing_hooks
    assert {"before_run", "after_run"} <= set(missing)
    assert bindings.recognised(ContextProvider("bare")) is None


class Fails(Listens):
    """A provider whose search fails."""

    async def before_run(self, *, agent, session, context, state):
        raise LookupError("no index")


def a_search_that_fails_is_not_booked_on_the_turn():
    provider = bindings.AGENT_FRAMEWORK.adapt(Fails())
    provider.initialize("s1", {"home": "unused"})
    with pytest.raises(LookupError, match="no index"):
        provider.enrich_turn("boat", [])
    with pytest.raises(Unavailable, match="LookupError: no index"):
        provider.on_turn_complete("boat", "Noted.")
    provider.shutdown()


agents, kits = asyncio.run(by_an_agent()), by_the_kit()
assert agents == kits, f"\n{agents}\n{kits}"
a_provider_is_entered_and_left()
a_provider_that_does_nothing_lacks_its_hooks()
a_search_that_fails_is_not_booked_on_the_turn()
sys.stdout.write("the same calls\n")
