"""A text that is folded is read as before, and what is found by it is found without it."""

import random

import pytest

from memproto import sanitize_context
from memproto.fence import folding, sanitize, tables
from memproto.fence.characters import codes, smuggled, visible
from memproto.testing.fence.attacks import attack, near_miss


def test_a_folded_character_is_read_as_before_by_every_reader():
    several = {code for ranges in tables.SEVERAL.values() for code in codes(ranges)}
    folds = 0
    for code in range(0x80, 0x30000):
        text = folding.folded("only one of many " + chr(code))
        if text is None:
            continue
        fold = text[-1]
        folds += fold != chr(code)
        assert len(text) == 18
        assert code not in several
        for reader in (visible(), smuggled()):
            assert fold.translate(reader) == chr(code).translate(reader), hex(code)
    assert folds > 3_000


@pytest.mark.parametrize("odd", ["\ud800", "\u202e", "\u2067", "\U000e003c", "\U000e0130"])
def test_a_text_with_an_odd_character_is_left_alone(odd):
    assert folding.folded("a plain text " + odd) is None
    assert folding.folded("a plain text —") == "a plain text -"


def test_a_text_of_others_mostly_is_left_to_the_large_classes():
    assert folding.folded("渡轮六点出发" * 1_000) is None
    assert (
        folding.folded("The ferry — leaves at six. " * 1_000)
        == "The ferry - leaves at six. " * 1_000
    )


def test_what_comes_out_is_the_same_without_folding(monkeypatch):
    rng, folds = random.Random(11), 0
    for number in range(1_500):
        text = near_miss(rng) if number % 3 == 0 else attack(rng).text
        if number % 2:
            text = "Früh um sechs — „ja“ [x] & <b>. " * rng.choice((1, 40)) + text + " → 渡轮 é\n"
        folds += not text.isascii() and folding.folded(text) is not None
        clean = sanitize_context(text)
        with monkeypatch.context() as without:
            without.setattr(sanitize, "folded", lambda _text: None)
            assert sanitize_context(text) == clean, text
    assert folds > 100


def test_characters_of_earlier_texts_are_replaced_first_with_the_same_result(monkeypatch):
    rng, marks = random.Random(12), "\u2014\u2013\u201e\u201c\u2019ß→é①\u202e😀<&"
    monkeypatch.setattr(folding, "most_short", 0)  # it counts texts, of which each is read twice
    folds = quick = 0
    for _ in range(4_000):
        drawn = marks[: rng.choice((5, len(marks)))]  # the first five are read as ASCII
        some = rng.sample(drawn, rng.randrange(1, 6))
        words = ["six ", "[x] ", "seven ", "The ferry leaves. "] * rng.choice((1, 4, 16))
        text = "".join(rng.choice([*words, *some]) for _ in range(rng.choice((9, 90, 900))))
        quick += bool(folding._USUAL) and folding._folded_as_usual(text) is not None
        warm = folding.folded(text)
        folds += warm is not None
        with monkeypatch.context() as anew:
            anew.setattr(folding, "_USUAL", [])
            assert folding.folded(text) == warm, text
    assert 1_000 < folds < 4_000
    assert quick > 100
    assert len(folding._USUAL) <= folding._MOST_USUAL


def test_a_text_that_begins_with_others_is_left_to_the_large_classes_each_time():
    text = "—" * 200 + " and so on" * 1_000
    assert [folding.folded(text), folding.folded("one —"), folding.folded(text)] == [
        None,
        "one -",
        None,
    ]


def test_texts_that_keep_other_characters_are_not_searched_for_the_usual_ones_for_long():
    assert folding.folded("one —") == "one -"
    assert folding._USUAL
    for _ in range(folding._MOST_USUAL):
        assert folding.folded("one — and → two") == "one - and → two"
    assert not folding._USUAL
