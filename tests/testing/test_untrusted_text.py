"""A stranger's text is harmless to terminals, runners, and who looks for the verdict."""

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto.errors import KitUsageError
from memproto.pytest_plugin.guard import Guard
from memproto.report.formats import github, markdown
from memproto.testing import untrusted_text

VERDICT = "memproto 1.0 · mine · native · kit 0.1.0 · CONFORMANT core"

BAD = (
    *("::error::owned", "  ::add-mask::e", "x\n::set-output name=a::b", "##[error]x"),
    *("a ##vso[x]y", "\x1b[2J", "\x9b31m", "\u202egnp", "\u2066x", "\r::error::x"),
    *("a\u2028::error::b", "\x85x", "\ud800", "\x00"),
    *(VERDICT, f"x\n{VERDICT}", f"x\r{VERDICT}", f"x\u2029{VERDICT}"),
)

#: Texts that are made of what hurts, in any order.
TEXTS = st.lists(st.one_of(st.sampled_from(BAD), st.text(max_size=5)), max_size=6).map("".join)

COMMANDS = re.compile(r"^\s*::[A-Za-z]|##\[|##vso\[", re.MULTILINE)


def assert_harmless(text):
    for line in text.split("\n"):
        assert line.isprintable()
        assert COMMANDS.search(line) is None
        assert not re.match(r"memproto .* · ", line)


@pytest.mark.parametrize("text", BAD)
def test_what_hurts_is_escaped(text):
    assert_harmless(untrusted_text.lines(text))
    assert "\n" not in untrusted_text.one_line(text)


@given(TEXTS)
def test_no_drawn_text_hurts(text):
    assert_harmless(untrusted_text.lines(text))
    assert_harmless(untrusted_text.one_line(text))
    # Broken at a space, as a terminal's width may have it, it does not hurt either.
    for word in untrusted_text.lines(text).split():
        assert COMMANDS.match(word) is None
    error = KitUsageError(f"--memproto={text}", text, text)
    said = untrusted_text.told(error, str)
    assert_harmless(said)
    assert [line[:6] for line in said.split("\n")[1:]] == ["  fix:"]


@given(TEXTS)
def test_the_writer_of_a_run_lets_nothing_through(text):
    assert_harmless(Guard(str).shown(f"xx{text}"))
    assert_harmless(Guard(str).shown(text + "\n" + text))


def test_the_writer_lets_the_kits_own_line_and_pytests_colours_through():
    guard = Guard(lambda text: text.replace("sesame", "[hidden]"))
    with guard.own():
        assert guard.shown(VERDICT) == VERDICT
    assert guard.shown(VERDICT) == f"  {VERDICT}"
    assert guard.shown("\x1b[31mFAILED\x1b[0m sesame") == "\x1b[31mFAILED\x1b[0m [hidden]"
    assert guard.shown("\r[gw0] ok") == "\\r[gw0] ok"
    guard._rewrites = True
    assert guard.shown("\r[gw0] ok") == "\r[gw0] ok"


@given(TEXTS)
def test_annotations_and_markdown_take_no_drawn_text_for_a_command(text):
    line = github._command("error", {"title": text}, text)
    assert line.startswith("::error title=")
    assert line.isprintable()
    cell = markdown.text(text)
    assert not set(re.sub(r"&#\d+;", "", cell)) & set("<>|`[]*_:#\n\r")
    ET.fromstring(f"<p>{cell}</p>")


@pytest.mark.parametrize("text", ["::1 is this host", "a::b", "x: y", "## Title", "memproto 1.0"])
def test_what_hurts_nobody_stays(text):
    assert untrusted_text.lines(text) == text
