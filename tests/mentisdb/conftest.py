"""A provider on a daemon: the stand-in, or the one that MENTISDB_URL names."""

import contextlib
import os
import uuid

import httpx
import pytest

from memproto.reference_providers.mentisdb import (
    MentisDbMemoryProvider,
    provider,
    session,
    settings,
)
from memproto.reference_providers.mentisdb.standin_server import StandIn

LIVE = os.environ.get("MENTISDB_URL", "")
KEY = os.environ.get("MENTISDB_TOKEN", "")


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for variable in (settings.URL, settings.CHAIN, settings.TOKEN):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def impatient(monkeypatch):
    """Budgets so short that a daemon which hangs costs a test little."""
    # Long enough for a daemon that works, on a machine that is busy.
    budget_s = float(os.environ.get("MEMPROTO_TIME_SCALE", "1"))
    for name in ("RECALL_S", "WRITE_S", "CLOSE_S"):
        for module in (provider, session):
            monkeypatch.setattr(module, name, budget_s, raising=False)


@pytest.fixture
def standin():
    """The stand-in, also where there is a live daemon: for what only it can do."""
    with StandIn() as daemon:
        yield daemon


@pytest.fixture
def opened(request, tmp_path):
    """Opens sessions: `with opened(user_id=..., url=..., key=...) as memory`; one home for all."""
    url, chosen = LIVE, {"token": KEY}
    if not LIVE or "standin" in request.fixturenames:
        url, chosen = request.getfixturevalue("standin").url, {}

    @contextlib.contextmanager
    def opening(key="one", home="home", **config):
        place = tmp_path / home
        place.mkdir(exist_ok=True)
        given = {"url": url, **chosen, **config.pop("mentisdb", {})}
        memory = MentisDbMemoryProvider()
        memory.initialize(key, {"home": str(place), "mentisdb": given, **config})
        try:
            yield memory
        finally:
            memory.shutdown()

    return opening


@pytest.fixture
def chain(opened):
    """The thoughts on the chain of a fresh home, read by plain HTTP."""

    def thoughts(memory):
        asked = {"chain_key": memory._settings.chain, "limit": 1_000}
        url = f"{memory._settings.url}/v1/search"
        headers = {"Authorization": f"Bearer {KEY}"} if KEY else {}
        answer = httpx.post(url, json=asked, headers=headers, trust_env=False)
        return answer.json()["thoughts"]

    return thoughts


@pytest.fixture
def name():
    """A word that no other test has used."""
    return f"Zonk{uuid.uuid4().hex[:10]}"
