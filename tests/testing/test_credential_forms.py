"""Credentials are found in a text in every form in which they are told, and in parts."""

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto.testing import credential_forms, wire
from memproto.testing.credential_forms import Hiding
from memproto.testing.judging.redaction import secrets, warnings
from memproto.testing.settings.order import Contact
from memproto.testing.settings.settings import Settings

KEY = "q7'Wz/4+x%Yb9&kd\"2 mP8nR5vT0sJ6hG3fL"

FORMS = {
    "plain": KEY,
    "repr": repr(KEY)[1:-1],
    "bytes": repr(KEY.encode())[2:-1],
    "json": json.dumps(KEY)[1:-1],
    "quote": quote(KEY, safe=""),
    "quote_plus": quote_plus(KEY),
    "hex": KEY.encode().hex(),
    "HEX": KEY.encode().hex().upper(),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "unpadded": base64.b64encode(KEY.encode()).decode().rstrip("="),
    "urlsafe": base64.urlsafe_b64encode(KEY.encode()).decode(),
    "of a user": base64.b64encode(b"user:" + KEY.encode()).decode(),
    "of us": base64.urlsafe_b64encode(b"us:" + KEY.encode() + b"!").decode().rstrip("="),
    "of me": base64.b64encode(b"m" + KEY.encode()).decode(),
    "head": KEY[:9],
    "tail": KEY[-9:],
    "34 of 36": KEY[1:35],
}


def shares(text, form):
    """True if a text holds as much of a form as is hidden."""
    return any(
        form[at : at + credential_forms.PART] in text
        for at in range(len(form) - credential_forms.PART + 1)
    )


@pytest.mark.parametrize("name", FORMS)
def test_each_form_of_a_credential_is_hidden(name):
    said = Hiding({KEY: "MINE"})(f"refused: {FORMS[name]} (401)")
    assert said.startswith("refused: ")
    assert "[MINE hidden]" in said
    assert not shares(said, FORMS[name])


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), min_size=12, max_size=60),
    st.text(max_size=9),
    st.data(),
)
def test_no_part_of_a_drawn_credential_is_left(key, before, data):
    hide = Hiding({key: "K"})
    size = len(key)
    start = data.draw(st.integers(0, size - credential_forms.PART))
    part = key[start : data.draw(st.integers(start + credential_forms.PART, size))]
    assert "hidden]" in hide(f"{before}{key}.")
    coded = base64.b64encode(f"{before}{key}".encode("utf-8", "surrogatepass")).decode()
    assert "[K hidden]" in hide(coded)
    if not credential_forms._is_word_of(key, part):
        assert "[K hidden]" in hide(f"<{part}>")


@pytest.mark.parametrize("text", ["memproto 1.0 token", "a test of memproto-x", "tokens"])
def test_a_plain_word_of_a_passphrase_is_no_part_of_it(text):
    assert Hiding({"memproto-test-token-1": "K"})(text) == text


def test_short_credentials_are_hidden_where_they_stand_alone():
    hide = Hiding({"ab12c": "PIN", "abc": "NONE"})
    assert hide("ab12c, xab12c, (ab12c), abc") == "[PIN hidden], xab12c, ([PIN hidden]), abc"


def test_a_run_warns_of_credentials_that_are_too_short_to_be_hidden_well():
    settings = Settings(env={"MY_TOKEN": "ab12c", "MODE": "x"}, config={"api_key": "abc"})
    one, other = warnings(settings)
    assert one.startswith("MY_TOKEN has 5 characters, and is hidden only where it stands by itself")
    assert other.startswith("api_key has 3 characters, and is not hidden")


def test_what_a_schema_calls_secret_is_a_credential_whatever_its_name():
    settings = Settings(env={"ACME_LOGIN": "harbour-1"}, config={"acme": {"login": 73_551_900}})
    assert secrets(settings, Contact()).keys().isdisjoint({"harbour-1", "73551900"})
    found = secrets(settings, Contact(secrets=["login", "ACME_LOGIN"]))
    assert {found["harbour-1"], found["73551900"]} == {"ACME_LOGIN", "login"}


@pytest.fixture
def hiding_wire():
    wire.hide_by(Hiding({KEY: "MINE"}))
    yield
    wire.hide_by(str)


@pytest.mark.parametrize("before", range(120, 175, 3))
@pytest.mark.parametrize("kind", [str, bytes, list, RuntimeError])
def test_a_credential_is_hidden_before_a_text_is_cut(hiding_wire, before, kind):
    text = "x" * before + KEY + " " * 200
    value = {str: text, bytes: text.encode(), list: [text], RuntimeError: RuntimeError(text)}[kind]
    for shown in (wire.show(value), wire.shorten(text, 2 * before), wire.plain(text * 40)):
        assert not shares(shown, KEY[:-10] if kind is bytes else KEY)


def test_a_text_of_100_megabytes_is_not_read_through(hiding_wire):
    asked = []
    wire.hide_by(lambda text: asked.append(len(text)) or text)
    assert wire.show("y" * 50_000_000).endswith("... (50000000 long)")
    assert max(asked) < 10_000
