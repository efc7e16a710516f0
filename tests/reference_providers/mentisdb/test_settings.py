"""Settings, names and tools of the mentisdb provider: what needs neither httpx nor a daemon."""

import itertools
import json
import threading

import pytest

from memproto.errors import Misconfigured, Unavailable
from memproto.reference_providers.mentisdb import MentisDbMemoryProvider, daemon, settings, tool
from memproto.reference_providers.mentisdb.keys import chain_key, digest, plain
from memproto.reference_providers.mentisdb.settings import Settings


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for variable in (settings.URL, settings.CHAIN, settings.TOKEN):
        monkeypatch.delenv(variable, raising=False)


def _settings(home, **config):
    return Settings.of({"home": str(home), **config})


# -- chains ----------------------------------------------------------------------------------------

_HOSTILE = [
    "anna",
    "Anna",
    "anna ",
    "anna.",
    "ann\u0430",
    "anna\0",
    "../anna",
    "anna/..",
    "an\u0303na",
    "a\u00f1na",
    "\ud800",
    "\ufffd",
    "a" * 10_000,
    "a" * 10_001,
    "None",
    "null",
]


def test_no_two_users_have_one_chain_and_each_name_is_a_plain_one():
    keys = [
        chain_key(chain=chain, profile="p", identity=identity, user=user)
        for chain in ("", "work")
        for identity in (None, "hermes")
        for user in (None, *_HOSTILE)
    ]
    own = {key for key in keys if not key.startswith("work")}
    assert len(own) == 2 * (len(_HOSTILE) + 1)
    assert len(set(keys)) == 3 * (len(_HOSTILE) + 1)
    assert all(plain(key) == key or len(key) > 64 for key in keys)
    assert max(map(len, keys)) < 128


@pytest.mark.parametrize("parts", list(itertools.permutations(["a-b", "a", "b"], 2)))
def test_homes_and_personas_have_chains_of_their_own(parts):
    first = chain_key(chain="", profile=parts[0], identity=parts[1], user=None)
    second = chain_key(chain="", profile=parts[1], identity=parts[0], user=None)
    assert first != second


def test_a_chain_that_the_operator_names_is_used_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv(settings.CHAIN, "borganism-brain")
    assert _settings(tmp_path / "a").chain == "borganism-brain"
    assert _settings(tmp_path / "b", agent_identity="orion").chain == "borganism-brain"
    assert _settings(tmp_path / "b", user_id="anna").chain.startswith("borganism-brain--u-")


def test_a_home_keeps_its_chain_where_it_is_moved(tmp_path):
    (tmp_path / "old").mkdir()
    before = _settings(tmp_path / "old").chain
    (tmp_path / "old").rename(tmp_path / "new")
    (tmp_path / "old").mkdir()
    assert _settings(tmp_path / "new").chain == before
    assert _settings(tmp_path / "old").chain != before


def test_sessions_that_start_together_in_a_new_home_have_one_chain(tmp_path):
    together, chains = threading.Barrier(4), []

    def start():
        together.wait(10)
        chains.append(_settings(tmp_path).chain)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(chains) == 4
    assert len(set(chains)) == 1


def test_a_home_that_keeps_nothing_has_the_same_chain_each_time(tmp_path):
    missing = tmp_path / "not" / "there"
    assert _settings(missing).chain == _settings(missing).chain
    assert not missing.exists()


def test_a_digest_keeps_its_parts_apart():
    assert digest("a", "b") != digest("ab") != digest("a,b")


# -- settings --------------------------------------------------------------------------------------


def test_the_host_goes_before_the_environment_and_that_before_what_was_saved(tmp_path, monkeypatch):
    assert _settings(tmp_path).url == "http://127.0.0.1:9472"
    settings.save({"url": "http://saved:1/", "recall_count": "5"}, tmp_path)
    assert (_settings(tmp_path).url, _settings(tmp_path).recall_count) == ("http://saved:1", 5)
    monkeypatch.setenv(settings.URL, "http://variable:2")
    assert _settings(tmp_path).url == "http://variable:2"
    assert _settings(tmp_path, mentisdb={"url": "https://host"}).url == "https://host"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("url", "localhost:9472"),
        ("url", "ftp://daemon"),
        ("url", "http:///path"),
        ("url", "http://user:word@daemon"),
        ("url", "http://daemon:port"),
        ("url", "http://daemon/?a=b"),
        ("url", 9472),
        ("chain", "a\nb"),
        ("chain", "c" * 129),
        ("token", "key\r\nX: y"),
        ("token", "schl\u00fcssel"),
        ("ca_file", "/no/such/file.pem"),
        ("recall_count", 0),
        ("recall_count", "many"),
        ("recall_count", True),
        ("recall_count", 51),
    ],
)
def test_a_wrong_value_is_refused_with_its_name_and_is_not_shown_where_it_may_be_secret(
    tmp_path, key, value
):
    with pytest.raises(Misconfigured, match=key) as refused:
        _settings(tmp_path, mentisdb={key: value})
    assert key == "recall_count" or str(value) not in str(refused.value)


@pytest.mark.parametrize("text", ['{"url": "http://', "[]", "\0"])
def test_a_half_written_file_of_answers_is_named(tmp_path, text):
    (tmp_path / settings.ANSWERS).write_text(text, "utf-8")
    with pytest.raises(Misconfigured, match=r"mentisdb\.json"):
        _settings(tmp_path)


def test_a_token_is_saved_nowhere_and_shown_nowhere(tmp_path, monkeypatch):
    settings.save({"token": "s3cret", "chain": "c"}, tmp_path)
    assert "s3cret" not in (tmp_path / settings.ANSWERS).read_text("utf-8")
    monkeypatch.setenv(settings.TOKEN, "s3cret")
    assert _settings(tmp_path).token == "s3cret"
    assert "s3cret" not in repr(_settings(tmp_path))


def test_a_session_without_a_home_is_refused():
    with pytest.raises(Misconfigured, match="home"):
        Settings.of({})


# -- availability ----------------------------------------------------------------------------------


def test_without_httpx_the_provider_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(daemon, "httpx", None)
    memory = MentisDbMemoryProvider()
    assert not memory.is_available()
    assert "memproto[mentisdb]" in memory.unavailable_reason()
    with pytest.raises(Misconfigured, match=r"memproto\[mentisdb\]"):
        memory.initialize("one", {"home": str(tmp_path)})
    memory.shutdown()


def test_an_address_in_the_environment_that_is_none_makes_it_unavailable(monkeypatch):
    monkeypatch.setattr(daemon, "httpx", object())
    assert MentisDbMemoryProvider().is_available()
    assert MentisDbMemoryProvider().unavailable_reason() == ""
    monkeypatch.setenv(settings.URL, "my daemon")
    assert not MentisDbMemoryProvider().is_available()
    assert settings.URL in MentisDbMemoryProvider().unavailable_reason()


# -- tools -----------------------------------------------------------------------------------------


def _called(name, args, found=()):
    kept = []

    def store(content, kind, tags):
        kept.append((content, kind, tags))
        return len(kept) == 1

    answer = json.loads(tool.call(lambda query, limit: list(found)[:limit], store, name, args))
    return answer, kept


@pytest.mark.parametrize(
    ("name", "args", "says"),
    [
        ("mentisdb_recall", {}, "query"),
        ("mentisdb_recall", {"query": " "}, "query"),
        ("mentisdb_recall", {"query": "a", "limit": "all"}, "limit"),
        ("mentisdb_recall", {"query": "a", "limit": float("inf")}, "limit"),
        ("mentisdb_store", {"content": None}, "content"),
        ("mentisdb_store", {"content": "a", "thought_type": "Gossip"}, "FactLearned"),
        ("mentisdb_store", {"content": "a", "thought_type": [1]}, "thought_type"),
        ("mentisdb_store", {"content": "a", "tags": "b"}, "tags"),
        ("mentisdb_forget", {}, "mentisdb_recall, mentisdb_store"),
        ("mentisdb_store", [], "object"),
    ],
)
def test_what_a_model_gets_wrong_is_answered_with_what_is_right(name, args, says):
    answer, kept = _called(name, args)
    assert not answer["success"]
    assert says in answer["error"]
    assert kept == []


def test_types_that_models_were_told_of_become_those_that_a_daemon_knows():
    for asked, kind in {"Fact": "FactLearned", "Observation": "Finding", "Plan": "Plan"}.items():
        _, kept = _called("mentisdb_store", {"content": "a", "thought_type": asked})
        assert kept == [("a", kind, [])]


def test_an_answer_to_a_search_is_bounded_whatever_is_stored():
    found = [{"content": f"{n} " + "boat " * 800} for n in range(25)]
    answer, _ = _called("mentisdb_recall", {"query": "boat", "limit": 1e9}, found)
    assert answer["count"] == len(answer["results"]) == 7
    assert all(len(hit["text"]) <= 3_002 for hit in answer["results"])


def test_a_daemon_that_is_away_is_an_answer():
    def away(*_):
        raise Unavailable("the daemon is down")

    answer = json.loads(tool.call(away, away, "mentisdb_recall", {"query": "a"}))
    assert answer == {"success": False, "error": "the daemon is down"}
