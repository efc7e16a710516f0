"""The file `.env`: what is written is read again, other lines stay, and no write is a half one."""

import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto.setup import dotenv

#: Values of an environment variable: any text without a NUL and without halves of characters.
VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)


@given(st.dictionaries(NAMES, VALUES, max_size=4), st.dictionaries(NAMES, VALUES, max_size=4))
def test_what_is_written_is_what_is_read(first, second):
    text = dotenv.merged(dotenv.merged("", first), second)
    assert dotenv.parsed(text) == first | second


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4))
def test_writing_twice_changes_nothing(values):
    text = dotenv.merged("", values)
    assert dotenv.merged(text, values) == text


OTHERS = (
    b"# X_KEY='not this one\n"
    b'export OTHER="two\\nlines" # why\r\n'
    b"LONG='one\nX_KEY=within\n'\n"
    b"  X_KEY = old # kept\n"
    b"\xff\xfe no text at all\n"
    b"LAST=without an end"
)


def test_every_other_line_stays_as_it_was(tmp_path):
    file = tmp_path / ".env"
    file.write_bytes(OTHERS)
    dotenv.write(file, {"X_KEY": "new one", "Y": "2"})
    assert file.read_bytes() == OTHERS.replace(b"old #", b"'new one' #") + b"\nY=2\n"


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path):
    file = tmp_path / ".env"
    file.write_text("A=1\n")
    file.chmod(0o644)
    dotenv.write(file, {"B": "2"})
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("A=1\n")
    (tmp_path / ".env").symlink_to("real")
    dotenv.write(tmp_path / ".env", {"B": "2"})
    assert (tmp_path / ".env").is_symlink()
    assert (tmp_path / "real").read_text() == "A=1\nB=2\n"


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    (tmp_path / ".env").write_text("A=1\n")
    monkeypatch.setattr(os, "fsync", lambda number: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        dotenv.write(tmp_path / ".env", {"A": "2"})
    assert [(item.name, item.read_text()) for item in tmp_path.iterdir()] == [(".env", "A=1\n")]
