"""
A provider on a server: the stand-in, or the one that HONCHO_URL names.

The tests read the server by plain HTTP, so that the same ones run against both.
"""

import os
import threading
import uuid

import pytest

from memproto.reference_providers.honcho import HonchoMemoryProvider
from memproto.reference_providers.honcho.standin import serving
from tests.reference_providers.honcho.honcho_views import View

LIVE = os.environ.get("HONCHO_URL", "")
KEY = os.environ.get("HONCHO_API_KEY", "")


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch, tmp_path):
    """The tests see no settings of whoever runs them."""
    for name in [name for name in os.environ if name.startswith(("HONCHO_", "HERMES_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))


@pytest.fixture
def standin():
    """The stand-in, also where there is a live server: for what only it can do."""
    with serving() as server:
        yield server


@pytest.fixture
def view(request):
    """The content of a workspace of its own, on the live server or on the stand-in."""
    is_needed = "standin" in request.fixturenames or not LIVE
    url = request.getfixturevalue("standin").url if is_needed else LIVE
    return View(url, f"test-{uuid.uuid4().hex[:16]}", "" if is_needed else KEY)


@pytest.fixture
def opened(view, tmp_path):
    """
    Open a provider: `opened(session_key, config, **settings)`; all are shut down at the end.

    Settings are keys of honcho.json.
    """
    providers = []

    def open_one(session_key="run-1", config=None, provider=None, **settings):
        provider = provider or HonchoMemoryProvider()
        usual = {"baseUrl": view.url, "workspace": view.workspace}
        usual |= {"peerName": "ada", "aiPeer": "hermes", "apiKey": view.key or None}
        home = tmp_path / "home"
        given = {"home": str(home), "cwd": "/srv/boats", **(config or {})}
        provider.initialize(session_key, {**given, "honcho": {**usual, **settings}})
        providers.append(provider)
        return provider

    before = set(threading.enumerate())
    yield open_one
    for provider in providers:
        provider.shutdown()
    for thread in set(threading.enumerate()) - before:
        if thread.name.startswith("honcho-") and thread.name != "honcho-standin":
            thread.join(5.0)
            assert not thread.is_alive(), thread
