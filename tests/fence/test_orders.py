"""
The fence against decoders that take turns: those of the standard library, in any order.

`oracle_decoders` asks `html.unescape`, `urllib.parse`, `json` and `unicode_escape` themselves.
"""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memproto.fence import derivations
from memproto.fence.characters import visible
from memproto.fence.derivations import Derivations, Search
from memproto.fence.sanitize import sanitize_context
from memproto.testing.fence.bypasses import EFFECTIVE
from memproto.testing.fence.disguises import BLOCK, TARGETS
from memproto.testing.fence.disguises import _of_python as of_python
from memproto.testing.fence.disguises import _percents as percents
from memproto.testing.fence.disguises import _reference as reference
from memproto.testing.fence.oracle import SMUGGLED, effective
from memproto.testing.fence.oracle_decoders import decodings

HIDDEN_BY_ORDER = {name: text for name, text in EFFECTIVE.items() if name.startswith("order:")}

#: Ordinary text with backslashes, percent signs, ampersands and plus signs.
ORDINARY = [
    r"C:\Users\note\memory\x64 and \\server\share\context",
    r"^\s*<(?:memory|context)\b[^>]*>\d{1,3}%$",
    r"printf('%d%% of %s\n\t', 75, '\x1b[31m\033[0m');",
    '{"a": "\\u003cb\\u003e \\\\u00e9", "memory": "50%25 & more", "context": "\\/"}',
    "https://example.org/?q=memory+context&n=100%25&lt=%3Cb%3E&amp;x=%5B1%5D",
    r"\% of \& in TeX: \textless memory \%75 \&#117; \(x+y\)",
    r"\N{GREEK SMALL LETTER MU} \N{LESS-THAN SIGN} \74 \0 \1\2 \u{3c}b",
    "### C++ memory model\n## memory + context\n# cpu + memory\n[systems+notes]",
    "&#60;b&#62; &#x3c;i> &#139; &lt;memory> &#0; &#xfdd0; %00 %ff%fe",
]


def shown(text):
    """The first thing that the decoders make of the text and that holds a delimiter."""
    return next((one for one in decodings(text) if effective(one, SMUGGLED)), None)


@pytest.mark.parametrize("around", ["{}", "Tea & milk: {}", "50% of C:\\new\n{}\nbehind"])
@pytest.mark.parametrize("name", HIDDEN_BY_ORDER)
def test_what_one_order_of_decoders_shows_is_replaced(name, around):
    text = HIDDEN_BY_ORDER[name]
    if "ontext" not in text and around.startswith("Tea"):
        around = "Tea\n{}"
    clean = sanitize_context(around.format(text))
    assert clean != around.format(text)
    assert shown(clean) is None
    assert sanitize_context(clean) == clean


@pytest.mark.parametrize("name", EFFECTIVE)
def test_no_known_bypass_is_left(name):
    assert effective(sanitize_context(EFFECTIVE[name])) == []


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_escapes_stay_byte_for_byte(text):
    assert sanitize_context(text) == text


def test_a_plus_sign_is_a_space_only_between_words():
    assert sanitize_context("### evil+memory") == "evil+memory"
    assert sanitize_context("### C++ memory") == "### C++ memory"
    assert sanitize_context("### cpu + memory") == "### cpu + memory"


@st.composite
def encoded(draw):
    """A delimiter in layers of escapes, each for a decoder of its own, in an order of its own."""
    text = TARGETS[draw(st.sampled_from(BLOCK))]
    rng = random.Random(draw(st.integers(0, 2**32)))
    for write in draw(
        st.lists(st.sampled_from([reference, percents, of_python]), min_size=1, max_size=4)
    ):
        share = draw(st.floats(0.05, 0.6))
        text = "".join(write(rng, one) if rng.random() < share else one for one in text)
        if len(text) > 300:
            break
    return draw(st.sampled_from(["", "Tea\n", "a & b\n", "50%\n"])) + text


@given(encoded())
@settings(deadline=None, max_examples=150)
def test_no_order_of_decoders_shows_a_delimiter(text):
    clean = sanitize_context(text)
    assert shown(clean) is None
    assert sanitize_context(clean) == clean
    assert len(clean) <= len(text)


@given(
    st.text(st.sampled_from("&#%\\xuUN{};0123456789abcdef+<>/[memorycontextsyn \n"), max_size=60)
)
@settings(deadline=None, max_examples=300)
def test_marks_of_escapes_in_any_order_are_read_without_an_end_or_a_loss(text):
    clean = sanitize_context(text)
    assert sanitize_context(clean) == clean
    assert len(clean) <= len(text)
    assert shown(clean) is None


@pytest.mark.parametrize("name", HIDDEN_BY_ORDER)
@pytest.mark.parametrize(
    ("cap", "most"),
    [("_MOST_STEPS", 1), ("_MOST_STEPS", 4), ("_MOST_WAYS", 1), ("_MOST_WAYS", 6)],
)
def test_what_a_cap_keeps_from_being_followed_does_not_pass(monkeypatch, cap, most, name):
    monkeypatch.setattr(derivations, cap, most)
    text = HIDDEN_BY_ORDER[name]
    clean = sanitize_context(text)
    assert shown(clean) is None
    assert sanitize_context(clean) == clean
    assert len(clean) <= len(text)


@pytest.mark.parametrize("most", [0, 10, 100])
@pytest.mark.parametrize("name", HIDDEN_BY_ORDER)
def test_what_no_work_is_left_for_does_not_pass(monkeypatch, name, most):
    monkeypatch.setattr(derivations, "_LEAST_WORK", most)
    monkeypatch.setattr(derivations, "_MOST_WORK", 0)
    clean = sanitize_context(HIDDEN_BY_ORDER[name])
    assert shown(clean) is None
    assert sanitize_context(clean) == clean


def test_the_second_time_no_place_has_too_many_ways():
    text = "<\\134" * 300 + "\\\\\n134" * 300
    found = Derivations(text, visible())
    assert found.full
    for place in found.full:
        text = f"{text[:place]}.{text[place + 1 :]}"
    assert not Derivations(text, visible()).full


def looked_at(text, monkeypatch):
    """Number of times that it is asked what may stand at a place."""
    asked = 0
    at = Derivations.at

    def counted(self, place):
        nonlocal asked
        for step in at(self, place):
            asked += 1
            yield step

    with monkeypatch.context() as patch:
        patch.setattr(Derivations, "at", counted)
        sanitize_context(text)
    return asked


@pytest.mark.parametrize(
    "unit",
    [
        "\\134",
        "\\\\134",
        "\\45\\",
        "\\\\\n",
        "134\\\\\\\n",
        "&bsol;\\45",
        "%25",
        "&amp;",
        "&#37;",
        "\\%5c",
        "%\\45",
        "\\N{PERCENT SIGN}25",
        "&#1;\\",
    ],
)
def test_twice_the_text_is_twice_the_work(unit, monkeypatch):
    def asked(size):
        return looked_at("<" + unit * (size // len(unit)) + "memory-context>", monkeypatch)

    few, many = asked(2_000), asked(4_000)
    assert many <= 2.5 * few + 200
    assert many <= 1_000 * 4_000


def steps(text):
    """Number of derivations, and of places at which they begin."""
    found = Derivations(text, visible())
    Search(found).words()
    return sum(len(one) for one in found.places.values()), len(found.places)


@pytest.mark.parametrize(
    "unit",
    [
        "\\",
        "%25",
        "&amp;",
        "%5c",
        "&#92;",
        "%2525",
        "\\%5c",
        "&amp;%25\\",
        "&#0%30",
        "\\u%30",
        "+a",
    ],
)
def test_derivations_grow_as_the_text_does(unit):
    few, places = steps(unit * 500)
    many, more = steps(unit * 4_000)
    assert more == 8 * places
    assert many <= 9 * few + 100


@pytest.mark.parametrize(
    "unit",
    ["\\", "%25", "&amp;", "%5c%25", "\\%5c", "&amp;%25\\", "&#0%30", "\\u%30", "<\\%6d", "&%61"],
)
def test_time_grows_as_a_text_of_nested_escapes_does(unit):
    def seconds(size):
        text = f"\\%75003c{unit * (size // len(unit))}"
        best = float("inf")
        for _ in range(3):
            began = time.process_time()
            sanitize_context(text)
            best = min(best, time.process_time() - began)
        return best

    seconds(100)
    # Eight times the text; with quadratic growth it would take 64 times as long.
    assert seconds(32_000) <= 24 * seconds(4_000) + 0.05
