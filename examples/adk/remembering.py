"""
An agent of Google ADK that remembers across runs, on a memory provider of this project.

    python remembering.py HOME "My ferry is called Ondine."
    python remembering.py HOME "What is my ferry called?"

The model is a scripted one, which says what it was given to read; give `--model` for a real one.
Needs `pip install memproto[adk]`.
"""

import argparse
import asyncio
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types

from memproto.adk import ProviderMemoryService

sys.path.insert(0, str(Path(__file__).parents[1]))

# The provider of the guide, in the folder above.
from complete import Complete

APP, USER = "harbour", "ines"


class Reader(BaseLlm):
    """Says what it was given to read from past conversations, or that it is noted."""

    model: str = "scripted"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        # Older releases of ADK put it behind the instruction.
        read = [*(part.text or "" for part in parts), str(llm_request.config.system_instruction)]
        told = [text for text in read if "<PAST_CONVERSATIONS>" in text]
        text = f"You told me before: {told[-1]}" if told else "Noted."
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


async def converse(home: str, message: str, model: BaseLlm | str) -> str:
    """One session of one turn: what the agent answers; then the session goes to the memory."""
    memory = ProviderMemoryService(Complete, home)
    sessions = InMemorySessionService()
    agent = LlmAgent(name="pilot", model=model, tools=[PreloadMemoryTool()])
    runner = Runner(app_name=APP, agent=agent, session_service=sessions, memory_service=memory)
    session = await sessions.create_session(app_name=APP, user_id=USER)
    asked = types.Content(role="user", parts=[types.Part(text=message)])
    answer = ""
    async for event in runner.run_async(user_id=USER, session_id=session.id, new_message=asked):
        if event.is_final_response() and event.content:
            answer = "".join(part.text or "" for part in event.content.parts or [])
    session = await sessions.get_session(app_name=APP, user_id=USER, session_id=session.id)
    await memory.add_session_to_memory(session)
    await memory.close()
    await runner.close()
    return answer


def main() -> None:
    """Say one thing to the agent."""
    parser = argparse.ArgumentParser()
    parser.add_argument("home")
    parser.add_argument("message")
    parser.add_argument("--model", help="such as gemini-2.5-flash; the scripted one if unset")
    given = parser.parse_args()
    model = given.model or Reader()
    sys.stdout.write(asyncio.run(converse(given.home, given.message, model)) + "\n")


if __name__ == "__main__":
    main()
