"""Measured rows about where a session goes: names, peers, observation, files of settings."""

import json
import re

import pytest

from memproto.errors import Misconfigured
from memproto.reference_providers.honcho import HonchoMemoryProvider, places, settings
from tests.reference_providers.honcho.honcho_rows import row

BASE = {"baseUrl": "http://127.0.0.1:9", "peerName": "ada", "aiPeer": "hermes"}


def place(config=None, session_key="run-1", workspace="w", **chosen):
    """Place of a session with these settings."""
    held = settings.Settings.of({**BASE, **chosen})
    given = {"cwd": "/srv/my.boats", **(config or {})}
    return places.of(held, given, session_key, workspace)


@row("measured: sessionStrategy")
@row("seeds: unchanged: session strategies")
@pytest.mark.parametrize(
    ("strategy", "session"),
    [("per-directory", "boats"), ("per-session", "run-1"), ("global", "w")],
)
def test_the_strategy_names_the_session(strategy, session):
    assert place({"cwd": "/srv/boats"}, sessionStrategy=strategy).session == session


@row("measured: sessionStrategy")
@row("seeds: unchanged: session strategies")
def test_a_repository_has_one_session_for_all_its_directories(tmp_path):
    deep = tmp_path / "kestrel" / "src" / "sails"
    deep.mkdir(parents=True)
    (tmp_path / "kestrel" / ".git").mkdir()
    assert place({"cwd": str(deep)}, sessionStrategy="per-repo").session == "kestrel"
    assert place({"cwd": str(deep)}).session == "sails"


@row("measured: sessionStrategy")
def test_a_turn_is_stored_in_the_session_of_its_strategy(view, opened):
    provider = opened("run-7", sessionStrategy="per-session")
    provider.on_turn_complete("The boat is in Ostrava.", "Noted.")
    provider.shutdown()
    assert view.texts("run-7") == ["The boat is in Ostrava.", "Noted."]


@row("measured: sessionStrategy")
def test_a_wrong_strategy_is_named_with_those_that_there_are():
    with pytest.raises(Misconfigured, match=r"sessionStrategy is 'per-week'.*per-directory"):
        place(sessionStrategy="per-week")


@row("measured: name priority")
def test_the_first_name_that_there_is_counts():
    names = {"gateway_session_key": "gate", "session_title": "Sails"}
    mapped = {"sessions": {"/srv/my.boats": "mapped"}}
    assert place(names, sessionStrategy="per-session", **mapped).session == "gate"
    names.pop("gateway_session_key")
    assert place(names, sessionStrategy="per-session", **mapped).session == "run-1"
    assert place(names, **mapped).session == "mapped"
    assert place(names, sessionStrategy="global").session == "Sails"
    assert place(sessionStrategy="global").session == "w"


@row("measured: name priority")
def test_a_prefix_of_the_peer_is_put_before_the_name():
    told = {"sessionPeerPrefix": True, "sessionStrategy": "per-session"}
    assert place(**told).session == "ada-run-1"


@row("measured: name priority")
def test_a_long_key_of_a_gateway_is_cut_and_stays_unique():
    one, other = (place({"gateway_session_key": "k" * 600 + end}).session for end in "ab")
    assert one != other
    assert len(one) <= 100


@row("measured: id sanitising")
def test_every_name_becomes_an_id_that_the_server_takes_and_no_two_become_one(view, opened):
    names = ["my.project", "my-project", "my/project", "проект", "a" * 10_000, "\ud800", ".."]
    made = [place({"session_title": name}).session for name in names]
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,512}", name) for name in made)
    assert len(set(made)) == len(made)
    for name in names:
        provider = opened(config={"session_title": name})
        provider.on_turn_complete("A turn.", "Noted.")
        provider.shutdown()
    assert set(made) <= set(view.sessions())


@row("measured: user peer identity")
@pytest.mark.parametrize(
    ("config", "chosen", "user"),
    [
        ({"user_id": "u1"}, {"pinPeerName": True}, "ada"),
        ({"user_id": "u1"}, {"pinUserPeer": True}, "ada"),
        ({"user_id": "u1"}, {"userPeerAliases": {"u1": "bea"}}, "bea"),
        ({"user_id": "u1"}, {"runtimePeerPrefix": "tg-"}, "tg-u1"),
        ({"user_id": "u1"}, {}, "u1"),
        ({}, {}, "ada"),
        ({"gateway_session_key": "telegram:42"}, {"peerName": ""}, "user-telegram-42"),
    ],
)
def test_the_first_identity_that_there_is_is_the_peer(config, chosen, user):
    assert place(config, **chosen).user == user


@row("measured: user peer identity")
def test_a_user_whose_name_is_another_peers_is_told_from_it():
    for name in ("hermes", "ada", "bea", "user"):
        told = place({"user_id": name}, userPeerAliases={"u2": "bea"})
        assert told.user.startswith(f"{name}-")


@row("measured: observation")
@pytest.mark.parametrize(
    ("chosen", "user", "ai"),
    [
        ({}, (True, True), (True, True)),
        ({"observationMode": "directional"}, (True, True), (True, True)),
        ({"observationMode": "unified"}, (True, False), (False, True)),
        ({"observationMode": "shared"}, (True, False), (False, True)),
        ({"observationMode": "separate"}, (True, True), (True, True)),
        ({"observationMode": "cross"}, (True, True), (True, True)),
        ({"enabled": True}, (True, False), (False, True)),
        (
            {"observationMode": "unified", "observation": {"ai": {"observeMe": True}}},
            (True, False),
            (True, True),
        ),
        (
            {"observation": {"user": {"observeMe": False, "observeOthers": False}}},
            (False, False),
            (True, True),
        ),
    ],
)
def test_modes_and_flags_say_who_observes_whom(view, opened, chosen, user, ai):
    provider = opened(**chosen)
    provider.on_turn_complete("The boat is in Ostrava.", "Noted.")
    provider.shutdown()
    assert (view.flags("boats", "ada"), view.flags("boats", "hermes")) == (user, ai)


@row("measured: observation")
def test_what_the_server_has_goes_before_what_is_set(view, opened):
    first = opened()
    first.on_turn_complete("The boat is in Ostrava.", "Noted.")
    first.shutdown()
    kept = {"observe_me": True, "observe_others": False}
    view.ask("PUT", "/sessions/boats/peers/hermes/config", kept)
    second = opened()
    second.on_turn_complete("The boat is in Brno now.", "Noted.")
    second.shutdown()
    assert view.flags("boats", "hermes") == (True, False)


@row("measured: config places")
@row("seeds: unchanged: honcho.json")
def test_files_are_looked_for_in_order_and_the_environment_comes_last(monkeypatch, tmp_path):
    user = tmp_path / "nobody"
    places_ = [
        tmp_path / "home" / "honcho.json",
        tmp_path / "hermes" / "honcho.json",
        user / ".hermes" / "honcho.json",
        user / ".honcho" / "config.json",
    ]
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "hermes"))
    monkeypatch.setenv("HONCHO_URL", "http://environment")
    for number, path in reversed(list(enumerate(places_))):
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"baseUrl": f"http://file{number}"}))
        assert settings.gather({}, tmp_path / "home")["baseUrl"] == f"http://file{number}"
    for path in places_:
        path.unlink()
    assert settings.gather({}, tmp_path / "home")["baseUrl"] == "http://environment"
    monkeypatch.delenv("HONCHO_URL")
    monkeypatch.setenv("HONCHO_BASE_URL", "http://hermes-name")
    assert settings.gather({}, tmp_path / "home")["baseUrl"] == "http://hermes-name"


@row("measured: config places")
@row("seeds: unchanged: honcho.json")
def test_the_block_of_the_host_goes_before_the_rest(tmp_path):
    content = {
        **BASE,
        "recallMode": "tools",
        "hosts": {"hermes": {"recallMode": "context", "aiPeer": "guide"}},
    }
    (tmp_path / "honcho.json").write_text(json.dumps(content))
    held = settings.Settings.of(settings.gather({}, tmp_path))
    assert (held.recall_mode, held.ai_peer, held.peer_name) == ("context", "guide", "ada")


@row("measured: config places")
@pytest.mark.parametrize("given", ["http://h:1/v3", "http://h:1/v1/", "http://h:1/", "http://h:1"])
def test_a_version_at_the_end_of_the_address_is_left_out(given):
    assert settings.Settings.of({"baseUrl": given}).url == "http://h:1"


@row("measured: config places")
def test_no_server_is_ever_taken_that_nobody_named(opened, tmp_path):
    with pytest.raises(Misconfigured, match="no Honcho server is named"):
        HonchoMemoryProvider().initialize("run-1", {"home": str(tmp_path)})
    with pytest.raises(Misconfigured, match="wants a key"):
        settings.Settings.of({"environment": "production"})
    assert settings.Settings.of(BASE).key == "local"


@row("measured: config places")
@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"baseUrl": ', "is no JSON at line 1"),
        ("[]", "holds list"),
        ('{"baseUrl": 7}', "baseUrl is int"),
        ('{"baseUrl": "h:1"}', "baseUrl is no address"),
        ('{"baseUrl": "http://me:secret@h"}', "holds a credential"),
        ('{"baseUrl": "http://h", "dialecticCadence": 0}', "dialecticCadence is 0"),
        ('{"baseUrl": "http://h", "writeFrequency": "weekly"}', "writeFrequency is 'weekly'"),
        ('{"baseUrl": "http://h", "memoryMode": "cloud"}', "memoryMode is 'cloud'"),
    ],
)
def test_a_file_with_a_fault_is_one_error_with_its_fix(tmp_path, content, says):
    (tmp_path / "honcho.json").write_text(content)
    with pytest.raises(Misconfigured, match=says) as fault:
        HonchoMemoryProvider().initialize("run-1", {"home": str(tmp_path)})
    assert "secret" not in str(fault.value)
