"""Evidence: every kind as JSON and back, without credentials, and as English."""

import dataclasses
import json
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto.testing import evidence, wire, wording
from memproto.testing.evidence import (
    KINDS,
    Differs,
    Late,
    NotRecalled,
    Opaque,
    Raised,
    Recalled,
    Repeated,
)

pytestmark = pytest.mark.once

KEY = "sk-of-ines-4711"

TEXTS = st.text(max_size=20)
DRAWN = {
    str: TEXTS,
    int: st.integers(-5, 10**9),
    float: st.floats(0, 10**6),
    bool: st.booleans(),
    tuple[str, ...]: st.lists(TEXTS, max_size=3).map(tuple),
}


def strategy(kind):
    """Any evidence of a kind."""
    return st.builds(kind, **{field.name: _of(field.type) for field in dataclasses.fields(kind)})


def _of(wanted):
    if typing.get_origin(wanted) is typing.Literal:
        return st.sampled_from(typing.get_args(wanted))
    return DRAWN[wanted]


def filled(kind, text):
    """A piece of evidence with a text wherever one may stand."""
    values = {str: text, int: 2, float: 2.0, bool: True, tuple[str, ...]: (text, text)}
    return kind(
        **{
            field.name: values.get(field.type) or typing.get_args(field.type)[0]
            for field in dataclasses.fields(kind)
        }
    )


EACH = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


# -- as JSON ---------------------------------------------------------------------------------------


@EACH
@given(data=st.data())
def test_each_kind_comes_back_from_json_as_it_was(kind, data):
    found = data.draw(strategy(kind))
    assert evidence.from_dict(json.loads(json.dumps(evidence.as_dict(found)))) == found


@EACH
def test_each_kind_survives_the_wire_of_a_child(kind):
    found = filled(kind, "plain")
    assert evidence.from_dict(json.loads(json.dumps(wire.plain(evidence.as_dict(found))))) == found


def test_the_names_of_kinds_are_those_of_the_classes():
    assert evidence.as_dict(NotRecalled(texts=("a",))) == {"type": "not_recalled", "texts": ["a"]}
    assert len(KINDS) == len(set(KINDS)) == len(evidence.Evidence.__subclasses__())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@given(JSON | st.dictionaries(st.just("type") | TEXTS, st.sampled_from([*KINDS]) | JSON))
def test_whatever_is_read_is_evidence(data):
    found = evidence.from_dict(data)
    assert evidence.from_dict(evidence.as_dict(found)) == found
    assert isinstance(wording.observed(found), str)


@pytest.mark.parametrize(
    "data",
    [
        {"type": "telepathy", "by": "me"},
        {"type": "late", "took_s": 2.0, "mood": "calm"},
        {"type": "late", "took_s": "2"},
        {"type": "late"},
        {"type": "late", "took_s": True},
        {"type": "late", "took_s": 2.0, "state": "gone"},
        {"type": "not_recalled", "texts": "one"},
        {"type": "not_recalled", "texts": [1]},
    ],
)
def test_what_this_kit_cannot_read_is_opaque(data):
    found = evidence.from_dict(data)
    assert isinstance(found, Opaque)
    assert found.name == data["type"]
    assert json.loads(found.fields) == {k: v for k, v in data.items() if k != "type"}
    assert data["type"] in wording.observed(found)


def test_what_is_read_is_bounded():
    texts = ["x" * 10_000] * 10_000
    found = evidence.from_dict({"type": "not_recalled", "texts": texts, "wanted": "w" * 10_000})
    assert len(found.texts) == evidence.MOST_ITEMS
    assert {len(text) for text in (*found.texts, found.wanted)} == {evidence.MOST_CHARS}
    huge = evidence.from_dict({"type": "x" * 10_000, "by": texts})
    assert (len(huge.name), huge.fields) == (evidence.MOST_CHARS, "{}")


# -- credentials -----------------------------------------------------------------------------------


@EACH
def test_a_credential_is_hidden_in_each_text_of_each_kind(kind):
    found = evidence.mapped(filled(kind, f"a {KEY} b"), lambda text: text.replace(KEY, "[hidden]"))
    assert KEY not in json.dumps(evidence.as_dict(found))
    assert KEY not in wording.expected(found) + wording.observed(found)
    assert found == filled(kind, "a [hidden] b")


# -- facts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "texts"),
    [
        (NotRecalled(texts=("a", "b"), wanted="c"), ["a", "b"]),
        (Recalled(texts=("a",), answer="b", question="c"), ["a", "b"]),
        (Repeated(text="a", times=2), ["a"]),
        (Differs(wanted="a", seen="b"), []),
        (None, []),
    ],
)
def test_the_facts_of_evidence_are_fields_and_no_words(found, texts):
    assert list(evidence.facts(found)) == texts


# -- as English ------------------------------------------------------------------------------------


@EACH
@given(data=st.data())
def test_each_kind_has_words_that_print(kind, data):
    found = data.draw(strategy(kind))
    for said in (wording.expected(found), wording.observed(found)):
        assert all(c.isprintable() or c == "\n" for c in said)


@pytest.mark.parametrize(
    ("found", "observed"),
    [
        (NotRecalled(texts=("Tea.",)), "'Tea.' did not come back"),
        (
            NotRecalled(texts=("Tea.",), about="stored late"),
            "'Tea.', stored late, did not come back",
        ),
        (NotRecalled(texts=("a", "b"), of=3), "2 of 3 did not come back: 'a'"),
        (
            NotRecalled(texts=("a", "b"), of=3, labels=("turn 1", "turn 3")),
            "2 of 3 did not come back: turn 1 ('a'), turn 3 ('b')",
        ),
        (NotRecalled(texts=("a",), subject="it", verb="is lost"), "it is lost"),
        (Late(hook="recall", took_s=6.25, budget_s=5.0), "it returned after 6.2 s"),
        (
            Late(hook="recall", took_s=6.0, budget_s=5.0, state="ended", at=("a.py:1 in f",)),
            "recall had not returned after 6.0 s and was ended; stopped at a.py:1 in f",
        ),
        (
            Raised.by(KeyError("turn"), given="a NUL", count=2, of=9),
            "it raised KeyError('turn') for a NUL; 2 of 9 texts raised",
        ),
        (Repeated(text="a", times=2, lead="stored "), "stored 2 times"),
        (Differs(seen="none").told(lead="there was ", tail=", alas"), "there was none, alas"),
    ],
)
def test_the_words_of_evidence(found, observed):
    assert wording.observed(found) == observed


def test_what_was_asked_for_is_told_by_the_check_or_by_the_kind():
    late = Late(hook="recall", took_s=6.0, budget_s=5.0)
    assert wording.expected(late) == "recall returns within 5 s"
    assert wording.expected(late.told(wanted="an answer")) == "an answer"
    assert wording.expected(None) == wording.observed(None) == ""


@pytest.mark.parametrize("text", ["plain", "it's", 'say "so"', 'it\'s "so"', "a\nb", "caf\u00e9"])
def test_a_text_is_quoted_as_python_does(text):
    assert wording.quoted(text) == repr(text)


def test_what_was_escaped_on_the_way_is_not_escaped_twice():
    assert wording.quoted("a\x00b") == wording.quoted("a\\x00b") == "'a\\x00b'"
