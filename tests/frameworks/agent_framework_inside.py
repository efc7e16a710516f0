"""An agent of the installed agent-framework with a provider as its memory, for one session."""

import asyncio

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    InMemoryHistoryProvider,
    Message,
    tool,
)

from memproto.agent_framework import ProviderContext
from tests.frameworks import inside


class Says(FunctionInvocationLayer, BaseChatClient):
    """A client that calls one tool first, if it is to, and keeps all that it was sent."""

    def __init__(self, calls):
        super().__init__()
        self.calls = calls
        self.requests, self.prompts, self.offered = [], [], []

    def _inner_get_response(self, *, messages, stream, options, **kwargs):
        async def updates():
            yield ChatResponseUpdate(role="assistant", contents=self._said(messages, options))

        async def answer():
            return ChatResponse(messages=[Message("assistant", self._said(messages, options))])

        return self._build_response_stream(updates()) if stream else answer()

    def _said(self, messages, options):
        self.requests.append([_shown(message) for message in messages])
        self.prompts.append(options.get("instructions"))
        self.offered = [tool.name for tool in options.get("tools") or []]
        calls, self.calls = self.calls, None
        if calls:
            name, arguments = calls
            return [Content.from_function_call("t1", name, arguments=arguments)]
        return [Content.from_text("Noted.")]


def _shown(message):
    results = [str(one.result) for one in message.contents if one.type == "function_result"]
    return [str(message.role), *([message.text] if message.text else []), *results]


def _own(name):
    @tool(name=name, approval_mode="never_require")
    def own(text: str) -> str:
        """The agent's own."""
        return f"the agent's own answer to {text}"

    return own


async def answer(agent, said, session, streams):
    if not streams:
        return (await agent.run(said, session=session)).text
    return "".join([one.text async for one in agent.run(said, session=session, stream=True)])


async def main():
    asked = inside.Asked.read()
    client = Says(asked.calls)
    history = InMemoryHistoryProvider()
    memory = ProviderContext(inside.factory(asked.kind), asked.home, **asked.arguments())
    agent = Agent(
        client=client,
        instructions="Be kind.",
        tools=[_own(name) for name in asked.own_tools],
        context_providers=[history, memory],
    )
    session = AgentSession()
    if asked.user_id is not None:
        session.state["user_id"] = asked.user_id
    answers = [await answer(agent, said, session, asked.streams) for said in asked.says]
    before = inside.stored(asked.home)
    is_waited_for = None
    if asked.close_s is not None:
        closing = asyncio.create_task(memory.close())
        await asyncio.wait([closing], timeout=asked.close_s)
        is_waited_for = not closing.done()
        if is_waited_for:
            inside.Gated.gate.set()
        await closing
        inside.HANG.finished()
    kept = await history.get_messages(session.session_id, state=session.state[history.source_id])
    inside.told(
        asked.home,
        requests=client.requests,
        prompts=client.prompts,
        offered=client.offered,
        answers=answers,
        kept=[_shown(message) for message in kept],
        before=before,
        waited=is_waited_for,
    )


asyncio.run(main())
