"""Values that travel and texts that are shown: plain, disturbing nothing, in labelled lines."""

import dataclasses
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto import spec
from memproto.bindings import HERMES
from memproto.report import message
from memproto.report.formats import source_line
from memproto.testing import wire
from memproto.testing.evidence import Differs, Late, NotRecalled, Raised
from memproto.testing.judging import fates
from memproto.testing.messages import Beat, Opened
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.processes.answer import Answer
from memproto.testing.settings.order import Order

#: Bound of the result of `plain`: no value of a provider can make a line too long.
BOUND = 5_000


class Unreadable(dict):
    def items(self):
        raise RuntimeError

    def __iter__(self):
        raise RuntimeError


class OddText(str):
    __slots__ = ()

    def __len__(self):
        raise RuntimeError


def deep():
    value = {}
    for _ in range(100_000):
        value = {"a": value}
    return value


def cyclic():
    value = []
    value.append(value)
    return value


VALUES = {
    "deep": deep,
    "cyclic": cyclic,
    "unreadable": lambda: Unreadable(a=1),
    "odd text": lambda: OddText("x"),
    "long": lambda: "x" * 10**6,
    "big": lambda: 10**5000,
    "odd keys": lambda: {b"key": {object()}},
    "many": lambda: ["y"] * 10**6,
}


@pytest.mark.parametrize("name", VALUES)
def test_whatever_a_provider_returned_becomes_json_of_bounded_size(name):
    assert len(json.dumps(wire.plain(VALUES[name]()))) < BOUND


@given(st.text(st.characters()))
def test_a_shown_text_has_no_character_that_disturbs_a_terminal(text):
    shown = wire.printable(text)
    assert all(c.isprintable() or c == "\n" for c in shown)
    shown.encode("utf-8")


@given(st.text(st.characters(categories=["L", "N", "P"]), max_size=200))
def test_a_printable_text_stays_as_it_is(text):
    assert wire.plain(text) == wire.printable(text) == text


def test_a_forked_copy_writes_no_message():
    read, write = os.pipe()
    line = wire.Wire(write)
    copy = os.fork()
    if copy == 0:
        line.send(Opened({"by": "the copy"}))
        os._exit(0)
    os.waitpid(copy, 0)
    line.send(Opened({"by": "me"}))
    os.close(write)
    data = os.read(read, 65536)
    os.close(read)
    assert b"the copy" not in data
    assert b'"me"' in data


def test_bytes_without_a_line_end_are_not_kept_for_ever(monkeypatch):
    monkeypatch.setattr(wire, "_LONGEST_LINE", 100)
    read, write = os.pipe()
    pending = bytearray()
    for _ in range(20):
        os.write(write, b"z" * 50)
        assert not list(wire.lines(read, pending))
    os.write(write, b'\n{"kind": "beat"}\n')
    assert list(wire.lines(read, pending)) == [(None, Beat())]
    assert not pending
    os.close(write)
    with pytest.raises(EOFError):
        list(wire.lines(read, pending))
    os.close(read)


def test_a_text_of_a_class_of_its_own_is_taken_as_a_bare_text():
    found = wire.honest(OddText("x"))
    assert type(found) is str
    assert found == "x"


class Raises:
    @property
    def __class__(self):
        raise RuntimeError


class Claims:
    __class__ = dict


@pytest.mark.parametrize("kind", [Raises, Claims])
def test_an_object_that_lies_about_its_class_is_replaced(kind):
    assert isinstance(wire.honest(kind()), wire.Disguised)


@pytest.mark.parametrize("value", [None, True, 3, {"a": 1}, ["x"], object])
def test_an_honest_value_is_passed_through(value):
    assert wire.honest(value) is value


# -- what the author reads -------------------------------------------------------------------------

RED = Result(
    "MP-RECALL-002", Outcome.FAIL, Differs(wanted="a", seen="b"), "mine.py:3 in Mine.enrich_turn"
)


def test_a_message_has_seven_labelled_lines():
    lines = message.render(RED, Order("mine")).splitlines()
    labels = [line.split()[0] for line in lines[1:]]
    assert labels == ["rule", "expected", "observed", "where", "reproduce", "fix", "clause"]
    assert spec.requirement(RED.id).fix in lines[6]


def test_the_command_that_reproduces_is_quoted_for_a_shell():
    order = Order("my dir", profile="ci", seed=3)
    assert message.reproduce(RED, order) == (
        "pytest '--memproto=my dir' --memproto-clause=MP-RECALL-002 "
        "--memproto-profile=ci --memproto-seed=3"
    )


def test_what_was_met_in_another_check_is_reproduced_by_that_one():
    met = Result("MP-ISO-003", Outcome.FAIL, seen_in="MP-SHUT-001")
    assert message.reproduce(met, Order("mine")).endswith("--memproto-clause=MP-SHUT-001")


def test_checks_that_had_to_run_before_are_named_and_a_whole_run_where_they_are_many():
    few = dataclasses.replace(RED, seen_in="MP-SHUT-001", after=("MP-TURN-001",))
    assert message.reproduce(few, Order("mine")) == (
        "pytest --memproto=mine --memproto-clause=MP-TURN-001 --memproto-clause=MP-SHUT-001"
    )
    many = tuple(item.id for item in spec.select([], "provider"))
    assert message.reproduce(dataclasses.replace(few, after=many), Order("mine")) == (
        "pytest --memproto=mine"
    )


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            Answer("died", operation="recall", ending="signal SIGSEGV"),
            "the process ended during prefetch (signal SIGSEGV)",
        ),
        (Answer("died", ending="exit code 0"), "the process ended between two hooks (exit code 0)"),
        (
            Answer("froze", operation="record", took_s=4.04),
            "sync_turn held the interpreter for 4.0 s, and the process was ended",
        ),
        (
            Answer("froze", took_s=4.0),
            "no thread ran between two hooks for 4.0 s, and the process was ended",
        ),
        (
            Answer("late", operation="load", took_s=21),
            "the load step had not returned after 21.0 s and was ended",
        ),
    ],
)
def test_what_happened_to_a_process_is_told_in_the_authors_binding(answer, said):
    assert fates.described(answer, HERMES) == said


# -- what the evidence tells beside the catalogue --------------------------------------------------


def told(seen, **fields):
    result = Result("MP-SHUT-005", Outcome.FAIL, seen, "mine.py:2 in close", **fields)
    return message.render(result, Order("mine"))


def late(number):
    return Late(hook="shutdown", took_s=20.0, budget_s=15.0, state="ended", number=number)


def test_a_hook_that_hangs_in_its_second_call_is_told_with_its_number_and_its_own_advice():
    assert "in its second call on one instance" in told(late(2))
    assert "  advice    An earlier call on this instance returned" in told(late(2))
    assert "in its 22nd call on one instance" in told(late(22))
    assert "advice" not in told(late(1))
    assert "call on one instance" not in told(late(1))


def test_a_loss_behind_a_removal_is_told_with_advice_on_removals():
    assert "  advice    A removal or a replacement" in told(NotRecalled(texts=("A",), removed=True))
    assert "advice" not in told(NotRecalled(texts=("A",)))


def test_the_line_from_which_an_exception_came_is_part_of_the_evidence():
    assert Raised.by(ValueError("x")).place == ""
    with pytest.raises(ValueError, match="invalid literal") as caught:
        int("x")
    place = Raised.by(caught.value, who="it").place
    assert place.endswith("test_the_line_from_which_an_exception_came_is_part_of_the_evidence")


def test_the_line_of_the_user_that_where_names_is_shown_and_no_other(tmp_path):
    (tmp_path / "mine.py").write_text("class A:\n    def close(self):\n        raise OSError\n")
    assert source_line.excerpt("mine.py:2 in A.close", tmp_path) == (
        "2 |     def close(self):\n  |         ^^^^^"
    )
    assert source_line.excerpt("mine.py:3 in close", tmp_path) == (
        "3 |         raise OSError\n  |         ^^^^^^^^^^^^^"
    )
    for where in ("", "mine.py:9 in close", "none.py:1 in close", "../mine.py:1 in close"):
        assert source_line.excerpt(where, tmp_path) == ""
    below = tmp_path / "below"
    below.mkdir()
    assert source_line.excerpt("../mine.py:2 in A.close", below) == ""


def test_a_consequence_is_told_in_brief_unless_all_is_asked_for():
    result = Result(
        "MP-TURN-003", Outcome.FAIL, Differs(wanted="a", seen="b"), follows="MP-TURN-001"
    )
    brief = message.render(result, Order("mine"), is_brief=True)
    assert [line.split()[0] for line in brief.splitlines()[1:]] == [
        *("follows", "observed", "where", "reproduce"),
    ]
    assert "  fix  " in message.render(result, Order("mine"))


def test_what_was_swallowed_is_shown_with_its_lines():
    said = told(late(1), swallowed=("ValueError('x')", "mine.py:4 in _work", "mine.py:6 in _work"))
    assert "  swallowed ValueError('x'), at mine.py:6 in _work\n" in said
    assert "            raised at mine.py:4 in _work\n" in said
    assert "  log       one\n            two\n" in told(late(1), log=("one", "two"))
