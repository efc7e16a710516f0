"""Texts that the Honcho provider accepted reach a fake server once, whatever it does."""

import itertools
import logging
import subprocess
import sys
import time

import pytest

from memproto.errors import WriteRefused
from memproto.reference_providers.honcho import conclusions, lane, service, texts
from memproto.reference_providers.honcho.manager import Fault
from memproto.reference_providers.honcho.outbox import (
    DIRECTORY,
    REFUSED,
    Item,
    Outbox,
    sending,
    waiting,
)
from memproto.reference_providers.honcho.sender import Sender
from memproto.reference_providers.honcho.values import Observation

PLACE = {"workspace": "w", "session": "boats", "user": "ada", "ai": "hermes"}

#: Longer than any wait of a test that goes well.
LONG_S = 10.0


class Server:
    """
    Keeps messages and conclusions; fails as `faults` say, one for each post, and may store.

    A conclusion that a failed post does not store is in `late`.
    """

    poisoned = "refused"

    def __init__(self):
        self.stored, self.rows, self.late, self.posts = [], [], [], []
        self.faults, self.poison = [], None
        self.numbers, self.looks = itertools.count(1), 0

    def ready(self, place, wanted):
        return wanted

    def post(self, session, messages):
        self.posts.append(len(messages))
        kind, stores = self.faults.pop(0) if self.faults else (None, True)
        if self.poison and any(self.poison in message["content"] for message in messages):
            kind, stores = self.poisoned, False
        if stores:
            self.stored += messages
        if kind:
            raise kind if isinstance(kind, Fault) else Fault(kind, kind)

    def parts(self, session, turn_id):
        found = (message["metadata"] for message in self.stored)
        return {about["part"] for about in found if about["turn_id"] == turn_id}

    def copies(self, observer, observed, text, budget_s):
        self.looks += 1
        return [name for name, held in self.rows if held == text]

    def conclude(self, observer, observed, parts, session, is_given_up):
        fault, stores = self.faults.pop(0) if self.faults else (None, True)
        if self.poison and any(self.poison in text for text in parts):
            fault, stores = Fault("busy", "busy", status=500), False
        made = [(f"c-{next(self.numbers)}", text) for text in parts]
        (self.rows if stores else self.late).extend(made)
        if fault:
            raise fault if isinstance(fault, Fault) else Fault(fault, fault)
        return [name for name, _ in made]

    def remove(self, observer, observed, name):
        self.rows = [row for row in self.rows if row[0] != name]

    @property
    def concluded(self):
        return [text for _, text in self.rows]

    @property
    def texts(self):
        return [message["content"] for message in self.stored]


@pytest.fixture
def server():
    return Server()


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    monkeypatch.setattr(lane, "GRACE_S", 0.01)
    monkeypatch.setattr(lane, "FIRST_S", 0.005)
    monkeypatch.setattr(conclusions, "LATE_S", 0.5)
    monkeypatch.setattr(conclusions, "LOST_S", 0.05)
    monkeypatch.setattr(
        conclusions, "WATCH_S", (*(0.05 * number for number in range(1, 400)), 60.0)
    )


@pytest.fixture
def opened(tmp_path, server):
    """Open an outbox and a sender on the home; `opened()` again is the next session."""
    running = []

    def close():
        for box, worker in running:
            worker.stop()
            worker.join(LONG_S)
            box.close()
        running.clear()

    def open_one():
        close()
        box = Outbox(tmp_path, "w")
        box.open()
        worker = Sender(box, server, Observation())
        worker.start()
        running.append((box, worker))
        return box, worker

    yield open_one
    close()


def turn(text, name="", **more):
    said = [("ada", text, None), ("hermes", f"Noted: {text}", None)]
    return Item(name or f"t-{text}", "turn", "boats", PLACE, {"texts": said}, **more)


def test_turns_that_wait_go_together_and_in_order(opened, server):
    box, worker = opened()
    items = [turn(f"tide {number}", is_ready=False) for number in range(4)]
    for item in items:
        box.add(item)
    assert not server.posts
    box.release()
    assert worker.flush(LONG_S)
    assert server.texts[::2] == [f"tide {number}" for number in range(4)]
    assert server.posts == [8]


@pytest.mark.parametrize("kind", ["unsure", "busy"])
def test_a_write_whose_answer_was_lost_is_not_stored_twice(opened, server, kind):
    box, worker = opened()
    server.faults = [(kind, True)]
    box.add(turn("high tide"))
    worker.kick()
    worker.wait_idle(LONG_S)
    worker.flush(LONG_S)
    assert server.texts == ["high tide", "Noted: high tide"]
    assert box.count() == 0


@pytest.mark.parametrize("kind", ["unsure", "busy", "away", "denied"])
def test_a_write_that_failed_is_stored_when_the_server_works_again(opened, server, kind):
    box, worker = opened()
    server.faults = [(kind, False)] * 2
    box.add(turn("high tide"))
    while not worker.flush(LONG_S):
        assert worker.fault.kind == kind
    assert server.texts == ["high tide", "Noted: high tide"]


def test_what_is_left_is_sent_once_by_the_next_session(opened, server, tmp_path):
    box, worker = opened()
    server.faults = [("unsure", True)] + [("away", False)] * 50
    box.add(turn("high tide"))
    worker.flush(LONG_S)
    box.add(turn("low tide", is_ready=False))
    server.faults = []
    _, worker = opened()
    worker.flush(LONG_S)
    assert sorted(server.texts) == sorted(
        ["high tide", "Noted: high tide", "low tide", "Noted: low tide"]
    )
    assert not list(waiting(tmp_path))


def test_an_instance_takes_nothing_from_one_that_lives(tmp_path):
    one, other = Outbox(tmp_path, "w"), Outbox(tmp_path, "w")
    one.open()
    one.add(turn("high tide"))
    other.open()
    assert (one.count(), other.count()) == (1, 0)
    one.close()
    other.close()
    elsewhere = Outbox(tmp_path, "another")
    elsewhere.open()
    assert elsewhere.count() == 0
    elsewhere.close()


def test_one_text_that_is_refused_costs_no_other(opened, server, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    box, worker = opened()
    server.poison = "poison"
    for text in ("high tide", "poison", "low tide"):
        box.add(turn(text, is_ready=False))
    box.release()
    assert worker.flush(LONG_S)
    assert [text for text in server.texts if text.endswith("tide")] == [
        *("high tide", "Noted: high tide", "low tide", "Noted: low tide")
    ]
    assert box.refused == 1
    assert len(list((tmp_path / REFUSED).glob("*.json"))) == 1
    # The name of a turn is the host's; of what was said there is nothing.
    assert "Noted" not in caplog.text


def test_more_messages_than_one_request_takes_are_sent_in_several(opened, server):
    box, worker = opened()
    item = Item(
        "t-long", "turn", "boats", PLACE, {"texts": [("ada", "ab " * 1_000, None)], "most": 20}
    )
    box.add(item)
    assert worker.flush(LONG_S)
    assert server.posts[:1] == [100]
    assert "".join(text.removeprefix("[continued] ") for text in server.texts) == "ab " * 1_000


def test_a_recorded_turn_that_the_server_has_is_not_sent_again(opened, server):
    box, worker = opened()
    for _ in range(2):
        item = turn("high tide", "host-7", is_doubtful=True)
        item.body["is_checked"] = True
        box.add(item)
        assert worker.flush(LONG_S)
    assert server.texts == ["high tide", "Noted: high tide"]


class Late(Server):
    """A server that stores what it was sent only after it has been asked what it has."""

    def __init__(self):
        super().__init__()
        self.arriving = []

    def post(self, session, messages):
        if self.faults:
            self.arriving += messages
            raise Fault(self.faults.pop(0), "late")
        super().post(session, messages)

    def parts(self, session, turn_id):
        there = super().parts(session, turn_id)
        self.stored, self.arriving = self.stored + self.arriving, []
        return there


@pytest.mark.parametrize("is_recorded", [False, True])
def test_a_turn_that_a_frozen_server_stores_late_is_not_sent_again_by_the_next_session(
    opened, server, is_recorded, monkeypatch
):
    monkeypatch.setattr(server, "__class__", Late)
    server.arriving, server.faults = [], ["unsure", *["away"] * 50]
    box, worker = opened()
    item = turn("high tide", "host-7", is_doubtful=is_recorded)
    item.body |= {"is_checked": True} if is_recorded else {}
    box.add(item)
    worker.flush(LONG_S)
    server.faults = []
    _, worker = opened()
    assert worker.flush(LONG_S)
    assert server.texts == ["high tide", "Noted: high tide"]


def test_the_rest_of_a_long_turn_that_is_stored_late_is_not_sent_again(opened, server, monkeypatch):
    said = "ab " * 1_000
    item = Item("t-long", "turn", "boats", PLACE, {"texts": [("ada", said, None)], "most": 20})
    monkeypatch.setattr(server, "__class__", Late)
    server.arriving = []
    box, worker = opened()
    posted = server.post

    def lost_after_the_first(*args):
        posted(*args)
        server.faults, server.post = ["unsure"], posted

    server.post = lost_after_the_first
    box.add(item)
    while not worker.flush(LONG_S):
        pass
    assert "".join(text.removeprefix("[continued] ") for text in server.texts) == said


def test_nothing_is_sent_when_the_session_has_ended(opened, server):
    box, worker = opened()
    item = Item("t-long", "turn", "boats", PLACE, {"texts": [("ada", "ab " * 2_000, None)]})
    item.body["most"] = 20
    posted = server.post

    def ends_after_the_first(*args):
        posted(*args)
        worker.stop()

    server.post = ends_after_the_first
    box.add(item)
    worker.kick()
    worker.join(LONG_S)
    assert server.posts == [100]
    assert (box.count(), item.is_doubtful) == (1, True)


def test_what_is_sent_after_the_end_of_its_session_leaves_no_file(opened, tmp_path):
    box, _ = opened()
    item = turn("high tide", is_ready=False)
    box.add(item)
    box.close()
    box.done([item])
    assert item.state == "sent"
    assert not list(waiting(tmp_path))


def test_a_server_that_wants_to_be_asked_at_once_is_not_asked_without_a_pause():
    assert lane.backoff_s(1, Fault("busy", "busy", 0.0)) > 0


def test_a_file_that_is_damaged_is_set_aside_and_the_others_are_sent(opened, server, tmp_path):
    box, worker = opened()
    for text in ("high tide", "low tide"):
        box.add(turn(text, is_ready=False))
    first, _ = waiting(tmp_path)
    first.write_text("{half")
    box, worker = opened()
    assert worker.flush(LONG_S)
    assert server.texts == ["low tide", "Noted: low tide"]
    assert len(list((tmp_path / REFUSED).iterdir())) == 1
    assert box.refused == 1


def test_what_a_killed_process_had_half_written_is_removed_with_the_rest(tmp_path):
    left = Outbox(tmp_path, "w")
    left.open()
    left.add(turn("high tide"))
    (left._directory / "0000000002.new").write_text("{half")
    left.close()
    box = Outbox(tmp_path, "w")
    box.open()
    assert box.count() == 1
    box.done(box.ready())
    box.close()
    assert not list((tmp_path / DIRECTORY).iterdir())


def test_only_what_a_living_process_holds_is_waited_for(opened, tmp_path):
    box, _ = opened()
    box.add(turn("high tide", is_ready=False))
    assert len(list(sending(tmp_path))) == 1
    service.settled({"home": str(tmp_path / "elsewhere")})
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (box._directory / "lock").write_text(str(ended.pid))
    assert list(sending(tmp_path)) == []
    assert len(list(waiting(tmp_path))) == 1
    began = time.monotonic()
    service.settled({"home": str(tmp_path)})
    assert time.monotonic() - began < LONG_S


def test_a_full_outbox_takes_nothing_more_until_something_was_sent(tmp_path):
    box = Outbox(tmp_path, "w", most=1)
    box.open()
    first = turn("high tide")
    box.add(first)
    with pytest.raises(WriteRefused, match="1 texts wait"):
        box.add(turn("low tide"))
    assert [item.id for item in box.ready()] == ["t-high tide"]
    box.done([first])
    assert box.add(turn("low tide"))
    box.close()


def test_a_home_that_cannot_be_written_keeps_items_in_memory(tmp_path):
    (tmp_path / DIRECTORY).write_text("a file")
    box = Outbox(tmp_path, "w")
    box.open()
    assert not box.add(turn("high tide"))
    assert box.count() == 1
    box.close()


# -- conclusions -----------------------------------------------------------------------------------

TEA = "Ada likes tea."


def conclusion(text=TEA, name="c-1"):
    return Item(name, "conclusion", "boats", PLACE, {"about": "user", "text": text})


#: Ways in which a request ends of which nobody knows whether it is done.
UNKNOWN = [
    Fault("unsure", "given up", end="given up"),
    Fault("unsure", "lost", end="lost"),
    Fault("unsure", "cannot be read"),
    Fault("busy", "broken", status=500),
    Fault("busy", "of a proxy", status=504, end="given up"),
]


def until(holds):
    """Wait until something holds that a thread brings about."""
    moment = time.monotonic() + LONG_S
    while not holds() and time.monotonic() < moment:
        time.sleep(0.01)
    assert holds()


@pytest.mark.parametrize("stores", [False, True])
@pytest.mark.parametrize("fault", UNKNOWN, ids=str)
def test_a_conclusion_of_which_nobody_knows_is_stored_once(opened, server, fault, stores):
    box, worker = opened()
    server.faults = [(fault, stores)]
    box.add(conclusion())
    while not worker.flush(LONG_S):
        pass
    assert server.concluded == [TEA]


@pytest.mark.parametrize("fault", UNKNOWN[:2], ids=str)
def test_a_conclusion_that_comes_after_its_repeat_is_removed(opened, server, fault, tmp_path):
    box, worker = opened()
    server.faults = [(fault, False)]
    box.add(conclusion())
    while not worker.flush(LONG_S):
        pass
    assert not list(waiting(tmp_path))
    server.rows += server.late
    until(lambda: server.concluded == [TEA])


def test_the_next_session_repeats_nothing_before_an_earlier_request_is_over(
    opened, server, tmp_path
):
    box, _ = opened()
    item = conclusion()
    box.add(item)
    item.is_doubtful = True
    item.body |= {"before": [], "attempts": 1, "open_until": time.time() + 0.4}
    box.keep(item)
    began = time.monotonic()
    _, worker = opened()
    worker.kick()
    until(lambda: server.looks)
    assert server.concluded == []
    until(lambda: server.concluded)
    assert time.monotonic() - began >= 0.4


def test_what_a_former_release_left_is_stored_once(opened, server):
    box, _ = opened()
    body = {"observer": "hermes", "observed": "ada", "text": TEA}
    item = Item("c-1", "conclusion", "boats", PLACE, body, is_doubtful=True)
    box.add(item)
    _, worker = opened()
    while not worker.flush(LONG_S):
        pass
    assert server.concluded == [TEA]


def test_what_was_there_before_and_what_is_said_again_is_no_copy(opened, server):
    box, worker = opened()
    server.rows = [("c-0", TEA)]
    server.faults = [(UNKNOWN[0], False)]
    box.add(conclusion())
    while not worker.flush(LONG_S):
        pass
    box.add(conclusion(name="c-2"))
    while not worker.flush(LONG_S):
        pass
    server.rows += server.late
    time.sleep(0.3)  # The looks that follow a repeat would have been made by now.
    assert server.concluded.count(TEA) == 4
    assert server.rows[0] == ("c-0", TEA)


def test_the_parts_of_a_conclusion_are_stored_together_and_counted_by_their_text(opened, server):
    box, worker = opened()
    text = ("ab " * 2_800 + "cd ") * 3
    server.faults = [(UNKNOWN[1], False)]
    box.add(conclusion(text))
    while not worker.flush(LONG_S):
        pass
    server.rows += server.late
    parts = texts.conclusions(text)
    until(lambda: sorted(server.concluded) == sorted(parts))
    assert "".join(part.removeprefix(texts.CONTINUED) for part in parts) == text


def test_a_conclusion_that_fails_is_no_reason_to_wait(opened, server):
    box, worker = opened()
    server.poison = "tea"
    box.add(conclusion())
    worker.flush(LONG_S)
    began = time.monotonic()
    worker.wait_idle(LONG_S)
    assert time.monotonic() - began < LONG_S / 2
    box.add(turn("high tide"))
    assert worker.flush(LONG_S, "turn")
    assert server.texts == ["high tide", "Noted: high tide"]


def test_a_turn_that_the_server_fails_at_is_passed_over_and_not_given_up(opened, server):
    box, worker = opened()
    server.poison, server.poisoned = "poison", Fault("busy", "broken", status=500)
    for text in ("poison", "high tide"):
        box.add(turn(text))
        worker.kick()
    until(lambda: "high tide" in server.texts)
    server.poison = None
    while not worker.flush(LONG_S):
        pass
    assert server.texts[::2] == ["high tide", "poison"]


def test_a_server_that_fails_at_all_turns_gets_them_in_order(opened, server):
    box, worker = opened()
    server.poison, server.poisoned = "tide", Fault("busy", "broken", status=500)
    for number in range(8):
        box.add(turn(f"tide {number}"))
    for _ in range(20):
        worker.flush(LONG_S)
    server.poison = None
    while not worker.flush(LONG_S):
        pass
    assert server.texts[::2] == [f"tide {number}" for number in range(8)]


def test_several_that_the_server_fails_at_stop_none(opened, server):
    box, worker = opened()
    server.poison, server.poisoned = "poison", Fault("busy", "broken", status=500)
    for number in range(7):
        box.add(turn(f"poison {number}"))
        box.add(conclusion(f"A poison, {number}.", f"c-{number}"))
    box.add(turn("high tide"))
    box.add(conclusion("Ada sails.", "c-9"))
    worker.kick()
    until(lambda: server.texts and server.concluded)
    assert server.texts == ["high tide", "Noted: high tide"]
    assert server.concluded == ["Ada sails."]
    assert box.count() == 14
