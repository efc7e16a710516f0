"""Words that the SQLite provider looks for, and the language of its search tool."""

import contextlib
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto.reference_providers.sqlite import index, words
from memproto.reference_providers.sqlite.words import Every, Some, Term

BOAT, TRAIN = Term(("boat",)), Term(("train",))

_SYNTAX = st.text(st.sampled_from("ab\"*()- '^:+{}[]~\\\0\ud800é水") | st.characters())
_QUERIES = st.lists(
    st.sampled_from(
        ["AND", "OR", "NOT", "NEAR", "(", ")", '"', "-", "*", "boat", "水路", "content:"]
    )
    | _SYNTAX
).map(" ".join)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("boat", BOAT),
        ("boat train", Every((BOAT, TRAIN))),
        ("boat AND train", Every((BOAT, TRAIN))),
        ("boat OR train", Some((BOAT, TRAIN))),
        ("boat NOT train", Every((BOAT,), (TRAIN,))),
        ("boat -train", Every((BOAT,), (TRAIN,))),
        ('"boat train"', Term(("boat", "train"))),
        ("boa*", Term(("boa",), is_prefix=True)),
        ("(boat OR train) sea", Every((Some((BOAT, TRAIN)), Term(("sea",))))),
        ("boat OR", BOAT),
        ("OR boat", BOAT),
        ("(boat", BOAT),
        (") boat", BOAT),
        ('"boat', BOAT),
        ("boat-train", Term(("boat", "train"))),
        ("水路", Term(("水", "路"))),
        ("NOT boat", None),
        ("() AND OR -", None),
        ("", None),
    ],
)
def test_what_is_typed_is_read_as_a_search(typed, read):
    assert words.search(typed) == read


@given(_QUERIES)
def test_nothing_that_is_typed_is_a_fault_of_the_index(typed):
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(content, calls)")
        for node in (words.search(typed), words.question(typed)):
            if node is not None:
                query = "SELECT rowid FROM words WHERE words MATCH ?"
                connection.execute(query, (index.expression(node),)).fetchall()


def test_a_question_is_asked_by_its_telling_words():
    assert words.question("Where is my boat?") == Some((BOAT,))
    assert words.question("Who are you?") == Some((Term(("Who",)), Term(("are",)), Term(("you",))))
    assert words.question("…?!") is None


def test_a_script_without_spaces_is_asked_by_its_pairs():
    assert words.question("水路図") == Some((Term(("水", "路")), Term(("路", "図"))))


@pytest.mark.parametrize("deep", ["(" * 5_000 + "boat", "NOT " * 5_000 + "boat", ")" * 5_000])
def test_a_query_of_thousands_of_signs_is_read(deep):
    words.search(deep)
