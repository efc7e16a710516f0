"""Chapters of a fast provider side by side: their results are those of one after the other."""

import threading

import pytest

from memproto import spec
from memproto.bindings import NATIVE
from memproto.errors import KitUsageError
from memproto.testing.judging import crew as crews
from memproto.testing.judging import watchdog
from memproto.testing.judging.crew import Crew
from memproto.testing.judging.judge import Judge
from memproto.testing.messages import Judged
from memproto.testing.outcomes import Outcome
from memproto.testing.processes import room
from memproto.testing.processes.answer import Answer
from memproto.testing.settings.order import Contact, Order
from memproto.testing.settings.settings import Settings
from tests.scripted import outcomes

pytestmark = pytest.mark.once

#: Two checks of one chapter, one each of two others, and one more of the first chapter.
IDS = ("MP-SHUT-001", "MP-SHUT-002", "MP-INIT-003", "MP-RECALL-002", "MP-SHUT-003")
ALL = [spec.requirement(item) for item in IDS]
FIRST, SECOND, THIRD, FOURTH, FIFTH = ALL

#: A test that waits longer hangs.
PATIENCE_S = 30.0

#: More often than a check is made.
ALWAYS = 12


@pytest.fixture(autouse=True)
def a_roomy_machine(monkeypatch):
    monkeypatch.setattr(room, "lanes", lambda held_mb: 100)


def known():
    """The findings of first contact: a provider whose hooks take no time."""
    return Contact(binding=NATIVE, routes={"writes": "declared"})


def red(key, **told):
    return Answer("answered", Judged(({"id": key, "outcome": "fail"},), **told))


@pytest.fixture
def crew(tmp_path):
    """A function that plans for requirements; the crew is closed behind the test."""
    made = []

    def take(wanted=ALL):
        settings = Settings(parallel=2)
        mine = Crew(Order("mine", directory=tmp_path, settings=settings), tmp_path, known())
        made.append(mine)
        assert mine.prepare(wanted).is_whole
        return mine

    yield take
    for one in made:
        one.close()


@pytest.fixture
def compared(scripted, crew, tmp_path):
    """A function that asks a crew, and then one judge, by one script; the processes of each."""

    def compare(wanted=ALL, **script):
        processes, told = [], []
        for judging in (crew(wanted), Judge(Order("mine", directory=tmp_path), tmp_path, known())):
            started = scripted(**{key: [row] * ALWAYS for key, row in script.items()})
            started.clear()
            given = [outcomes(judging.run(item)) for item in wanted]
            lead = getattr(judging, "lead", judging)
            given.append(outcomes(judging.finish()))
            told.append((given, lead.history, lead.starters))
            judging.close()
            processes.append(list(started))
        assert told[0] == told[1]
        return processes

    return compare


def served(started):
    """The checks of each process that served any."""
    return [[command.id for command in one.checks] for one in started if one.checks]


# -- green -----------------------------------------------------------------------------------------


def test_checks_share_the_processes_that_they_share_one_after_the_other(compared):
    together, alone = compared()
    assert served(alone) == [[*IDS[:2]], [IDS[2]], [IDS[3]], [IDS[4]]]
    assert sorted(served(together)) == sorted(served(alone))


def test_two_chapters_are_checked_at_the_same_time(scripted, crew, monkeypatch):
    both = threading.Barrier(2)
    scripted()
    monkeypatch.setattr(
        scripted.kind, "meets", lambda self, key: key in IDS and both.wait(PATIENCE_S)
    )
    mine = crew([THIRD, FOURTH])
    assert [outcomes(mine.run(item)) for item in (THIRD, FOURTH)] == [
        [(item, Outcome.PASS)] for item in IDS[2:4]
    ]


def test_an_address_that_was_tried_is_known_once_its_chapter_was_asked_for(scripted, crew):
    tried = Answer(
        "answered", Judged(({"id": FOURTH.id, "outcome": "pass"},)), outward=(("one", "it"),)
    )
    scripted(MP_RECALL_002=[tried])
    mine = crew([THIRD, FOURTH])
    mine.run(THIRD)
    assert mine.contact.outward == {}
    mine.run(FOURTH)
    assert mine.contact.outward == {"one": "it"}


# -- red -------------------------------------------------------------------------------------------


def test_a_chapter_with_a_violation_is_made_again_from_its_beginning(compared):
    together, _ = compared(MP_SHUT_002=red(SECOND.id))
    assert served(together).count([*IDS[:2]]) == 2


def test_the_rest_of_such_a_chapter_is_not_checked_ahead(compared):
    together, _ = compared(MP_SHUT_001=red(FIRST.id))
    assert [FIRST.id] in served(together)


def test_it_is_made_again_when_no_other_check_runs(scripted, crew, monkeypatch):
    running, at_once = set(), []

    def meets(self, key):
        if key in IDS:
            running.add(threading.get_ident())
            at_once.append((key, threading.current_thread().name, len(running)))

    scripted(MP_SHUT_001=[red(FIRST.id)] * ALWAYS)
    ask = scripted.kind.ask

    def asked(self, command, budget_s):
        try:
            return ask(self, command, budget_s)
        finally:
            running.discard(threading.get_ident())

    monkeypatch.setattr(scripted.kind, "meets", meets)
    monkeypatch.setattr(scripted.kind, "ask", asked)
    mine = crew()
    for item in ALL:
        mine.run(item)
    again = [row for row in at_once if row[1] != "kit-lane"]
    assert [(key, others) for key, _, others in again][:2] == [(FIRST.id, 1), (SECOND.id, 1)]


def test_what_company_has_caused_is_no_result(scripted, crew):
    scripted(MP_INIT_003=[red(THIRD.id)])
    mine = crew()
    assert [outcomes(mine.run(item)) for item in ALL] == [[(key, Outcome.PASS)] for key in IDS]


def test_a_target_that_is_red_everywhere_is_not_checked_ahead_to_its_end(
    scripted, crew, monkeypatch
):
    monkeypatch.setattr(crews, "_SEEN_AGAIN", 1)
    scripted(**{key.replace("-", "_"): [red(key)] * ALWAYS for key in IDS})
    mine = crew()
    assert [outcomes(mine.run(item)) for item in ALL] == [[(key, Outcome.FAIL)] for key in IDS]
    assert mine._wholes.doubted <= 2


# -- what bears on later checks --------------------------------------------------------------------


@pytest.mark.parametrize("key", IDS)
@pytest.mark.parametrize(
    "answer",
    [
        Answer("died", operation="close", ending="exit code 3"),
        Answer("late", operation="close", took_s=9.0, budget_s=1.0),
        Answer("froze", operation="close", took_s=9.0),
        Answer("overdue", took_s=99.0),
        None,
    ],
    ids=["died", "late", "froze", "overdue", "late within"],
)
def test_behind_a_loss_each_check_is_made_one_after_the_other(compared, key, answer):
    if answer is None:
        answer = Answer("answered", Judged(({"id": key, "outcome": "pass"},), late=("close",)))
    compared(**{key.replace("-", "_"): answer})


@pytest.mark.parametrize("key", IDS)
def test_a_process_that_ends_behind_its_last_check(scripted, compared, monkeypatch, key):
    ask = scripted.kind.ask

    def asked(self, command, budget_s):
        if not self.alive:
            return Answer("died", ending="exit code 3")
        answer = ask(self, command, budget_s)
        if getattr(command, "id", "") == key:
            self.alive = False
        return answer

    monkeypatch.setattr(scripted.kind, "ask", asked)
    compared()


@pytest.mark.parametrize("key", IDS)
def test_a_process_in_which_a_check_left_threads_is_lost_later(
    scripted, compared, monkeypatch, key
):
    ask = scripted.kind.ask

    def asked(self, command, budget_s):
        if not self.alive:
            return Answer("died", ending="exit code 3")
        answer = ask(self, command, budget_s)
        if getattr(command, "id", "") == key:
            self.alive = False
            return Answer("answered", Judged(({"id": key, "outcome": "pass"},), threads=1))
        return answer

    monkeypatch.setattr(scripted.kind, "ask", asked)
    compared()


def test_a_chapter_is_given_once_no_process_of_it_can_be_lost(scripted, crew, monkeypatch):
    monkeypatch.setattr(watchdog, "LINGER_S", PATIENCE_S)
    left = Answer("answered", Judged(({"id": FOURTH.id, "outcome": "pass"},), threads=1))
    started = scripted(MP_RECALL_002=[left] * ALWAYS)
    ask, checked = scripted.kind.ask, threading.Event()
    monkeypatch.setattr(
        scripted.kind,
        "ask",
        lambda self, command, budget_s: (
            ask(self, command, budget_s) if self.alive else Answer("died", ending="exit code 3")
        ),
    )
    monkeypatch.setattr(
        scripted.kind, "meets", lambda self, key: key == FOURTH.id and checked.set()
    )
    mine, given = crew([THIRD, FOURTH]), []
    assert outcomes(mine.run(THIRD)) == [(THIRD.id, Outcome.PASS)]
    asking = threading.Thread(target=lambda: given.extend(mine.run(FOURTH)), daemon=True)
    asking.start()
    assert checked.wait(PATIENCE_S)
    asking.join(0.1)
    assert asking.is_alive()
    end_all(started)
    asking.join(PATIENCE_S)
    end_all(started)
    assert outcomes(given) == [(FOURTH.id, Outcome.PASS)]
    (late,) = mine.finish()
    assert (late.outcome, late.seen_in) == (Outcome.FAIL, FOURTH.id)


def end_all(started):
    for one in started:
        one.alive = False


def test_a_chapter_that_was_made_before_a_loss_is_made_again_behind_it(
    scripted, compared, monkeypatch
):
    made = threading.Event()

    def meets(self, key):
        if key == FOURTH.id:
            made.set()
        elif key == FIRST.id:
            assert made.wait(PATIENCE_S)

    monkeypatch.setattr(scripted.kind, "meets", meets)
    stuck = Answer("overdue", took_s=99.0)
    script = dict.fromkeys(("MP_SHUT_001", "MP_SHUT_002", "MP_SHUT_003"), stuck)
    together, _ = compared([FIRST, SECOND, FIFTH, FOURTH], **script)
    assert [FOURTH.id] in served(together)


def test_settings_that_do_not_work_are_found_in_their_place(scripted, crew):
    scripted(MP_INIT_003=[KitUsageError("memproto.toml:1: settle", "raised", "mend it")] * ALWAYS)
    mine = crew()
    assert [outcomes(mine.run(item)) for item in ALL[:2]] == [
        [(key, Outcome.PASS)] for key in IDS[:2]
    ]
    with pytest.raises(KitUsageError):
        mine.run(THIRD)
