"""
Memory services of the installed google-adk as providers, and a provider as a service of its.

Run in an environment of its own; raises where something is not as it says.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from google.adk.events import Event
from google.adk.memory import BaseMemoryService, InMemoryMemoryService
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import Session
from google.genai import types

from memproto.adk import ProviderMemoryService, as_provider
from memproto.errors import Unavailable, WriteRefused
from memproto.provider import MemoryProvider

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from complete import Complete

APP = "harbour"


def said(invocation, author, text, **more):
    role = "user" if author == "user" else "model"
    content = types.Content(role=role, parts=[types.Part(text=text)])
    return Event(invocation_id=invocation, author=author, content=content, **more)


def texts(response):
    return [part.text for memory in response.memories for part in memory.content.parts]


async def found(service, user, query):
    return "\n".join(texts(await service.search_memory(app_name=APP, user_id=user, query=query)))


async def a_provider_as_a_service(home):
    service = ProviderMemoryService(Complete, home)
    assert isinstance(service, BaseMemoryService)
    events = [
        said("i1", "user", "The ferry is called Ondine."),
        said("i1", "pilot", "Half an ans", partial=True),
        said("i1", "pilot", "Noted."),
        said("i2", "user", "A question without an answer about Quillen."),
    ]
    session = Session(id="s1", app_name=APP, user_id="ines", events=events)
    for _ in range(2):  # a session is added several times in its life
        await service.add_session_to_memory(session)
    recalled = await found(service, "ines", "ferry")
    assert recalled.count("Ondine") == 1, recalled
    assert "Half" not in recalled
    assert "Quillen" not in await found(service, "ines", "Quillen")
    assert await found(service, "ben", "ferry") == "", "another user's memory"
    entry = MemoryEntry(content=types.Content(parts=[types.Part(text="The cook is Imke.")]))
    await service.add_memory(app_name=APP, user_id="ines", memories=[entry])
    await service.close()

    again = ProviderMemoryService(Complete, home)
    await again.add_session_to_memory(session)
    assert (await found(again, "ines", "ferry")).count("Ondine") == 1, "stored twice"
    assert "Imke" in await found(again, "ines", "cook")
    response = await again.search_memory(app_name=APP, user_id="ines", query="ferry")
    assert response.memories[0].id
    assert response.memories[0].timestamp
    await again.close()


async def a_provider_that_cannot_start(home):
    class Fails(Complete):
        def initialize(self, session_key, config):
            raise Unavailable("no backend")

    try:
        await ProviderMemoryService(Fails, home).search_memory(
            app_name=APP, user_id="ines", query="ferry"
        )
    except Unavailable as error:
        assert "did not start" in str(error)  # noqa: PT017 - a script without pytest
    else:
        raise AssertionError("it searched")


class Sessions(BaseMemoryService):
    """Takes whole sessions only, as the abstract methods demand and no more."""

    def __init__(self):
        self.sessions = {}

    async def add_session_to_memory(self, session):
        self.sessions[session.id] = [event.content.parts[0].text for event in session.events]

    async def search_memory(self, *, app_name, user_id, query):
        kept = [text for texts in self.sessions.values() for text in texts]
        entries = [MemoryEntry(content=types.Content(parts=[types.Part(text=t)])) for t in kept]
        return SearchMemoryResponse(memories=entries)


def a_service_as_a_provider(service):
    def opened(user):
        provider = as_provider(service, app_name=APP)
        assert isinstance(provider, MemoryProvider)
        provider.initialize("s1", {"home": "/nowhere", "user_id": user})
        return provider

    ines, ben = opened("ines"), opened("ben")
    ines.on_turn_complete("The ferry is called Ondine.", "Noted.")
    ines.on_turn_complete("The cook is called Imke.", "Noted.")
    recalled = ines.enrich_turn("What is the ferry called?", [])
    assert "Ondine" in recalled, recalled
    if isinstance(service, InMemoryMemoryService):
        assert ben.enrich_turn("What is the ferry called?", []) is None
    for action in ("add", "remove"):
        try:
            ines.on_memory_write(action, "memory", "The clerk is called Osric.")
        except WriteRefused:
            continue
        raise AssertionError(f"{action} is said to be stored")
    for provider in (ines, ben):
        provider.shutdown()


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(a_provider_as_a_service(f"{folder}/one"))
    asyncio.run(a_provider_that_cannot_start(f"{folder}/two"))
for kind in (InMemoryMemoryService, Sessions):
    a_service_as_a_provider(kind())
sys.stdout.write("all as it says\n")
