"""The stand-in over HTTP, and budgets for servers that hang."""

import importlib
import os

import pytest

from memproto.reference_providers.mcp import courier, session, standin


@pytest.fixture(scope="session")
def url():
    with standin.serving() as given:
        yield given["config"]["mcp"]["url"]


@pytest.fixture
def impatient(monkeypatch):
    """Budgets so short that a server which hangs, or will not end, costs a test little."""
    # Long enough for a server that works, on a machine that is busy.
    budget_s = float(os.environ.get("MEMPROTO_TIME_SCALE", "1"))
    monkeypatch.setattr(session, "_RECALL_S", 2.0 * budget_s)
    monkeypatch.setattr(courier, "SEARCH_S", 1.5 * budget_s)
    monkeypatch.setattr(courier, "_AGAIN_S", 0.5)
    stdio = importlib.import_module("mcp.client.stdio")
    for name in ("PROCESS_TERMINATION_TIMEOUT", "FORCE_KILL_TIMEOUT"):
        monkeypatch.setattr(stdio, name, 0.5, raising=False)
