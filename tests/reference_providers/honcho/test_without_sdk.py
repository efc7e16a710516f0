"""The Honcho provider says if the SDK is not installed; its stand-in serves all the same."""

import sys

import pytest

from memproto.errors import Misconfigured
from memproto.reference_providers.honcho import HonchoMemoryProvider, service


@pytest.fixture(autouse=True)
def no_sdk(monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name.partition(".")[0] == "honcho"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "honcho", None)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HONCHO_URL", "http://127.0.0.1:9")


def test_the_provider_is_not_available_and_says_what_to_install():
    provider = HonchoMemoryProvider()
    assert not provider.is_available()
    assert "pip install 'memproto[honcho]'" in provider.unavailable_reason()


def test_a_session_does_not_open_and_says_what_to_install(tmp_path):
    with pytest.raises(Misconfigured, match="memproto\\[honcho]"):
        HonchoMemoryProvider().initialize("run-1", {"home": str(tmp_path / "home")})


def test_what_needs_no_session_is_there(tmp_path):
    provider = HonchoMemoryProvider()
    assert provider.name == "honcho"
    assert len(provider.get_tool_schemas()) == 5
    assert provider.get_config_schema()[0]["env_var"] == "HONCHO_URL"
    provider.shutdown()


def test_the_stand_in_needs_no_sdk(monkeypatch):
    monkeypatch.delenv("HONCHO_URL")
    with service.running() as told:
        assert told["env"]["HONCHO_URL"]
