"""
The losses behind the red lines of Agent Framework's host, without the kit: an agent and a client.

Run in an environment with agent-framework-core; prints one JSON object, the name of a loss to what
was seen of it.
"""

import asyncio
import json
import sys

from agent_framework import (
    Agent,
    AgentMiddleware,
    AgentResponse,
    AgentSession,
    BaseChatClient,
    ChatResponse,
    Content,
    ContextProvider,
    FunctionInvocationLayer,
    FunctionTool,
    Message,
)

SECRET = "no answer from postgres://harbour:pass@db/memory"


class Says(FunctionInvocationLayer, BaseChatClient):
    """Calls a tool first, if it is to; then gives an answer, and keeps what it was sent."""

    def __init__(self, answer="Noted.", calls=None):
        super().__init__()
        self.answer, self.calls = answer, calls
        self.asked, self.offered = [], []

    def _inner_get_response(self, *, messages, stream, options, **kwargs):
        async def respond():
            self.asked.append([_text(message) for message in messages])
            self.offered = [tool.name for tool in options.get("tools") or []]
            calls, self.calls = self.calls, None
            said = [Content.from_function_call("t", calls, arguments={})] if calls else self.answer
            return ChatResponse(messages=[Message("assistant", said if calls else [said])])

        return respond()


def _text(message):
    results = [str(one.result) for one in message.contents if one.type == "function_result"]
    return "".join([message.text, *results])


class Notes(ContextProvider):
    """Adds what it was made with, and keeps what it is handed."""

    def __init__(self, source_id, *found, tools=()):
        super().__init__(source_id)
        self.found, self.tools, self.got = found, tools, []

    async def before_run(self, *, agent, session, context, state):
        context.extend_messages(self, [Message("user", [text]) for text in self.found])
        context.extend_tools(self.source_id, list(self.tools))
        state.setdefault("of", []).append(self.found)

    async def after_run(self, *, agent, session, context, state):
        said = [*context.input_messages, *context.response.messages]
        self.got.append([message.text for message in said])


class FailsBefore(Notes):
    """Has no index today."""

    async def before_run(self, **given):
        raise OSError("no index")


class FailsAfter(Notes):
    """Has no space left."""

    async def after_run(self, **given):
        raise OSError("no space left")


class Refuses(AgentMiddleware):
    """A guardrail that answers in the place of the model."""

    async def process(self, context, call_next):
        await call_next()
        context.result = AgentResponse(messages=[Message("assistant", ["I may not say that."])])


def tool(name="look_up"):
    async def call():
        raise ConnectionError(SECRET)

    schema = {"type": "object", "properties": {}}
    return FunctionTool(name=name, description="Look.", func=call, input_model=schema)


async def ran(client, *providers, session=None, **given):
    """The answer of one run, or the words of its exception."""
    agent = Agent(client=client, context_providers=list(providers), **given)
    try:
        return (await agent.run("Hello.", session=session or AgentSession())).text
    except Exception as error:
        return f"{type(error).__name__}: {error}"


async def held(hook):
    """True if a run waits for a provider, which goes on once that was seen."""
    let_go, entered = asyncio.Event(), asyncio.Event()
    provider = Notes("slow")
    whole = getattr(provider, hook)

    async def hang(**given):
        entered.set()
        await let_go.wait()
        await whole(**given)

    setattr(provider, hook, hang)
    run = asyncio.create_task(ran(Says(), provider))
    await entered.wait()
    done, _ = await asyncio.wait([run], timeout=0.5)
    let_go.set()
    await run
    return not done


async def a_provider_that_fails_before():
    client, good = Says(), Notes("good", "The ferry is Ondine.")
    return await ran(client, good, FailsBefore("bad")), len(client.asked), good.got


async def a_provider_that_fails_after():
    client, first, last = Says(), Notes("first"), Notes("last")
    answer = await ran(client, first, FailsAfter("bad"), last)
    return answer, len(client.asked), first.got, last.got


async def two_of_one_source_id():
    session = AgentSession()
    await ran(Says(), Notes("notes", "One."), Notes("notes", "Two."), session=session)
    return session.state["notes"]["of"]


async def an_answer_that_was_refused():
    notes = Notes("notes")
    shown = await ran(Says("The code is 4711."), notes, middleware=[Refuses()])
    return shown, notes.got


async def a_name_that_no_model_api_takes():
    client = Says()
    await ran(client, Notes("notes", tools=[tool("find a berth")]))
    return client.offered


async def a_second_tool_of_one_name():
    return await ran(Says(), Notes("a", tools=[tool()]), Notes("b", tools=[tool()]))


async def a_tool_by_a_name_of_the_agents():
    return await ran(Says(), Notes("a", tools=[tool()]), tools=[tool()])


async def a_tool_that_fails():
    client = Says(calls="look_up")
    await ran(client, Notes("a", tools=[tool()]))
    return client.asked[1][-1]


async def recalled_text_among_the_messages():
    client = Says()
    await ran(client, Notes("notes", "Obey."))
    return client.asked[0]


async def main():
    losses = (
        a_provider_that_fails_before,
        a_provider_that_fails_after,
        two_of_one_source_id,
        an_answer_that_was_refused,
        a_name_that_no_model_api_takes,
        a_second_tool_of_one_name,
        a_tool_by_a_name_of_the_agents,
        a_tool_that_fails,
        recalled_text_among_the_messages,
    )
    seen = {loss.__name__: await loss() for loss in losses}
    seen["a_search_that_hangs"] = await held("before_run")
    seen["a_write_that_hangs"] = await held("after_run")
    sys.stdout.write(json.dumps(seen) + "\n")


asyncio.run(main())
