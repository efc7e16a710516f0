"""Good hosts of unusual build: each has the shape of a broken one, and not its fault."""

import contextlib
import dataclasses
import re
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from memproto.bindings import NATIVE
from memproto.deadlines import Deadlines
from memproto.registry import MemoryProviderRegistry
from memproto.testing import clauses
from memproto.testing.agent import Agent
from memproto.testing.context import Context
from memproto.testing.driver import HostDriver, Turn
from memproto.testing.host import loading
from memproto.testing.host.run import HostRun
from memproto.testing.provider.subject import Watch
from memproto.testing.wire import Wire

_POOL = ThreadPoolExecutor(4, "shared")


class RefusesAScopeThatItDoesNotKnow(MemoryProviderRegistry):
    def forget(self, scope):
        if unknown := set(scope) - {"user_id", "session_id"}:
            raise ValueError(f"no scope has {', '.join(unknown)}")
        return super().forget(scope)


class RefusesAKeyThatIsNoFileName(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        if not session_key.replace("-", "").replace("_", "").isalnum() or len(session_key) > 64:
            raise ValueError("a session is named by letters, digits, - and _")
        super().initialize_all(session_key, config)


class RefusesToSwitchToAKeyThatIsNoFileName(MemoryProviderRegistry):
    def on_session_switch(self, new_session_id, **keywords):
        if not new_session_id.replace("-", "").replace("_", "").isalnum():
            raise ValueError("a session is named by letters, digits, - and _")
        super().on_session_switch(new_session_id, **keywords)


class MakesKeysOfItsOwn(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        super().initialize_all(uuid.uuid4().hex, config)


class LeavesTheLineBeforeABlock(MemoryProviderRegistry):
    def on_turn_complete(self, user_message, assistant_response):
        said = re.sub(r"(?s)<memory-context>\n.*?</memory-context>", "", user_message)
        super().on_turn_complete(said, assistant_response)


class SharesAPool(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        _POOL.submit(super().initialize_all, session_key, config).result()


class WaitsLongerThanItSays(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        named = self._core.deadlines
        longer = {
            key: getattr(named, key) * 1.5 for key in ("enrich_s", "compress_s", "shutdown_s")
        }
        super().initialize_all(session_key, config)
        self._core.deadlines = dataclasses.replace(named, **longer)

    def __init__(self, *, deadlines=None, on_event=None):
        given = deadlines or Deadlines()
        shorter = {
            key: getattr(given, key) / 1.5 for key in ("enrich_s", "compress_s", "shutdown_s")
        }
        super().__init__(deadlines=dataclasses.replace(given, **shorter), on_event=on_event)


class KeepsResultsOfToolsForASession(Agent):
    def call_tool(self, name, args):
        kept = self.__dict__.setdefault("kept", {})
        key = name, str(args)
        if key not in kept:
            kept[key] = super().call_tool(name, args)
        return kept[key]


class RemembersThatItRefused(Agent):
    def reject(self, user_message):
        "".join(self._answered(user_message))
        self._history += [
            {"role": "user", "content": user_message},
            {"role": "assistant", "content": "I cannot answer that."},
        ]
        return Turn("I cannot answer that.")


class UndoesNothingWhereNothingWasSaid(Agent):
    def switch(self, kind, new_session_id):
        if kind != "rewind" or self._history:
            super().switch(kind, new_session_id)


class TriesAWriteAgain(MemoryProviderRegistry):
    def register(self, provider):
        super().register(provider)
        self._core.registered[provider.name].provider = _Again(provider)


class _Again:
    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def on_turn_complete(self, user_message, assistant_response):
        with contextlib.suppress(OSError):
            return self.inner.on_turn_complete(user_message, assistant_response)
        return self.inner.on_turn_complete(user_message, assistant_response)


@pytest.fixture
def run_of(drained):
    """Builds runs of hosts, and finishes them."""
    runs = []

    def make(build):
        is_driver = issubclass(build, HostDriver)
        accepts = frozenset({"deadlines", "on_event"})
        loaded = loading.LoadedHost("t", build, NATIVE, "t", {}, accepts, is_driver)
        runs.append(HostRun(loaded, Watch(Wire(drained)), Context(scale=1.0)))
        return runs[-1]

    yield make
    for run in runs:
        run.finish()


@pytest.mark.parametrize(
    ("host", "rule"),
    [
        (RefusesAScopeThatItDoesNotKnow, "MP-HOST-PRIV-002"),
        (RefusesAKeyThatIsNoFileName, "MP-HOST-INIT-006"),
        (RefusesToSwitchToAKeyThatIsNoFileName, "MP-HOST-SESS-005"),
        (MakesKeysOfItsOwn, "MP-HOST-INIT-006"),
        (SharesAPool, "MP-HOST-SHUT-005"),
        (WaitsLongerThanItSays, "MP-HOST-INIT-003"),
        (KeepsResultsOfToolsForASession, "MP-HOST-SESS-007"),
        (RemembersThatItRefused, "MP-HOST-TURN-009"),
        (UndoesNothingWhereNothingWasSaid, "MP-HOST-SESS-005"),
        (TriesAWriteAgain, "MP-HOST-TURN-001"),
        (LeavesTheLineBeforeABlock, "MP-HOST-TURN-003"),
    ],
    ids=lambda item: getattr(item, "__name__", item),
)
def test_a_good_host_of_that_shape_passes(run_of, host, rule):
    clauses.checks("host")[rule].decide(run_of(host))


def test_no_checkpoint_is_asked_of_a_job(run_of):
    run = run_of(MemoryProviderRegistry)
    provider = run.serving("checkpoint")
    host = run.host(provider)
    host.open(agent_context="cron")
    host.offer()
    assert not provider.count("on_compress")
    other = run.serving("checkpoint")
    run.opened(other).offer()
    assert other.count("on_compress") == 1
