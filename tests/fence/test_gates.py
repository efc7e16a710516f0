"""A gate lets through what its search finds: no spot is missed before the search is compiled."""

import itertools
import random
import re

import pytest

from memproto import sanitize_context
from memproto.fence import gates, spots
from memproto.testing.fence.attacks import attack, near_miss

#: Of each class that the searches tell apart, one or two.
ALPHABET = "mMeErnsyNxUuv0127bfcCdagltpLnum#&%\\;{}|+ -\n\t\x00\x1f/!?<[.'z"


@pytest.mark.parametrize("search", spots.PLAIN, ids=lambda search: search.first)
def test_what_follows_in_every_way_is_let_through(search):
    full, gate = search.pattern, gates.gate(search.first)
    for length, letters in ((2, ALPHABET), (3, ALPHABET[::2]), (4, "me#&%\\ xn0ulst|2")):
        for behind in itertools.product(letters, repeat=length):
            text = search.first + "".join(behind)
            assert not full.match(text) or gate.match(text), text


@pytest.mark.parametrize("search", spots.PLAIN, ids=lambda search: search.first)
def test_what_is_drawn_is_let_through(search):
    rng, found = random.Random(search.first), 0
    for number in range(2_000):
        text = near_miss(rng) if number % 3 == 0 else attack(rng).text
        text = text.encode("ascii", "replace").decode()
        for match in re.finditer(re.escape(search.first), text):
            if search.pattern.match(text, match.start()):
                found += 1
                assert gates.gate(search.first).match(text, match.start()), text
    assert found > 20


def test_common_text_gets_past_no_gate():
    text = (
        "# Ports of the north\n\nSee [the list](ports.md#north) or <b>run</b> `make; ./sync`;\n"
        "50% of it costs $5 & more, C:\\data\\old, &nbsp; a < b, [x] done. <br/><table><div>\n"
    )
    assert [one.first for one in spots.PLAIN if gates.gate(one.first).search(text)] == []
    assert sanitize_context(text) == text
