import random

import pytest

from memproto.fence import sanitize_context
from memproto.testing.clauses import Violation
from memproto.testing.evidence import Differs
from memproto.testing.fence import harness
from memproto.testing.fence.oracle import effective, may
from memproto.testing.fence.spellings import each_form, forms, misspelled, spelled

DRAWN = 400


def drawn(draw, seed):
    rng = random.Random(seed)
    return [draw(rng) for _ in range(DRAWN)]


def test_each_form_of_each_character_is_a_delimiter_that_the_reference_fence_takes_out():
    texts = [*each_form()]
    unread = [text for text in texts if not effective(text)]
    assert len(unread) < len(texts) / 40, "a digit behind a code without its end is of it"
    assert [text for text in texts if effective(sanitize_context(text))] == []


@pytest.mark.parametrize("seed", [1, 2])
def test_escapes_of_escapes_mostly_hold_a_delimiter_and_are_taken_out(seed):
    texts = drawn(spelled, seed)
    assert sum(bool(effective(text)) for text in texts) > DRAWN / 3
    assert [text for text in texts if effective(sanitize_context(text))] == []


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_misspelled_is_mostly_seen_by_nobody_and_stays(seed):
    texts = drawn(misspelled, seed)
    harmless = [text for text in texts if not may(text)]
    assert len(harmless) > DRAWN / 2
    assert [text for text in harmless if sanitize_context(text) != text] == []


def test_the_same_seed_draws_the_same_texts():
    assert drawn(spelled, 5) == drawn(spelled, 5) != drawn(spelled, 6)


def test_a_character_is_written_for_each_decoder():
    assert {"&lt;", "&LT", "&#60", "&#X003C;", "%3c", "\\u003c", "\\x3C", "\\74"} <= {*forms("<")}
    assert {"%ef%bc%9c", "\\uff1c", "\\N{FULLWIDTH LESS-THAN SIGN}"} <= {*forms("\uff1c")}
    assert "\\udb40\\udc3c" in forms("\U000e003c")


def test_a_text_that_gets_through_is_told_by_what_it_cannot_do_without():
    def holds(text):
        if "%3c" in text and "x" in text:
            raise Violation(Differs(wanted="less", seen=text))

    with pytest.raises(Violation) as found:
        harness._shortest("a & b\n<%3c/memory-context>", holds)
    assert found.value.evidence.seen == "%3cx"
    harness._shortest("nothing", holds)
