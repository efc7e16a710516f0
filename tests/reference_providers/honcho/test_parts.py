"""Parts of the Honcho provider that need no SDK and no server."""

import dataclasses
import json

import pytest

from memproto.errors import Misconfigured
from memproto.reference_providers.honcho import (
    dialectic,
    finding,
    migration,
    names,
    places,
    settings,
    texts,
    values,
)

URL = {"baseUrl": "http://localhost:8000"}


def chosen(**raw):
    return settings.Settings.of({**URL, **raw})


def place(config=None, key="run-1", **raw):
    given = {"cwd": "/srv/boats", **(config or {})}
    return places.of(chosen(**raw), given, key, "harbour")


# -- ids -------------------------------------------------------------------------------------------

LOOK_ALIKES = (
    "ida",
    "Ida",
    "\u0456da",
    "ida ",
    "id/a",
    "id.a",
    "id-a",
    "../ida",
    "ida\0",
    "",
    "a" * 10_000,
)


def test_names_that_differ_are_different_ids_that_the_server_takes():
    found = [names.safe(name) for name in (*LOOK_ALIKES, "a" * 9_999, "ida\ud800")]
    assert len(set(found)) == len(found)
    assert all(1 <= len(name) <= 512 and names._PLAIN.fullmatch(name) for name in found)


def test_nobody_can_be_called_what_the_name_of_another_becomes():
    victim = names.safe("id.a")
    assert names.safe(victim) != victim
    assert names.safe(names.digest("x")) != names.digest("x")


def test_users_are_different_peers_whatever_they_are_called():
    users = (*LOOK_ALIKES, "user", "user-telegram-5", "assistant", "captain", "ada")
    raw = {"peerName": "captain", "userPeerAliases": {"77": "ada"}}
    found = [place({"user_id": name}, **raw) for name in users]
    nobody = [place(**raw), place({"gateway_session_key": "telegram:5"}), place()]
    peers = [each.user for each in (*found, *nobody)]
    assert len(set(peers)) == len(peers)
    assert not {each.ai for each in found} & set(peers)
    assert len({each.session for each in found}) == len(found)


def test_an_alias_and_a_pin_make_several_ids_one_person():
    raw = {"peerName": "captain", "userPeerAliases": {"77": "ada"}}
    assert place({"user_id": "77"}, **raw).user == "ada"
    assert place({"user_id": "77"}, pinUserPeer=True, **raw) == place(**raw)


def test_a_chat_with_no_user_has_a_peer_of_its_own():
    assert place({"gateway_session_key": "telegram:5"}).user == "user-telegram-5"


def test_chats_with_no_user_are_different_peers_whatever_their_keys_are():
    keys = ("x-y:z", "x:y-z", "x:y:z", "x-y-z", "default:x-y-z", "x-y:", "x:y-", ":x-y-z")
    peers = [place({"gateway_session_key": key}).user for key in keys]
    assert len(set(peers)) == len(keys)


def test_a_user_whose_id_is_no_text_is_a_user_all_the_same():
    assert place({"user_id": 7}) == place({"user_id": "7"}) != place({"user_id": 8})


# -- sessions --------------------------------------------------------------------------------------


def test_the_first_name_that_there_is_is_the_session_s():
    config = {"gateway_session_key": "telegram-5", "session_title": "Hulls"}
    mapped = {"sessions": {"/srv/boats": "mapped"}}
    assert place(config, sessionStrategy="per-session", **mapped).session == "telegram-5"
    del config["gateway_session_key"]
    assert place(config, sessionStrategy="per-session", **mapped).session == "run-1"
    assert place(config, **mapped).session == "mapped"
    assert place(config).session == "Hulls"
    assert place().session == "boats"
    assert place(sessionStrategy="global").session == "harbour"
    assert place(sessionPeerPrefix=True, peerName="ada").session == "ada-boats"


def test_a_repository_gives_its_directories_one_session(tmp_path):
    inner = tmp_path / "tug" / "src" / "deep"
    inner.mkdir(parents=True)
    (tmp_path / "tug" / ".git").mkdir()
    config = {"cwd": str(inner)}
    assert place(config, sessionStrategy="per-repo").session == "tug"
    assert place(config).session == "deep"


def test_a_home_has_a_workspace_of_its_own_which_stays(tmp_path):
    def named(home, **raw):
        return places.workspace(chosen(**raw), {}, tmp_path / home)

    assert named("one") == named("one") != named("other")
    assert named("one", workspace="shared") == "shared"
    (tmp_path / "one" / places.WORKSPACE).write_text("no name/at all")
    with pytest.raises(Misconfigured, match="holds no name of a workspace"):
        named("one")


def test_under_hermes_the_workspace_is_the_one_that_it_always_was(tmp_path):
    config = {"protocol": {"host": "hermes"}, "agent_identity": "default"}
    assert places.workspace(chosen(), config, tmp_path) == "hermes"
    assert place(config).ai == "hermes"
    assert chosen(memoryMode={"hermes": "honcho"}).memory_modes["memory"] == "honcho"
    assert not list(tmp_path.iterdir())


# -- settings --------------------------------------------------------------------------------------


def test_there_is_no_server_by_default():
    with pytest.raises(Misconfigured, match="no Honcho server is named"):
        settings.Settings.of({})


@pytest.mark.parametrize(
    "raw",
    [
        {"baseUrl": "localhost:8000"},
        {"baseUrl": "http://ada:secret@localhost"},
        {"baseUrl": "http://[broken"},
        {"baseUrl": 8000},
        {"environment": "staging"},
        {"environment": ["local"]},
        {"environment": "production"},
        {**URL, "writeFrequency": 0},
        {**URL, "writeFrequency": "often"},
        {**URL, "writeFrequency": "9" * 5_000},
        {**URL, "observationMode": ["unified"]},
        {**URL, "sessionStrategy": "per-boat"},
        {**URL, "dialecticDepth": "2"},
        {**URL, "memoryMode": "local"},
        {**URL, "userPeerAliases": ["ida"]},
    ],
)
def test_a_wrong_value_is_named_without_what_is_secret(raw):
    with pytest.raises(Misconfigured) as caught:
        settings.Settings.of(raw)
    assert "secret" not in str(caught.value)


def test_a_version_at_the_end_of_the_address_is_dropped():
    assert chosen(baseUrl="http://localhost:8000/v3/").url == "http://localhost:8000"


def test_write_frequencies_differ():
    found = [chosen(writeFrequency=each).every for each in ("async", "turn", "session", 3, "3")]
    assert found == [0, 1, None, 3, 3]


def test_observation_flags_go_before_the_mode_and_the_mode_before_the_usual():
    assert chosen().observation == values.Observation()
    assert chosen(enabled=True).observation == chosen(observationMode="shared").observation
    mixed = chosen(observationMode="unified", observation={"ai": {"observeMe": True}}).observation
    assert dataclasses.astuple(mixed) == (True, False, True, True)


def test_memory_modes_are_those_of_the_peers():
    modes = chosen(memoryMode={"default": "hybrid", "hermes": "honcho"}, aiPeer="hermes")
    assert modes.memory_modes == {"user": "hybrid", "memory": "honcho"}


def test_a_file_that_is_half_written_is_named_with_the_line(tmp_path):
    (tmp_path / finding.FILE).write_text('{\n  "baseUrl": "http://lo')
    with pytest.raises(Misconfigured, match=r"honcho\.json is no JSON at line 2"):
        settings.gather({}, tmp_path)


def test_a_host_s_block_goes_before_the_root_and_config_before_the_file(tmp_path):
    content = {"peerName": "root", "workspace": "root", "hosts": {"hermes": {"peerName": "block"}}}
    (tmp_path / finding.FILE).write_text(json.dumps(content))
    found = settings.gather({"honcho": {"workspace": "given"}}, tmp_path)
    assert (found["peerName"], found["workspace"]) == ("block", "given")


def test_answers_are_kept_beside_what_the_file_holds_and_a_secret_is_not(tmp_path):
    (tmp_path / finding.FILE).write_text('{"hosts": {"x": {}}}')
    settings.save({"recallMode": "tools", "apiKey": "secret"}, tmp_path)
    kept = json.loads((tmp_path / finding.FILE).read_text())
    assert kept == {"hosts": {"x": {}}, "recallMode": "tools"}


# -- texts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 24_999, 25_000, 25_001, 80_000])
@pytest.mark.parametrize("words", ["x", "boat ", "tide\n"])
def test_a_text_in_parts_is_whole_again(words, size):
    text = (words * size)[:size]
    parts = list(texts.parts(text))
    assert all(len(part) <= texts.MESSAGE_CHARS for part in parts)
    assert "".join(part.removeprefix(texts.CONTINUED) for part in parts) == text


@pytest.mark.parametrize("size", [1, 2_047, 2_048, 2_049, 8_192, 8_193, 30_000])
@pytest.mark.parametrize("words", ["x", "boat ", "漢字", "\U00012000", "a\U00012000\u0301 ", "ä\n"])
def test_a_conclusion_in_parts_is_whole_again_and_each_of_8192_bytes_at_most(words, size):
    text = (words * size)[:size]
    parts = texts.conclusions(text)
    assert all(0 < len(part.encode()) <= 8_192 for part in parts)
    assert "".join(part.removeprefix(texts.CONTINUED) for part in parts) == text
    assert len(parts) <= len(text.encode()) // 7_000 + 1


def test_a_query_is_short_enough_to_be_embedded():
    for text in ("\U00012000" * 9_000, "<|x|>" * 2_000, "\ud800" * 3_000, "x" * 9_000):
        query = texts.query(text)
        assert 0 < len(query.encode()) <= 8_192
        assert "<|x|>" not in query


def test_every_text_of_a_value_is_sent_as_the_server_takes_it():
    value = {"a\0": ["b\ud800", {"c": "<|endoftext|>", "d": 1, "e": None}]}
    assert texts.sent_whole(value) == {
        "a": ["b\ufffd", {"c": "<\u200b|endoftext|>", "d": 1, "e": None}]
    }


def test_what_a_server_cannot_take_is_sent_in_another_form_and_read_as_it_was():
    assert texts.sent("a\0b\ud800") == "ab\ufffd"
    sign = "<|endoftext|> is a sign, <|a b|> is none"
    assert "<|endoftext|>" not in texts.sent(sign)
    assert texts.read(texts.sent(sign)) == sign


def test_times_of_the_server_get_their_offset():
    assert texts.dated("[2026-11-21 23:30:10] tea") == "[2026-11-21T23:30:10+00:00] tea"


def test_a_name_in_a_question_is_looked_for_first():
    assert texts.telling("Which tug does my sister Velda work on?")[0] == "Velda"


# -- the server's model ----------------------------------------------------------------------------


def test_an_empty_answer_doubles_the_pause_up_to_eight_times():
    cadence, asked = dialectic.Cadence(2), []
    for turn in range(60):
        if cadence.is_due():
            asked.append(turn)
            cadence.asked()
            cadence.answered("")
    assert asked == [0, 4, 12, 28, 44]


def test_a_long_message_is_worth_more_up_to_the_cap():
    levels = [dialectic.level(chosen(), "x" * size, 0) for size in (10, 120, 400)]
    assert levels == ["low", "medium", "high"]
    fixed = chosen(dialecticDynamic=False)
    assert dialectic.level(fixed, "x" * 400, 0) == "low"
    assert dialectic.level(chosen(dialecticReasoningLevel="max"), "x" * 400, 0) == "max"


@pytest.mark.parametrize(
    ("said", "passes"), [("short", 3), ("- one\n- " + "x" * 100, 1), ("y" * 300, 1)]
)
def test_passes_stop_when_enough_is_said(said, passes):
    asked = []

    def chat(question, level):
        asked.append(level)
        return said

    raw = chosen(dialecticDepth=3, dialecticDepthLevels=["minimal", "high"], dialecticMaxChars=50)
    assert len(dialectic.ask(raw, "Where is the tug?", chat, is_first=True)) <= 50
    assert asked == ["minimal", "high", "low"][:passes]


# -- the files of a bounded memory -----------------------------------------------------------------


def test_files_go_along_for_one_user_and_for_nobody_else(tmp_path):
    (tmp_path / "memories").mkdir()
    for name in ("MEMORY.md", "USER.md", "SOUL.md"):
        (tmp_path / "memories" / name).write_text(f"of {name}")
    config = {"host_home": str(tmp_path)}
    found = migration.texts(chosen(), config, place())
    assert [peer for peer, _, _ in found] == ["user", "user", "assistant"]
    assert not migration.texts(chosen(), {**config, "user_id": "ida"}, place())
    assert not migration.texts(chosen(sessionStrategy="per-session"), config, place())
