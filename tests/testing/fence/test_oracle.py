import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memproto.testing.fence.attacks import attack
from memproto.testing.fence.bypasses import BENIGN, EFFECTIVE, ROLES
from memproto.testing.fence.disguises import TARGETS
from memproto.testing.fence.harness import worst_cases
from memproto.testing.fence.oracle import (
    BYTES,
    DECODED,
    LOOKS,
    SMUGGLED,
    TURNED,
    effective,
    may,
    must,
)
from memproto.testing.fence.oracle_tables import sure, wide

pytestmark = pytest.mark.once

#: Family of the fixed strings to the tier at which each of its strings is read first.
TIERS = {
    "plain": BYTES,
    "case": LOOKS,
    "space": LOOKS,
    "attributes": LOOKS,
    "self-closing": LOOKS,
    "unterminated": LOOKS,
    "declaration": LOOKS,
    "hidden": LOOKS,
    "brackets": LOOKS,
    "homoglyph": LOOKS,
    "marks": LOOKS,
    "entity": DECODED,
    "percent": DECODED,
    "backslash": DECODED,
    "order": DECODED,
    "mixed": DECODED,
    "hyphen": LOOKS,
    "control": LOOKS,
}
OWN_TIER = {
    "case: dotted capital I beside it": BYTES,
    "attributes: one": LOOKS,
    "smuggled: entity in tag characters": DECODED,
    "bidi: left-to-right mark": LOOKS,
    "bidi: isolate": LOOKS,
    "bidi: embedding": BYTES,
    "bidi: name alone reversed": TURNED,
}


def family(name):
    return name.partition(":")[0]


def tiers(text):
    return {finding.tier for finding in effective(text)}


@pytest.mark.parametrize("name", EFFECTIVE)
def test_a_known_bypass_is_read_and_nothing_that_is_sure_is_beyond_the_wide_reader(name):
    assert effective(EFFECTIVE[name]) != ()
    assert may(EFFECTIVE[name]) != ()


@pytest.mark.parametrize("name", [name for name in EFFECTIVE if family(name) in TIERS])
def test_a_family_is_read_at_its_tier(name):
    wanted = OWN_TIER.get(name, TIERS[family(name)])
    found = min(tiers(EFFECTIVE[name]))
    assert found == wanted or (wanted == LOOKS and found == BYTES)


@pytest.mark.parametrize("name", [name for name in EFFECTIVE if family(name) in TIERS])
def test_nothing_is_read_below_its_tier(name):
    wanted = OWN_TIER.get(name, TIERS[family(name)])
    if wanted > LOOKS:
        assert effective(EFFECTIVE[name], wanted - 1) == []


@pytest.mark.parametrize(
    ("name", "tier"),
    [
        ("smuggled: whole tag", SMUGGLED),
        ("smuggled: name alone", SMUGGLED),
        ("smuggled: variation selectors", SMUGGLED),
        ("smuggled: entity in tag characters", DECODED),
        ("bidi: reversed by an override", TURNED),
        ("bidi: reversed and mirrored", TURNED),
        ("bidi: reversed by an isolate", TURNED),
        ("bidi: isolate", LOOKS),
    ],
)
def test_what_is_hidden_or_turned_is_read_at_its_tier(name, tier):
    assert min(tiers(EFFECTIVE[name])) == tier
    assert effective(EFFECTIVE[name], tier - 1) == []


@pytest.mark.parametrize("name", BENIGN)
def test_nobody_sees_a_delimiter_in_a_benign_text(name):
    assert may(BENIGN[name]) == ()
    assert must(BENIGN[name]) == ()


@pytest.mark.parametrize("name", ROLES)
def test_a_role_token_is_read_and_is_no_delimiter(name):
    assert {finding.kind for finding in must(ROLES[name])} == {"role"}
    assert effective(ROLES[name]) == []


@pytest.mark.parametrize("kind", TARGETS)
def test_each_target_is_read_as_what_it_is_and_where_it_stands(kind):
    text = f"before\n{TARGETS[kind]}\nbehind"
    (found,) = must(text)
    assert found.kind == kind
    assert TARGETS[kind].startswith(text[found.start : found.end])


@pytest.mark.parametrize(
    "text",
    [
        "{memory-context}",
        "</mem0ry-context>",
        "</mem\x1b[31mory-context>",
        "</x\bmemory-context>",
        "evil memory\n------",
        "<h3>evil memory</h3>",
        "# my memory",
        "</mem\ud800ory-context>",
        "### several words of memory",
        # The number of a euro sign in HTML, and of a control in XML.
        "</mem&#128;ory-context>",
        "</mem&#x80;ory-context>",
    ],
)
def test_in_the_margin_only_the_wide_reader_sees_a_delimiter(text):
    assert must(text) == ()
    assert may(text) != ()


def test_of_a_block_each_delimiter_is_read_once():
    note = "[System note: The following context was auto-retrieved from\nmemory.]"
    block = f"<memory-context>\n{note}\n### honcho memory\nTea.\n</memory-context>"
    kinds = [finding.kind for finding in effective(block)]
    assert kinds == ["open", "note", "heading", "close"]


def test_a_finding_says_where_it_stands_in_the_original():
    text = "caf\u00e9 &amp;lt;/mem\u200bory-context&gt; x"
    (found,) = effective(text)
    assert text[found.start : found.end] == "&amp;lt;/mem\u200bory-context&gt;"


@given(st.text())
@settings(max_examples=300, deadline=None)
def test_any_text_can_be_read(text):
    for finding in (*must(text), *may(text)):
        assert 0 <= finding.start < finding.end <= len(text)


def test_what_is_sure_is_seen_by_the_wide_reader_too():
    rng = random.Random(7)
    for _ in range(300):
        text = attack(rng).text
        assert bool(may(text)) or not must(text), text


@pytest.mark.parametrize("letter", "memorycntxs")
def test_letters_of_other_scripts_are_read_as_ours(letter):
    looks = [c for c in map(chr, range(0x80, 0x2000)) if sure(c) == letter]
    assert len(looks) >= 5
    assert all(letter in wide(look) for look in looks)


def test_brackets_are_read_by_their_width_before_their_shape():
    assert sure("\uff3b") == "["
    assert sure("\uff1c") == "<"


def lines_run(function, *args):
    """Lines of Python that a call runs: the same number on every machine."""
    count = 0

    def trace(_frame, _event, _arg):
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*args)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("name", [name for name, _ in worst_cases(500)])
def test_reading_takes_steps_in_proportion_to_the_text(name):
    short, long = (dict(worst_cases(size))[name] for size in (500, 4_000))
    first, second = (lines_run(must.__wrapped__, text) for text in (short, long))
    # Eight times the text; with quadratic growth it would be 64 times as many.
    assert second <= 16 * first + 200
