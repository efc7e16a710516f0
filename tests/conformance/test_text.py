"""Texts and credentials that the checks look at, and behaviour that they take for a fault."""

import logging
import os
import unicodedata
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto import spec
from memproto.bindings import NATIVE
from memproto.conformance.provider import isolation, text
from memproto.testing.clauses import Violation
from memproto.testing.provider.subject import HookRaised, Subject, Watch
from memproto.testing.scenarios import characters as scripts
from memproto.testing.scenarios import conversations
from memproto.testing.wire import Wire
from tests.good.journal import Journal
from tests.kit_runs import outcomes, reported, write

pytestmark = pytest.mark.once

SEEN = set("LMNPS")


@pytest.fixture
def watch(tmp_path):
    with (tmp_path / "wire").open("wb") as file:
        yield Watch(Wire(file.fileno()))


# -- conversations ---------------------------------------------------------------------------------


@pytest.mark.parametrize("messages", conversations.NAMED.values(), ids=conversations.NAMED)
def test_every_conversation_is_legal(messages):
    for message in messages:
        jsonschema.Draft202012Validator(spec.schema("message")).validate(message)


class Reads(Journal):
    """Raises for what is no text."""

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        return " ".join([user_message, *(message["content"] for message in messages)])


class Raises(Journal):
    """Raises whatever it is given."""

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        raise KeyError(user_message)


def test_raising_for_some_messages_violates_the_rule_on_messages(watch):
    with pytest.raises(Violation, match=r"TypeError.*for a message without content") as found:
        conversations.recall_amid(
            Subject(Reads(), NATIVE, watch),
            "Who?",
            "a message without content",
            [{"content": None}],
        )
    assert found.value.requirement == "MP-TEXT-001"


def test_raising_for_any_messages_is_the_hooks_own_fault(watch):
    with pytest.raises(HookRaised, match="KeyError"):
        conversations.recall_amid(Subject(Raises(), NATIVE, watch), "Who?", "plain messages", [])


# -- characters ------------------------------------------------------------------------------------


def test_every_character_of_the_list_is_one_that_is_seen():
    found = "".join(scripts.CHARACTERS.values())
    assert [c for c in found if unicodedata.category(c)[0] not in SEEN] == []


@given(st.integers(0, 10_000), st.integers(0, 60))
def test_as_many_characters_are_drawn_as_were_asked_for_and_each_is_one_that_is_seen(seed, count):
    found = "".join(scripts.drawn(seed, count).values())
    assert len(found) == count
    assert {unicodedata.category(c)[0] for c in found} <= SEEN
    assert scripts.drawn(seed, count) == scripts.drawn(seed, count)


@given(st.text(st.characters(categories=list(SEEN)), min_size=1, max_size=20), st.data())
def test_a_character_is_missed_exactly_where_it_is_gone(characters, data):
    fact = text._Lettered("", "", "", characters)
    assert fact.missing_in(unicodedata.normalize("NFD", f"so: {characters}.")) == ""
    gone = data.draw(st.sampled_from(unicodedata.normalize("NFC", characters)))
    assert gone in fact.missing_in("")


def test_a_character_that_was_folded_into_another_is_missed():
    fact = text._Lettered("", "", "Velrrovik", "①𝄞Я")
    assert fact.missing_in("Velrrovik 1?Я") == "①𝄞"
    assert not fact.is_in("Velrrovik 1?Я")
    assert fact.is_in("velrrovik ①𝄞Я")


def test_recall_that_shows_the_beginnings_of_texts_has_lost_no_end(tmp_path):
    rules = ("MP-TEXT-003", "MP-WRITE-005")
    clauses = [f"--memproto-clause={rule}" for rule in rules]
    report = reported(tmp_path, "--memproto=tests.good.worded:Previewed", *clauses)
    found = outcomes(report["reports"][0])
    # A text behind other words ends beyond the part that is shown: nobody can say that it is lost.
    assert [found[rule] for rule in rules] == ["pass", "untestable"]


#: Loses one text by chance, and a letter of another one each time.
TWO_LOSSES = """
from tests.good.journal import Journal


class Forgetful(Journal):
    lost = False

    def on_memory_write(self, action, target, content, old_text=None):
        if content.endswith(" \\n") and not Forgetful.lost:
            Forgetful.lost, content = True, content[:5]
        elif content.endswith(" "):
            content = content[:-2]
        super().on_memory_write(action, target, content, old_text)
"""


def test_a_text_that_was_lost_once_hides_none_that_is_lost_each_time(tmp_path):
    write(tmp_path, forgetful__py=TWO_LOSSES)
    clause = "--memproto-clause=MP-TEXT-003"
    (report,) = reported(tmp_path, "--memproto=forgetful:Forgetful", clause)["reports"]
    (found,) = (row for row in report["results"] if row["id"] == "MP-TEXT-003")
    assert found["outcome"] == "fail", found["reason"]
    assert "of a text with one space at its end" in found["observed"]


# -- what is said ----------------------------------------------------------------------------------


def test_a_record_is_heard_from_a_logger_that_hands_nothing_on():
    quiet = logging.getLogger("tests.quiet")
    quiet.propagate, quiet.level = False, logging.ERROR
    with isolation._listening() as ears:
        quiet.debug("token %s", "atk-1")
        quiet.error("failed", exc_info=OSError("atk-2"))
        news = dict(ears.news())
    quiet.propagate = True
    assert "token atk-1" in news["a log record"]
    assert "OSError: atk-2" in news["a log record"]


def test_what_is_written_to_both_descriptors_is_heard_once():
    with isolation._listening() as ears:
        os.write(1, b"atk-1\n")
        os.write(2, b"atk-2\n")
        assert dict(ears.news())["a standard stream"] == "atk-1\natk-2\n"
        assert dict(ears.news())["a standard stream"] == ""


def test_listening_leaves_logging_as_it_was():
    known = logging.getLogger("tests.known")
    known.setLevel(logging.WARNING)
    before = (logging.getLogRecordFactory(), logging.getLogger().level, known.level)
    with isolation._listening():
        assert known.isEnabledFor(logging.DEBUG)
    assert (logging.getLogRecordFactory(), logging.getLogger().level, known.level) == before


def test_a_shown_excerpt_never_holds_the_credential():
    assert "atk-1" not in isolation._excerpt("a token atk-1 and again atk-1 here", "atk-1")


# -- a defensive rule ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "warned", "later", "code"),
    [
        ("tests.broken.provider.text:StoresTheBlock", "MP-TEXT-004", "MP-FENCE-001", 0),
        (
            "tests.broken.provider.recall:RecallNeedsAPreparedAnswer",
            "MP-RECALL-005",
            "MP-RECALL-006",
            1,
        ),
    ],
)
def test_a_strict_run_is_red_for_a_warning_that_is_not_defensive(
    tmp_path, target, warned, later, code
):
    clauses = (f"--memproto-clause={one}" for one in (warned, later))
    found = reported(tmp_path, f"--memproto={target}", *clauses, "--memproto-strict", "-x")
    seen = outcomes(found["reports"][0])
    assert (seen[warned], seen[later]) == ("warn", "not_run" if code else "pass")
    assert found["exit_code"] == found["run"].returncode == code
