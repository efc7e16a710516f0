"""Entries of the builtin provider: their text on disk, and what the actions do to them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto.errors import Rejected, TooLarge, WriteRefused
from memproto.reference_providers.builtin import edits
from memproto.reference_providers.builtin.entries import (
    Entry,
    Unparsable,
    decode,
    encode,
    is_date,
    used_chars,
)

pytestmark = pytest.mark.once

DATE = "2026-03-04T05:06:07+00:00"
TRAPS = [
    "§", " § ", "\\u{41}", "\\u{5c}", "\\\\u{a7}", f"<!-- {DATE} -->", "<!-- 2026-03-04 -->", "\n",
    "\r\n", "\r", "\0", "\ud83d", "\ude00", "\ufeff", "\u2028", "\x85", "\x1c", "\xa0", " ", "\t",
    "\\", "u{", "}", "---", "# x", "😀", "é",
]  # fmt: skip
TEXTS = st.one_of(
    st.text(st.characters(), min_size=1),
    st.lists(st.one_of(st.sampled_from(TRAPS), st.text(max_size=3)), min_size=1).map("".join),
).filter(bool)
ENTRIES = st.lists(st.builds(Entry, TEXTS, st.sampled_from(["", DATE]))).map(tuple)


def entries(*contents: str) -> tuple[Entry, ...]:
    return tuple(Entry(content) for content in contents)


@given(ENTRIES)
def test_any_entries_come_back_from_their_bytes_equal(stored):
    assert decode(encode(stored)) == stored


@pytest.mark.parametrize("date", ["", DATE])
@pytest.mark.parametrize(
    "content",
    [
        "a\n§\nb",
        "a\n § \nb",
        "§",
        "<!-- 2026-03-04 -->",
        f"<!-- {DATE} -->  \nb",
        "a\n<!-- 2026-03-04 -->",
        " a ",
        "\na\n",
        "a\r\nb",
        "\\u{41}\\\\u{5c}u{41}",
        "\ud83d\ude00",
        "\ufeffa",
        "\0",
    ],
)
def test_text_that_looks_like_the_form_of_a_file_stays_one_equal_entry(content, date):
    stored = (Entry("before"), Entry(content, date), Entry("after"))
    assert decode(encode(stored)) == stored
    assert decode(encode(stored[1:])) == stored[1:]


@given(ENTRIES)
def test_a_file_is_utf_8_without_control_characters_whatever_is_stored(stored):
    text = encode(stored).decode()
    assert not any(ord(c) < 32 and c not in "\n\t" for c in text)


@given(ENTRIES)
def test_line_endings_changed_by_an_editor_change_no_entry(stored):
    assert decode(encode(stored).replace(b"\n", b"\r\n")) == stored


@given(ENTRIES)
def test_blank_lines_and_a_byte_order_mark_added_by_an_editor_change_no_entry(stored):
    text = encode(stored).decode()
    loose = "\n".join(f"\n{line}\n" if line == "§" else line for line in text.split("\n"))
    assert decode(b"\xef\xbb\xbf" + loose.encode() + b"\n\n") == stored


@given(st.lists(TEXTS.map(lambda t: t.encode("utf-8", "replace").decode())))
def test_what_a_person_typed_is_read_the_same_after_it_was_written_once(lines):
    raw = "\n§\n".join(lines).replace("\0", "").encode()
    assert decode(encode(decode(raw))) == decode(raw)


def test_a_hand_made_file_reads_as_its_entries_without_dates():
    raw = "first\n\n §\t\n\n  second line\nthird \\n C:\\users\\u{zz}\n§\n\n§\n".encode()
    assert decode(raw) == entries("first", "second line\nthird \\n C:\\users\\u{zz}")


def test_a_date_stands_on_the_line_before_the_text_and_is_no_part_of_it():
    raw = f"<!-- {DATE} -->\nuses conda\n".encode()
    assert encode((Entry("uses conda", DATE),)) == raw
    assert decode(raw) == (Entry("uses conda", DATE),)


def test_a_date_without_text_is_no_entry():
    assert decode(f"<!-- {DATE} -->\n§\nx\n".encode()) == entries("x")


def test_an_escape_beyond_the_last_code_point_is_plain_text():
    assert decode(rb"\u{110000}") == entries("\\u{110000}")


@pytest.mark.parametrize(
    ("raw", "where"),
    [(b"ok\n\xff", "byte 3"), (b"a\0b", "character 1"), ("x".encode("utf-16"), "byte 0")],
)
def test_bytes_that_are_no_text_are_named_with_their_place(raw, where):
    with pytest.raises(Unparsable, match=where):
        decode(raw)


def test_used_characters_are_those_shown_and_neither_dates_nor_escapes():
    assert used_chars(()) == 0
    assert used_chars((Entry("ab", DATE), Entry("\0§", DATE))) == len("ab\n§\n\0§")


@pytest.mark.parametrize("text", [DATE, "2026-03-04", "2026-03-04T05:06:07Z"])
def test_iso_dates_can_stand_in_a_file(text):
    assert is_date(text)


@pytest.mark.parametrize("text", ["", "yesterday", f"{DATE} -->\nx", "2026-03-04 "])
def test_other_texts_cannot_stand_as_a_date(text):
    assert not is_date(text)


def test_a_file_takes_exactly_its_limit_and_not_one_character_more():
    full = edits.add(entries("abc"), Entry("de"), limit=8)
    assert used_chars(full.entries) == 8
    with pytest.raises(WriteRefused, match=r"would hold 9 of 8 characters \(now: 37% — 3/8 chars"):
        edits.add(entries("abc"), Entry("def"), limit=8)


def test_a_text_over_the_limit_by_itself_is_too_large():
    assert edits.add((), Entry("x" * 8), limit=8).entries == entries("x" * 8)
    with pytest.raises(TooLarge):
        edits.add((), Entry("x" * 9), limit=8)
    with pytest.raises(TooLarge):
        edits.replace(entries("a"), "a", Entry("x" * 9), limit=8)


@pytest.mark.parametrize("content", ["", " ", "\n\t\u2003"])
def test_white_space_alone_is_nothing_to_store(content):
    with pytest.raises(Rejected):
        edits.add((), Entry(content), limit=99)


def test_the_same_text_is_stored_once_and_keeps_its_first_date():
    stored = (Entry("same", DATE),)
    assert edits.add(stored, Entry("same", "2027-01-01"), limit=99).entries == stored


def test_a_duplicate_is_no_error_when_the_file_is_full():
    assert edits.add(entries("12345678"), Entry("12345678"), limit=8).note.startswith("Already")


def test_a_replacement_takes_the_place_of_the_old_entry():
    outcome = edits.replace(entries("a", "old text", "c"), "old", Entry("new", DATE), limit=99)
    assert outcome.entries == (Entry("a"), Entry("new", DATE), Entry("c"))


def test_a_replacement_that_equals_another_entry_leaves_one_of_them():
    outcome = edits.replace(entries("a", "b", "c"), "c", Entry("a"), limit=99)
    assert outcome.entries == entries("a", "b")


def test_a_replacement_by_the_same_text_keeps_the_entry_and_its_date():
    stored = (Entry("same", DATE),)
    assert edits.replace(stored, "sam", Entry("same"), limit=99).entries == stored


def test_identical_copies_are_removed_together():
    outcome = edits.remove(entries("twin", "other", "twin"), "twi")
    assert outcome.entries == entries("other")
    assert "2 identical" in outcome.note


def test_identical_copies_are_replaced_by_one_entry():
    assert edits.replace(entries("t", "o", "t"), "t", Entry("n"), 99).entries == entries("n", "o")


def test_replacing_copies_by_their_own_text_leaves_one():
    assert edits.replace(entries("t", "o", "t"), "t", Entry("t"), 99).entries == entries("t", "o")


@pytest.mark.parametrize("act", [edits.remove, lambda e, s: edits.replace(e, s, Entry("n"), 99)])
def test_a_snippet_of_several_different_entries_is_refused_with_the_list(act):
    with pytest.raises(edits.Ambiguous) as refusal:
        act(entries("uses conda", "pip", "uses pip", "uses conda"), "uses")
    assert refusal.value.matches == ["uses conda", "uses pip"]


def test_an_entry_that_is_part_of_another_is_named_by_its_whole_text():
    assert edits.remove(entries("uses conda", "conda"), "conda").entries == entries("uses conda")


def test_a_snippet_that_no_entry_holds_is_refused():
    with pytest.raises(WriteRefused, match="no entry holds"):
        edits.remove(entries("a"), "b")


def test_an_empty_snippet_names_nothing():
    with pytest.raises(Rejected, match="old_text is empty"):
        edits.remove(entries("a"), "")


def test_a_file_made_too_long_by_hand_can_shrink_and_not_grow():
    long = entries("x" * 20, "y")
    assert edits.remove(long, "y").entries == entries("x" * 20)
    assert edits.replace(long, "y", Entry("z"), limit=8).entries == entries("x" * 20, "z")
    with pytest.raises(WriteRefused, match="300%"):
        edits.replace(long, "y", Entry("yy"), limit=8)


@pytest.mark.parametrize(
    ("used", "limit", "shown"),
    [
        (1496, 2200, "68% — 1,496/2,200 chars"),
        (990, 1375, "72% — 990/1,375 chars"),
        (2199, 2200, "99% — 2,199/2,200 chars"),
        (2200, 2200, "100% — 2,200/2,200 chars"),
    ],
)
def test_usage_shows_the_share_rounded_down_and_both_numbers(used, limit, shown):
    assert edits.usage(used, limit) == shown
