import random

import pytest
from hypothesis import given, settings

from memproto.testing.fence.attacks import attack, attacks, cut, disguised, near_miss
from memproto.testing.fence.disguises import DISGUISES, TARGETS, WIDE_DISGUISES, looks
from memproto.testing.fence.oracle import effective, may, must
from memproto.testing.fence.oracle_tables import sure
from tests.testing.fence.attack_search import FAMILIES, first_hits, single_pass

ALL = DISGUISES | WIDE_DISGUISES


@pytest.mark.parametrize("name", DISGUISES)
def test_a_delimiter_in_one_disguise_is_still_one(name):
    targets, _ = DISGUISES[name]
    for seed in range(60):
        rng = random.Random(seed)
        tried = disguised(rng.choice(targets), (name,), rng)
        assert effective(tried.text), tried


@pytest.mark.parametrize("name", WIDE_DISGUISES)
def test_a_disguise_beyond_the_levels_is_in_the_margin(name):
    targets, _ = WIDE_DISGUISES[name]
    seen = [disguised(targets[0], (name,), random.Random(seed)).text for seed in range(40)]
    assert any(not must(text) and may(text) for text in seen)


@pytest.mark.parametrize("name", ALL)
def test_a_disguise_changes_what_it_dresses(name):
    targets, disguise = ALL[name]
    for target in targets:
        dressed = {disguise(random.Random(seed), TARGETS[target]) for seed in range(20)}
        assert dressed != {TARGETS[target]}


def test_the_same_seed_draws_the_same_attacks():
    one, other = ([attack(random.Random(5)) for _ in range(20)] for _ in range(2))
    assert one == other


@given(attacks())
@settings(max_examples=100, deadline=None)
def test_an_attack_holds_its_core_and_says_what_it_wears(tried):
    assert tried.core in tried.text
    assert len(tried.families) <= 3
    assert set(tried.families) <= set(ALL)
    assert tried.families or effective(tried.text) or tried.target == "role"


def test_pieces_of_a_text_are_the_text():
    rng = random.Random(3)
    for _ in range(50):
        text = near_miss(rng)
        pieces = cut(text, rng)
        assert "".join(pieces) == text
        assert 2 <= len(pieces) <= 6


def test_most_near_misses_are_no_attack():
    rng = random.Random(1)
    texts = [near_miss(rng) for _ in range(300)]
    assert sum(1 for text in texts if not may(text)) > 200


def test_every_letter_and_bracket_has_look_alikes():
    table = looks()
    assert all(len(table[symbol]) >= 3 for symbol in "memorycontexts<>[-")
    assert all(sure(look) == symbol for symbol, some in table.items() for look in some)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_family_is_found_in_a_single_pass_strip_within_2000_examples(seed):
    hits = first_hits(single_pass, seed, 2_000)
    assert set(FAMILIES) <= set(hits), hits


def test_the_single_pass_strip_takes_away_what_is_not_disguised():
    assert effective(single_pass(f"a {TARGETS['open']} b {TARGETS['close']} c")) == []
