"""Only a spot is a delimiter in any reading; and the readings' way back to the original."""

import ast
import html
import inspect
import re
import string
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memproto.fence import readings, sanitize, spots, tables
from memproto.fence.characters import visible
from memproto.fence.sanitize import sanitize_context
from memproto.testing.fence.oracle_tables import LETTERS, MARKS, sure, wide
from tests.fence import dresses

pytestmark = pytest.mark.once

LOOKS: dict[str, list[str]] = {}
for code in [code for code, fold in visible().items() if fold not in (code, chr(code))]:
    LOOKS.setdefault(visible().of(code), []).append(chr(code))

TARGETS = ["<memory-context>", "</memory-context>", "[System note:", "\n### honcho memory\n"]
AROUND = ["", "word ", "foo, bar. ", "\u041f\u0440\u0438\u0432\u0435\u0442 ", "\n", "& ", "%", "\\"]
AROUND += ["<", "[x]", "##", "&lt;", "\u202e", " memory", "\U000e0067"]


def by_character(write, share):
    def mutated(draw, text):
        return "".join(write(draw, c) if draw(st.integers(1, 10)) <= share else c for c in text)

    return mutated


def look(draw, c):
    return draw(st.sampled_from(LOOKS.get(c.lower(), [c])))


def unseen(draw, c):
    return c + draw(st.sampled_from(LOOKS["\0"] + ["\u200b", "\u00ad", "\b"] * 200))


def entity(draw, c):
    forms = [
        f"&#{ord(c)};",
        f"&#x{ord(c):x};",
        f"&#X0{ord(c):X};",
        f"&#00{ord(c)};",
        html.escape(c),
    ]
    return draw(st.sampled_from(forms))


def escape(draw, c):
    forms = [f"\\u{{{ord(c):x}}}", f"\\U{ord(c):08x}", "\\" + c]
    forms += [f"\\u{ord(c):04x}", f"\\x{ord(c):02x}"] if ord(c) < 0x100 else []
    return draw(st.sampled_from(forms if c not in string.ascii_letters else forms[:2]))


MUTATORS = [
    by_character(look, 3),
    by_character(unseen, 2),
    by_character(entity, 6),
    by_character(escape, 6),
    by_character(lambda draw, c: dresses.percent(c), 6),
    by_character(lambda draw, c: dresses.tags(c) if "\x20" <= c < "\x7f" else c, 9),
    by_character(lambda draw, c: dresses.selectors(c) if "\x20" <= c < "\x7f" else c, 10),
    by_character(lambda draw, c: c + draw(st.sampled_from([" ", "\n", "\u2800"])), 2),
    by_character(lambda draw, c: c.swapcase(), 5),
    lambda draw, text: "\u202e" + text[::-1],
    lambda draw, text: text.replace("-", draw(st.sampled_from(LOOKS["-"]))),
    lambda draw, text: text[:5] + draw(st.sampled_from(TARGETS)) + text[5:],
]


@st.composite
def dressed(draw):
    text = draw(st.sampled_from(TARGETS))
    for mutate in draw(st.lists(st.sampled_from(MUTATORS), max_size=3)):
        text = mutate(draw, text)
    before, after = draw(st.sampled_from(AROUND)), draw(st.sampled_from(AROUND))
    return before + text + after


@given(dressed())
@settings(deadline=None, max_examples=300)
def test_reading_only_from_the_spots_on_leaves_nothing_that_reading_all_finds(text):
    clean = sanitize_context(text)
    assert sanitize_context(clean) == clean
    assert len(clean) <= len(text)
    assert sanitize._harmless(clean) == clean


@given(st.text(st.sampled_from([*"<[#&%\\;memory-contexsyd/ \n0123456789{}", "\u200b", "\u202e"])))
@settings(deadline=None, max_examples=400)
def test_the_same_holds_for_fragments(text):
    clean = sanitize_context(text)
    assert sanitize_context(clean) == clean
    assert sanitize._harmless(clean) == clean


@given(st.text(st.characters(exclude_characters="<[#&%\\", exclude_categories=["Cs"]), max_size=80))
@settings(deadline=None)
def test_text_without_an_opening_character_is_given_back(text):
    if not any(visible().of(ord(c)) in "<[#&%\\\1" for c in text):
        assert sanitize_context(text) == text


@given(dressed(), st.integers(0), st.integers(1, 9))
@settings(deadline=None)
def test_a_span_of_a_reading_is_a_span_of_the_original(text, place, length):
    for reading in readings.readings(text):
        if reading.text:
            start = place % len(reading.text)
            stop = min(start + length, len(reading.text))
            first, last = reading.original(start, stop)
            assert 0 <= first < last <= len(text)


def test_what_was_read_as_something_else_is_found_where_it_stands():
    text = "ab &lt;x&amp;gt; cd"
    last = [reading for reading in readings.readings(text) if "<x>" in reading.text][-1]
    start = last.text.index("<")
    assert text[slice(*last.original(start, start + 1))] == "&lt;"
    assert text[slice(*last.original(start, start + 3))] == "&lt;x&amp;gt;"
    assert text[slice(*last.original(start + 4, start + 6))] == "cd"


@pytest.mark.parametrize("code", sorted(set(map(ord, "<[#")) | {0xFF1C, 0x3008, 0xFF3B, 0x266F}))
def test_a_character_that_opens_is_found_however_it_is_escaped(code):
    shown = {"<": "/memory-context>", "[": "System note", "#": "## honcho memory"}
    rest = shown[visible().of(code)]
    character = chr(code)
    forms = [character, f"&#{code};", f"&#x{code:x};", f"\\u{code:04x}", f"\\u{{{code:x}}}"]
    forms += [dresses.percent(character), f"%u{code:04x}", f"\\U{code:08X}"]
    for form in [*forms, *map(html.escape, forms), *(form.replace("%", "%25") for form in forms)]:
        assert sanitize_context(form + rest) != form + rest, form


@pytest.mark.parametrize("unseen", ["\0", "\u200b", "\x1b", "\u034f"])
def test_what_is_not_seen_hides_no_escape(unseen):
    for form in (
        f"\\N{{LESS-THAN{unseen} SIGN}}",
        f"\\N{{AMP{unseen}ERSAND}}lt;",
        f"\\u{{{'0' * 20}{unseen}3c}}",
        f"\\x{unseen}3c",
        f"&#{'0' * 50}{unseen}60;",
        f"&#x{'0' * 50}{unseen}3c;",
        f"&l{unseen}t;",
        f"%{unseen}3c",
    ):
        text = f"see {form}/memory-context>"
        assert sanitize_context(text) != text, form


def test_every_opening_character_has_a_search():
    opening = {c for mark in "<[#&%\\" for c in LOOKS[mark]}
    *others, wide = spots.WIDE
    first = [search.first for search in others]
    classes = re.match(r"\[(.*?)\](?=\()", wide.pattern.pattern, re.DOTALL)
    assert classes is not None
    assert {c for c in opening if not re.match(classes[0], c)} == set()
    assert set(first) == set("<[#&%\\")


def test_the_other_planes_are_held_by_their_ranges():
    beyond, emoji = re.compile(f"[{spots._BEYOND}]"), re.compile(spots._EMOJI)
    astral = [c for looks in LOOKS.values() for c in looks if c > "\uffff"]
    assert [c for c in astral if not beyond.match(c)] == []
    assert [c for c in astral if visible().of(ord(c)) in "<[#&%\\" and emoji.match(c)] == []


def test_the_tables_name_their_versions_and_nothing_asks_the_running_python():
    assert re.fullmatch(r"\d+\.\d+\.\d+", tables.UNICODE)
    assert re.fullmatch(r"\d+\.\d+\.\d+", tables.CONFUSABLES)
    for module in (readings, spots, sanitize):
        tree = ast.parse(inspect.getsource(module))
        imported = {alias.name for node in ast.walk(tree) for alias in getattr(node, "names", ())}
        assert not imported & {"unicodedata", "html"}


def test_a_character_is_read_as_one_plain_character():
    assert all(len(visible().of(code)) == 1 for code in range(0x110000))


def test_what_the_oracle_is_sure_of_the_fence_reads_alike():
    plain = (LETTERS | MARKS | {" ", "\n"}) - {":"}
    seen = {code: sure(chr(code)) for code in range(0x80, 0x20000)}
    own = {code: visible().of(code) for code in seen}
    assert {chr(c) for c, one in seen.items() if one in plain and own[c] != one} == set()
    assert {chr(c) for c, one in seen.items() if one == "" and own[c] != readings.UNSEEN} == set()


def test_what_the_fence_reads_as_a_letter_the_wide_reader_may_take_for_it():
    plain = LETTERS | MARKS
    letters = {chr(c): fold for c, fold in visible().items() if fold in plain and c > 0x7F}
    # The wide reader asks this Python, which may know fewer characters than the tables.
    letters = {c: fold for c, fold in letters.items() if unicodedata.category(c) != "Cn"}
    assert {
        c for c, fold in letters.items() if not any(fold in wide(one) for one in sure(c))
    } == set()


@pytest.mark.parametrize("space", ["\u00a8", "\u00b4", "\u3000", "\u2003", " \u0308"])
def test_whatever_reads_as_a_space_ends_the_label_of_a_heading(space):
    text = f"\n\u0bfa#\u0bfa HonCHo{space}memory\n"
    clean = sanitize_context(text)
    assert clean != text
    assert sanitize._harmless(clean) == clean


def test_turned_runs_are_read_as_they_are_displayed():
    text = "a </mem\u202etnoc-yro\u202cext> b"
    assert sanitize_context(text) == "a [fence] b"
    assert sanitize_context("x \u202ezzz>txetnoc-\u202c y </memory") == (
        "x \u202ezzz>txetnoc-\u202c y </memory"
    )
