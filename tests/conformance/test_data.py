"""Faults that the checks of data and of recall's bounds find, and behaviour that they allow."""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memproto.bindings import NATIVE
from memproto.conformance.provider import data, recall
from memproto.conformance.provider.extensions import prewarm
from memproto.errors import Rejected, WriteRefused
from memproto.testing.clauses import NotApplicable, Untestable, Violation
from memproto.testing.context import Context
from memproto.testing.facts import Facts
from memproto.testing.needs import Setting, depends_on
from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Subject, Watch
from memproto.testing.wire import Wire
from tests.broken.provider.data import ARefusalHoldsTheLock
from tests.good.journal import Journal, words


class CountedRun(Run):
    """A run whose user counts the entries of a journal that hold the text."""

    def read_back_count(self, subject: Subject, text: str) -> int | None:
        return sum(text in entry["text"] for entry in subject.provider._load())


@pytest.fixture
def make_run(tmp_path: Path) -> Iterator[Any]:
    declared = {"stores": ["turns", "writes"], "mirrors": Journal().capabilities()["mirrors"]}
    stores = dict.fromkeys(declared["stores"], "declared")
    with (tmp_path / "wire").open("wb") as file:
        watch = Watch(Wire(file.fileno()))

        def make(factory: Any, kind: type[Run] = Run, **more: Any) -> Run:
            context = Context(routes=stores, capabilities={**declared, **more})
            return kind(factory, NATIVE, tmp_path / "home", watch, context)

        yield make


# -- stored once -----------------------------------------------------------------------------------


class CompressionStores(Journal):
    def on_compress(self, messages: list[dict[str, Any]], compression_count: int) -> None:
        for message in messages:
            self.on_memory_write("add", "memory", message["content"])


class EachTurnIsSentTwice(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        for _ in range(2):
            super().on_turn_complete(user_message, assistant_response)


class TheSecondShutdownStores(Journal):
    _turn: tuple[str, str] | None = None
    _ended = False

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        self._turn = (user_message, assistant_response)
        super().on_turn_complete(*self._turn)

    def shutdown(self) -> None:
        if self._ended and self._turn:
            super().on_turn_complete(*self._turn)
        self._ended = True


class EachStartStores(Journal):
    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._entries += self._entries[:1]
        self._save()


@pytest.mark.parametrize(
    ("provider", "when"),
    [
        (CompressionStores, "after on_compress was given the messages"),
        (EachTurnIsSentTwice, "after the session ended; observed stored 2 times"),
        (TheSecondShutdownStores, "after shutdown was called twice"),
        (EachStartStores, "stored"),
    ],
)
def test_read_back_shows_when_a_text_was_stored_again(make_run, provider, when) -> None:
    with pytest.raises(Violation, match=when):
        data.what_was_accepted_once_is_stored_once(make_run(provider, CountedRun))


def test_read_back_that_counts_one_each_time_is_right(make_run) -> None:
    data.what_was_accepted_once_is_stored_once(make_run(Journal, CountedRun))


def test_read_back_that_never_finds_anything_decides_nothing(make_run) -> None:
    class FindsNothing(Run):
        def read_back_count(self, subject: Subject, text: str) -> int | None:
            return 0

    with pytest.raises(Untestable, match="is not found") as found:
        data.what_was_accepted_once_is_stored_once(make_run(Journal, FindsNothing))
    assert found.value.needs == (Setting("read_back", that="that counts it"),)


def test_a_provider_that_rephrases_is_judged_by_read_back_alone(make_run) -> None:
    with pytest.raises(NotApplicable, match="it is judged by `read_back`"):
        data.what_was_accepted_once_is_stored_once(make_run(Journal, retention="derived"))


class SecondIndexIsBuiltAtTheNextStart(Journal):
    """Shows a text once by words, and once more when the other index has it too."""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        seen = Path(config["home"]) / "starts"
        starts = len(seen.read_bytes()) if seen.exists() else 0
        seen.write_bytes(b"." * (starts + 1))
        self._copies = 2 if starts > 1 else 1
        super().initialize(session_key, config)

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        found = super().enrich_turn(user_message, messages)
        return "\n".join([found] * self._copies) if found else None


def test_a_text_that_is_shown_once_more_by_a_later_index_is_no_fault(make_run) -> None:
    data.what_was_accepted_once_is_stored_once(make_run(SecondIndexIsBuiltAtTheNextStart))


class OneNoteOfACompression(CompressionStores):
    """Adds what a compression brings, where it has no such note yet."""

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if {"kind": target, "text": content or ""} not in self._load():
            super().on_memory_write(action, target, content, old_text)


def test_a_text_that_each_compression_stores_is_shown_more_and_more_often(make_run) -> None:
    with pytest.raises(Violation, match="each time on_compress was given its messages"):
        data.what_was_accepted_once_is_stored_once(make_run(CompressionStores))


def test_what_a_single_compression_adds_is_left_to_read_back(make_run) -> None:
    data.what_was_accepted_once_is_stored_once(make_run(OneNoteOfACompression))


def test_who_has_to_store_what_is_compressed_is_not_asked_by_recall(make_run) -> None:
    run = make_run(CompressionStores, extensions=["checkpoint"])
    data.what_was_accepted_once_is_stored_once(run)


# -- in order, and whole ---------------------------------------------------------------------------


class TakesOneWriteInASession(Journal):
    _taken = False

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if self._taken:
            raise WriteRefused("one write in a session")
        self._taken = True
        super().on_memory_write(action, target, content, old_text)


def test_a_write_that_is_refused_in_its_session_is_out_of_no_order(make_run) -> None:
    data.writes_take_effect_in_their_order(make_run(TakesOneWriteInASession))


class RefusesWhatFitsNothing(Journal):
    """Takes so many writes, of a store or of a session, and no replace that fits no entry."""

    writes, is_by_session = 1, False

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._left_over = self.writes - (0 if self.is_by_session else len(self._entries))

    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        if action == "replace" and len(self._left(target, old_text)) == len(self._entries):
            raise WriteRefused("no entry holds old_text")
        if not self._left_over:
            raise WriteRefused("there is no room")
        self._left_over -= 1
        super().on_memory_write(action, target, content, old_text)


class OneInASession(RefusesWhatFitsNothing):
    is_by_session = True


class TwoInASession(OneInASession):
    writes = 2


@pytest.mark.parametrize("provider", [RefusesWhatFitsNothing, OneInASession, TwoInASession])
def test_who_is_full_is_not_shut_by_a_text_that_was_refused(make_run, provider) -> None:
    run = make_run(provider)
    refused = functools.partial(data._replaces_nothing, run, "memory")
    assert not data._is_shut_by(run, "writes", refused)


def test_who_takes_nothing_more_behind_a_refused_text_is_shut_by_it(make_run) -> None:
    run = make_run(ARefusalHoldsTheLock)
    refused = functools.partial(data._replaces_nothing, run, "memory")
    assert data._is_shut_by(run, "writes", refused)


def test_a_replace_that_never_takes_effect_is_not_booked_as_an_order(make_run) -> None:
    class ReplaceOnlyAdds(Journal):
        def on_memory_write(
            self, action: str, target: str, content: str | None, old_text: str | None = None
        ) -> None:
            kind = "add" if action == "replace" else action
            super().on_memory_write(kind, target, content, old_text)

    with pytest.raises(Untestable) as found:
        data.writes_take_effect_in_their_order(make_run(ReplaceOnlyAdds))
    assert found.value.needs == depends_on("MP-WRITE-001", "MP-WRITE-003")


def test_a_delimiter_may_be_refused(make_run) -> None:
    class PrintableOnly(Journal):
        def on_memory_write(
            self, action: str, target: str, content: str | None, old_text: str | None = None
        ) -> None:
            if not (content or "").isprintable():
                raise Rejected("one line of plain text is taken")
            super().on_memory_write(action, target, content, old_text)

    data.a_text_stays_whole(make_run(PrintableOnly))


@pytest.mark.parametrize(("what", "pattern"), data._DELIMITED.items())
def test_a_text_that_is_cut_at_a_delimiter_is_not_whole(
    make_run, monkeypatch, what, pattern
) -> None:
    between = pattern.split("%s")[1]

    class CutsThere(Journal):
        def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
            first, _, _ = user_message.partition(between)
            super().on_turn_complete(first, assistant_response)

    monkeypatch.setattr(data, "_DELIMITED", {what: pattern})
    with pytest.raises(Violation, match=f"a text with {what} between"):
        data.a_text_stays_whole(make_run(CutsThere))


class BringsAnyThree(Journal):
    """Three of all entries if the query has a word of one of them, and not the best ones."""

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        asked, found = words(user_message), [entry["text"] for entry in self._entries]
        if not any(asked & words(text) for text in found):
            return None
        return "\n".join(sorted(found, key=lambda text: crc32(text.encode()))[:3]) or None


def test_a_recall_that_brings_any_few_of_many_says_nothing_of_delimiters(
    make_run, monkeypatch
) -> None:
    run = make_run(BringsAnyThree)
    monkeypatch.setattr(run, "own_home", lambda name: run.home)
    with pytest.raises(Untestable, match="do not all come back either"):
        data.a_text_stays_whole(run)


# -- bounds of recall ------------------------------------------------------------------------------


def test_a_recall_that_is_short_by_itself_is_asked_for_no_limit(make_run) -> None:
    class ShowsTheFirst(Journal):
        def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
            return (super().enrich_turn(user_message, messages) or "")[:900] or None

    recall.recall_stays_within_the_limit(make_run(ShowsTheFirst))


def test_who_does_not_declare_a_recall_by_query_may_bring_the_same_each_time(make_run) -> None:
    with pytest.raises(NotApplicable, match="not declared as query"):
        recall.an_unrelated_question_brings_nothing(make_run(Journal))


@given(st.integers(0, 10**6))
def test_the_unrelated_questions_share_no_word_with_a_fact(seed) -> None:
    said = set().union(*(words(f"{f.text} {routes.reply_to(f)}") for f in Facts(seed).several(5)))
    for question in (*recall._UNRELATED, prewarm._UNRELATED):
        assert not words(question) & said
