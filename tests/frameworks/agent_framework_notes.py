"""Providers on the base class of the installed agent-framework: a good one, others with a fault."""

import asyncio
import hashlib

from agent_framework import ContextProvider, Message

from memproto.bindings import PerUser
from tests.good.journal import Journal


class Notes(ContextProvider):
    """Keeps turns in a folder where it stands; a journal keeps them for it."""

    def __init__(self, folder="notes"):
        super().__init__("notes")
        self._folder = folder
        self._journal = None

    def journal(self):
        if self._journal is None:
            self._journal = Journal()
            self._journal.initialize("any", {"home": self._folder})
        return self._journal

    async def before_run(self, *, agent, session, context, state):
        asked = "\n".join(message.text for message in context.input_messages)
        known = self.journal().enrich_turn(asked, [])
        if known:
            context.extend_messages(self, [Message("user", [f"Known:\n{known}"])])

    async def after_run(self, *, agent, session, context, state):
        self.store(*("\n".join(m.text for m in said) for said in _said(context)))

    def store(self, asked, answered):
        self.journal().on_turn_complete(asked, answered)


def _said(context):
    return context.input_messages, context.response.messages


class LosesTheLast(Notes):
    """Writes a turn when the next one comes."""

    waiting = None

    def store(self, asked, answered):
        if self.waiting is not None:
            super().store(*self.waiting)
        self.waiting = (asked, answered)


class AddsAscii(Notes):
    """Raises for what an encoder of its own does not take."""

    def store(self, asked, answered):
        asked.encode("ascii")
        super().store(asked, answered)


class Hangs(Notes):
    """Waits for a backend that never answers, without a deadline."""

    async def before_run(self, *, agent, session, context, state):
        await asyncio.Event().wait()


class OfUsers(Notes):
    """Keeps the users apart by the state of the session, in a folder for each."""

    async def before_run(self, *, agent, session, context, state):
        user = session.state.get("user_id", "")
        name = hashlib.sha256(user.encode("utf-8", "surrogatepass")).hexdigest()
        self._folder = f"of-{name}"
        await super().before_run(agent=agent, session=session, context=context, state=state)


def apart():
    """Each user has a provider, with a folder whose name is a hash of the id."""

    def build(user):
        name = hashlib.sha256((user or "").encode("utf-8", "surrogatepass")).hexdigest()
        return Notes(f"of-{name}")

    return PerUser(build)


def together():
    """Every user has a provider of the same folder."""
    return PerUser(lambda user: Notes())
