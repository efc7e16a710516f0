"""An agent of the installed strands-agents with a provider as its memory, for one session."""

import asyncio
import json
import threading

from strands import Agent, tool
from strands.models.model import Model

from memproto.strands import ProviderMemory
from tests.frameworks import inside


class Says(Model):
    """A model that calls one tool first, if it is to, and keeps all that it was sent."""

    def __init__(self, calls):
        self.calls = calls
        self.requests, self.prompts, self.offered = [], [], []

    def update_config(self, **model_config):
        pass

    def get_config(self):
        return {}

    async def structured_output(self, output_model, prompt, system_prompt=None, **kwargs):
        raise NotImplementedError
        yield

    async def stream(self, messages, tool_specs=None, system_prompt=None, **kwargs):
        self.requests.append([_shown(message) for message in messages])
        self.prompts.append(system_prompt)
        self.offered = [spec["name"] for spec in tool_specs or []]
        calls, self.calls = self.calls, None
        yield {"messageStart": {"role": "assistant"}}
        if calls:
            name, arguments = calls
            yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "t1", "name": name}}}}
            given = {"input": json.dumps(arguments)}
            yield {"contentBlockDelta": {"delta": {"toolUse": given}}}
        else:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "Noted."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}


def _shown(message):
    texts = [block["text"] for block in message["content"] if "text" in block]
    for block in message["content"]:
        texts += [part["text"] for part in block.get("toolResult", {}).get("content", [])]
        texts += [block["toolResult"]["status"]] if "toolResult" in block else []
    return [message["role"], *texts]


def _own(name):
    @tool(name=name)
    def own(text: str) -> str:
        """The agent's own."""
        return f"the agent's own answer to {text}"

    return own


async def _streamed(agent, said):
    events = [event async for event in agent.stream_async(said)]
    return "".join(event.get("data", "") for event in events)


asked = inside.Asked.read()
model = Says(asked.calls)
memory = ProviderMemory(
    inside.factory(asked.kind), asked.home, user_id=asked.user_id, **asked.arguments()
)
own = [_own(name) for name in asked.own_tools]
agent = Agent(
    model=model, plugins=[memory], tools=own, system_prompt="Be kind.", callback_handler=None
)
answers = [
    asyncio.run(_streamed(agent, said)) if asked.streams else str(agent(said)).strip()
    for said in asked.says
]
before = inside.stored(asked.home)
is_waited_for = None
if asked.close_s is not None:
    closing = threading.Thread(target=memory.close)
    closing.start()
    closing.join(asked.close_s)
    is_waited_for = closing.is_alive()
    if is_waited_for:
        inside.Gated.gate.set()
        closing.join()
    inside.HANG.finished()
inside.told(
    asked.home,
    requests=model.requests,
    prompts=model.prompts,
    offered=model.offered,
    answers=answers,
    kept=[_shown(message) for message in agent.messages],
    dropped=dict(memory.dropped),
    before=before,
    waited=is_waited_for,
)
