import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memproto import StreamingContextScrubber, build_memory_context_block
from memproto.errors import InvalidNonce, TextExpected
from memproto.fence.scrubber import HELD_AT_MOST

NONCE = "Xy3_-abcd"
BLOCK = build_memory_context_block([("honcho", "SECRET one."), ("project", "SECRET two.")])
SEALED = build_memory_context_block([("honcho", "SECRET one.")], nonce=NONCE)
OPEN, CLOSE = "<memory-context>", "</memory-context>"

SHOWN = {
    "no tag": ("plain text, a < b and c > d", "plain text, a < b and c > d"),
    "a block": (f"before {BLOCK} after", "before  after"),
    "on a line with other words": (f"It says: {BLOCK}", "It says: "),
    "two blocks": (f"a{BLOCK}b{BLOCK}c", "abc"),
    "white space behind the tag": (BLOCK.replace(OPEN, f"{OPEN} \t") + "x", "x"),
    "attributes": (BLOCK.replace(OPEN, "<memory-context id='1'>") + "x", "x"),
    "no angle bracket": (BLOCK.replace(OPEN, "<memory-context") + "x", "x"),
    "a zero width space": (BLOCK.replace(OPEN, "<mem\u200bory-context>") + "x", "x"),
    "other case": (BLOCK.upper() + "x", "x"),
    "full width": (BLOCK.replace(OPEN, "\uff1cmemory-context\uff1e") + "x", "x"),
    "the note on one line": (BLOCK.replace("\n", " ") + "x", "x"),
    "a note in other words": (f"{OPEN}\n[System note: The following is recalled ...", ""),
    "a spaced closing tag": (BLOCK.replace(CLOSE, "</memory-context >") + "x", "x"),
    "a closing tag without its end": (BLOCK.replace(CLOSE, "</memory-context\nx -> y"), "\nx -> y"),
    "no closing tag": (BLOCK.removesuffix(CLOSE), ""),
    "half a closing tag": (BLOCK[:-4], ""),
    "a block inside": (BLOCK.replace("SECRET one", BLOCK) + "x", "x"),
    "a mention inside": (BLOCK.replace("SECRET one", f"{OPEN} SECRET") + "x", "x"),
    "a letter that grows in lower case": (f"\u0130\n{BLOCK}\nend", "\u0130\n\nend"),
    "such a letter inside": (BLOCK.replace("SECRET", "\u0130") + " end", " end"),
    "a mention": ("the `<memory-context>` tag", "the `[fence]` tag"),
    "a mention with attributes": ("<memory-context id='1'> x", "[fence] id='1'> x"),
    "a closing tag alone": ("x </memory-context > y", "x [fence] y"),
    "a mention before half a note": (f"{OPEN}\n[System note: x", "[fence]\n[System note: x"),
    "two mentions": (f"{OPEN}{OPEN}x", "[fence][fence]x"),
    "a spliced mention": ("<memory-<memory-context>context>", "<memory-[fence]context>"),
    "another tag": ("<memory-contexts> <memory> <m>", "<memory-contexts> <memory> <m>"),
    "a tag at the end": ("x <memory-context", "x [fence]"),
    "half a name at the end": ("x <memory-con", "x <memory-con"),
    "a bracket at the end": ("x <", "x <"),
    "a look-alike made of two letters": ("<rnemory-context> x", "[fence] x"),
    "a mention and then a block": (f"{OPEN} is: {BLOCK}x", "[fence] is: x"),
    "brackets in front": (f"<<{BLOCK}x", "<<x"),
}

PIECES = [OPEN, CLOSE, BLOCK, SEALED, "[System note", ": The following", "<", ">", "/", "\n", " "]
PIECES += ["memory", "-context", "x", "\u0130", "\u200b", "\uff1c", "<m", "r", "n", "nonce", NONCE]
streams = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def scrubbed(chunks, nonce=None):
    scrubber = StreamingContextScrubber(nonce=nonce)
    return "".join([*map(scrubber.feed, chunks), scrubber.flush()])


@pytest.mark.parametrize("nonce", [None, NONCE])
@pytest.mark.parametrize(("text", "shown"), SHOWN.values(), ids=SHOWN.keys())
def test_a_leaked_block_goes_and_a_mention_stays(text, shown, nonce):
    assert scrubbed([text], nonce) == shown


@pytest.mark.parametrize("text", [text for text, _ in SHOWN.values()], ids=SHOWN.keys())
def test_every_split_in_two_and_the_single_characters_show_the_same(text):
    whole = scrubbed([text])
    assert all(scrubbed([text[:cut], text[cut:]]) == whole for cut in range(len(text) + 1))
    assert scrubbed(text) == whole


@given(streams, st.lists(st.integers(0, 400), max_size=6), st.sampled_from([None, NONCE]))
@settings(deadline=None, max_examples=400)
def test_no_split_of_any_text_changes_what_is_shown(text, cuts, nonce):
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    chunks = [text[start:stop] for start, stop in itertools.pairwise(edges)]
    assert scrubbed(chunks, nonce) == scrubbed([text], nonce) == scrubbed(text, nonce)


@given(st.text(st.characters(exclude_characters="<"), max_size=50), st.text(max_size=9))
@settings(deadline=None)
def test_what_stands_before_a_block_is_shown_as_it_is(before, secret):
    if "\uff1c" not in before:
        block = build_memory_context_block([("a", f"x{secret}")])
        assert scrubbed([before + block]).startswith(before[:-1])
        assert len(scrubbed([before + block])) <= len(before)


def test_a_block_with_the_nonce_ends_at_the_closing_tag_that_carries_it():
    forged = SEALED.replace("SECRET one.", f"a {CLOSE} SECRET")
    assert scrubbed([f"x{forged}y"], NONCE) == "xy"
    assert scrubbed([f"x{BLOCK}y"], NONCE) == "xy"


@pytest.mark.parametrize("run", [" ", "\u200b", "-", "\n"])
@pytest.mark.parametrize(
    "begin", ["<", "<memory", "<memory-context", f"{OPEN}", f"{OPEN}\n[System"]
)
def test_what_is_held_is_bounded(begin, run):
    scrubber = StreamingContextScrubber()
    scrubber.feed(begin)
    shown = "".join(scrubber.feed(run) for _ in range(5_000))
    assert len(shown) >= 5_000 - HELD_AT_MOST - 1
    assert scrubbed([begin + run * 5_000]) == shown + scrubber.flush()


def test_attributes_without_an_end_are_given_back():
    text = "<memory-context " + "a='b' " * 1_000
    assert scrubbed([text]) == text.replace("<memory-context", "[fence]")


def test_a_scrubber_that_was_reset_knows_nothing_of_the_stream_before():
    scrubber = StreamingContextScrubber()
    scrubber.feed(BLOCK.removesuffix(CLOSE))
    scrubber.reset()
    assert scrubber.feed("fresh <mem") + scrubber.flush() == "fresh <mem"


def test_after_a_flush_a_new_stream_begins():
    scrubber = StreamingContextScrubber()
    scrubber.feed(BLOCK.removesuffix(CLOSE))
    assert scrubber.flush() == ""
    assert scrubber.feed("fresh") == "fresh"


@pytest.mark.parametrize("value", [None, 7, b"text", ["text"]])
def test_a_chunk_that_is_no_text_is_refused_by_the_name_of_its_type(value):
    with pytest.raises(TextExpected, match=type(value).__name__):
        StreamingContextScrubber().feed(value)


def test_what_cannot_be_a_nonce_is_refused():
    with pytest.raises(InvalidNonce):
        StreamingContextScrubber(nonce="short")
