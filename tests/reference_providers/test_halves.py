"""Half surrogates become what UTF-8 can hold, and nothing else changes."""

import pytest

from memproto.reference_providers import halves


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("", ""),
        ("plain, älter, 渡轮, \0, 🚢", "plain, älter, 渡轮, \0, 🚢"),
        ("\ufeff\ufeffmarks", "\ufeff\ufeffmarks"),
        ("\ud83d\udea2", "🚢"),
        ("a\ud83db", "a\ufffdb"),
        ("a\udea2\ud83d", "a\ufffd\ufffd"),
        ("\ud83d\ud83d\udea2", "\ufffd🚢"),
    ],
)
def test_halves_that_stand_side_by_side_are_joined_and_others_replaced(text, sent):
    assert halves.joined(text) == sent
    halves.joined(text).encode("utf-8")
