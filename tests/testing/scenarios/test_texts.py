"""The odd texts of the kit."""

from unittest.mock import MagicMock

import pytest
from hypothesis import find, given, settings

from memproto.errors import Rejected
from memproto.testing.facts import Facts
from memproto.testing.provider.subject import HookRaised
from memproto.testing.scenarios import smallest, texts


def _is_surrogate(character: str) -> bool:
    return 0xD800 <= ord(character) <= 0xDFFF


def test_the_named_texts_hold_what_the_specification_names() -> None:
    everything = "".join(texts.NAMED.values())
    assert "" in texts.NAMED.values()
    assert any(_is_surrogate(character) for character in everything)
    for wanted in ("\x00", "\u202e", "\u200d", "\r\n", "\n§\n", "</memory-context>", "DROP TABLE"):
        assert wanted in everything
    assert max(map(len, texts.NAMED.values())) == 25_000
    assert [len(text) for text in texts.LONG.values()] == [100_000]


def test_no_two_named_texts_are_equal() -> None:
    assert len(set(texts.NAMED.values())) == len(texts.NAMED)


def test_generated_texts_are_the_same_for_the_same_seed_only() -> None:
    assert texts.generated(3, 20) == texts.generated(3, 20)
    assert set(texts.generated(3, 20)) != set(texts.generated(4, 20))


def test_generated_texts_reach_surrogates_and_nul_within_the_examples_of_ci() -> None:
    everything = "".join(texts.generated(0, 50).values())
    assert "\x00" in everything
    assert any(_is_surrogate(character) for character in everything)


def test_any_text_finds_a_lone_surrogate() -> None:
    strategy = texts.any_text()
    found = find(strategy, lambda text: any(map(_is_surrogate, text)), settings=_QUICK)
    assert _is_surrogate(found[0])


_QUICK = settings(database=None, derandomize=True, max_examples=500, deadline=None)


@given(texts.any_text())
@settings(_QUICK, max_examples=50)
def test_any_text_gives_str(text: str) -> None:
    assert type(text) is str


def test_every_text_is_used_after_one_raised() -> None:
    used: list[str] = []

    def use(text: str) -> None:
        used.append(text)
        if text == "b":
            raise HookRaised("record", ValueError("b"))

    given = {"first": "a", "second": "b", "third": "c"}
    found = texts.raised_for(MagicMock(), given, use, makes_smaller=False)
    assert used == ["a", "b", "c"]
    assert [one.name for one in found] == ["second"]


def test_no_odd_text_is_used_or_told_if_a_plain_one_raises() -> None:
    used: list[str] = []

    def use(text: str) -> None:
        used.append(text)
        raise HookRaised("mirror", FileNotFoundError("tokenizer.json"))

    found = texts.raised_for(MagicMock(), texts.NAMED, use)
    assert used == [smallest.PLAIN]
    assert [one.name for one in found] == [f"the plain text {smallest.PLAIN!r}"]


def test_odd_texts_are_used_after_a_refusal_of_a_plain_one() -> None:
    def use(text: str) -> None:
        raise HookRaised("mirror", ValueError(text) if text == "b" else Rejected(text))

    found = texts.raised_for(MagicMock(), {"first": "a", "second": "b"}, use)
    assert [one.name for one in found] == ["second"]


def test_a_text_is_filled_to_the_very_character() -> None:
    for chars in (60, 61, 117, 118, 119, 8_000):
        text = texts.filled("My boat lies in the marina.", chars)
        assert len(text) == chars
        assert text.startswith("My boat lies in the marina. ")


def test_what_ends_the_process_is_not_swallowed() -> None:
    use = MagicMock(side_effect=HookRaised("record", SystemExit(3)))
    with pytest.raises(HookRaised):
        texts.raised_for(MagicMock(), {"first": "a"}, use)


def test_the_name_of_a_fact_is_in_its_text_and_not_in_its_question() -> None:
    for fact in Facts(1).several(20):
        assert fact.is_in(fact.text)
        assert not fact.is_in(fact.query)
        assert not fact.is_in(None)
