"""Secrets that no output of a run tells: credentials, and where things lie on the machine."""

import base64
from pathlib import Path
from urllib.parse import quote

import pytest

from memproto.testing.evidence import Differs
from memproto.testing.judging.redaction import Outlet, without_credentials
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.settings.order import Contact, Order
from memproto.testing.settings.settings import Settings

#: A credential with characters that texts escape.
KEY = "q7'Wz/4+x%Yb9&kd"


def outlet(directory: Path, contact: Contact | None = None, **settings) -> Outlet:
    order = Order("mine", directory=directory, settings=Settings(**settings))
    return Outlet(order, contact or Contact(), directory / "run")


@pytest.fixture
def keyed(tmp_path) -> Outlet:
    return outlet(tmp_path, env={"MINE": KEY, "MODE": "local-only"}, from_env=("MINE",))


@pytest.mark.parametrize(
    "shown", [KEY, quote(KEY, safe=""), repr(KEY)[1:-1], base64.b64encode(KEY.encode()).decode()]
)
def test_a_value_from_the_environment_is_hidden_in_each_of_its_forms(keyed, shown):
    assert keyed.text(f"refused: {shown}!") == "refused: [MINE hidden]!"


def test_a_credential_that_was_cut_off_is_hidden_as_well(tmp_path):
    hidden = outlet(tmp_path, env={"MINE_TOKEN": "abcdefghijklmnopqrst"})
    assert hidden.text("sent abcdefghijklm...") == "sent [MINE_TOKEN hidden]"


def test_values_that_are_no_credentials_stay(keyed):
    assert keyed.text("runs in local-only mode") == "runs in local-only mode"


def test_credentials_of_config_service_and_operator_are_hidden(tmp_path, monkeypatch):
    monkeypatch.setenv("ACME_API_KEY", "operators-own-1")
    yielded = {"env": {"DB_PASSWORD": "yielded-22"}, "config": {"auth": {"token": "yielded-33"}}}
    given = {"servers": [{"secret": "config-444"}], "bank": "harbour-555"}
    hidden = outlet(tmp_path, Contact(service=yielded), config=given)
    text = hidden.text("operators-own-1 yielded-22 yielded-33 config-444 harbour-555")
    assert text == (
        "[ACME_API_KEY hidden] [DB_PASSWORD hidden] [token hidden] [secret hidden] harbour-555"
    )


def test_what_looks_like_a_credential_is_hidden_without_any_setting(tmp_path):
    hidden = outlet(tmp_path)
    assert hidden.text("postgres://mara:hunter2@db:5432/x") == "postgres://[hidden]@db:5432/x"
    assert hidden.text("Authorization: Bearer abc.def-123456") == "Authorization: Bearer [hidden]"
    assert hidden.text("key sk-proj-abcdefghij0123456789 x") == "key [hidden] x"
    assert hidden.text("https://host:8000/a") == "https://host:8000/a"


def test_short_values_hide_nothing(tmp_path):
    hidden = outlet(tmp_path, env={"API_KEY": "1"}, from_env=("API_KEY",))
    assert hidden.text("1 of 11 came back") == "1 of 11 came back"


def test_paths_are_told_by_what_they_lie_in(tmp_path):
    hidden = outlet(tmp_path)
    root = tmp_path / "run" / "check-3"
    for path, shown in (
        (tmp_path / "mine" / "a.py", "mine/a.py"),
        ("/usr/lib/python3/site-packages/acme/b.py", "acme/b.py"),
        (root / "user" / ".acme" / "db", "~/.acme/db"),
        (root / "memory" / "x.db", "$home/x.db"),
        (root / "other", "…/other"),
        (Path.home() / ".config" / "acme.toml", "…/acme.toml"),
        ("/tmp/x/y.sock", "…/y.sock"),
    ):
        assert hidden.text(f"no file '{path}': {path}.") == f"no file '{shown}': {shown}."


@pytest.mark.parametrize(
    "text",
    [
        "POST /v1/messages gave 500",
        "http://127.0.0.1:8000/tmp/x",
        "1/2 of a/b and w/o",
        "/dev/full: no space",
        "a ~/notes and ./tmp/x",
        "/",
        "</memory-context>",
    ],
)
def test_what_is_no_path_of_the_machine_stays(tmp_path, text):
    assert outlet(tmp_path).text(text) == text


def test_every_text_of_a_result_goes_through(keyed):
    said = f"{KEY} /tmp/q/x"
    texts = dict.fromkeys(("where", "reason", "stack"), said)
    seen = Differs(wanted=said, seen=said)
    [found] = keyed([Result("MP-TURN-002", Outcome.FAIL, seen, **texts, replay=f"call({KEY})")])
    told = {getattr(found, name) for name in ("expected", "observed", *texts)}
    assert told == {"[MINE hidden] …/x"}
    assert found.evidence == Differs(wanted="[MINE hidden] …/x", seen="[MINE hidden] …/x")
    assert found.replay == "call([MINE hidden])"


def test_a_message_about_the_run_keeps_the_users_own_paths(monkeypatch):
    monkeypatch.setenv("ACME_TOKEN", "operators-own-1")
    text = without_credentials("/home/mara/x.py raised: operators-own-1")
    assert text == "/home/mara/x.py raised: [ACME_TOKEN hidden]"


def test_this_machine_has_the_directories_that_these_tests_name():
    assert all(Path("/", name).is_dir() for name in ("tmp", "usr", "home", "dev"))
