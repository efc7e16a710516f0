"""A provider that keeps what it likes is judged by what came back once, and by nothing else."""

import contextlib
import json

import pytest

from memproto import spec
from memproto.testing import facts
from memproto.testing.clauses import Untestable, Violation
from memproto.testing.evidence import Differs
from memproto.testing.facts import QUESTION, WAYS, Facts
from memproto.testing.judging import replay_story
from memproto.testing.judging.judge import Order, judge
from memproto.testing.messages import StoryBegins
from memproto.testing.provider import losses, selection
from memproto.testing.provider.calls import ToldCalls
from memproto.testing.provider.run import Run
from memproto.testing.provider.selection import Manner
from memproto.testing.settings import settings
from tests.conftest import ROOT
from tests.good.choosy import AtTheEnd, Batched, Choosy, EverySecond, Fickle, Personal, Rewording

pytestmark = pytest.mark.once

TENANCY = ("MP-TENANT-001", "MP-TENANT-002", "MP-ISO-001", "MP-RECALL-004")


def judged(kind, *ids):
    target = f"{kind.__module__}:{kind.__qualname__}"
    order = Order(target, settings=settings.read(target, ROOT), directory=ROOT)
    wanted = [item for item in spec.requirements().values() if item.id in ids]
    return {result.id: str(result.outcome) for result in judge(order, wanted)}


class Leaking:
    """It recalls what was kept for every user; the rest is as it was."""

    def enrich_turn(self, user_message, messages):
        with self._lock:
            self._entries = []
            for file in self._home.glob(f"*/{self._session}/journal.jsonl"):
                self._entries += map(json.loads, file.read_text("ascii").splitlines())
        return super().enrich_turn(user_message, messages)


class LeakingChoosy(Leaking, Choosy):
    pass


class LeakingPersonal(Leaking, Personal):
    pass


class LeakingEverySecond(Leaking, EverySecond):
    pass


class LeakingRewording(Leaking, Rewording):
    pass


class LeakingFickle(Leaking, Fickle):
    pass


class LeakingBatched(Leaking, Batched):
    pass


class LeakingAtTheEnd(Leaking, AtTheEnd):
    pass


class Nothing(Choosy):
    """Nothing is ever worth keeping."""

    def _is_kept_text(self, said):
        return False


LEAKING = (
    LeakingFickle,
    LeakingChoosy,
    LeakingPersonal,
    LeakingEverySecond,
    LeakingRewording,
    LeakingBatched,
    LeakingAtTheEnd,
)


@pytest.mark.parametrize("kind", LEAKING)
def test_a_leak_between_users_is_found_however_a_provider_chooses(kind):
    assert judged(kind, "MP-TENANT-001")["MP-TENANT-001"] == "fail"


@pytest.mark.parametrize("kind", [EverySecond, Batched, AtTheEnd])
def test_one_that_keeps_its_users_apart_is_seen_to(kind):
    found = judged(kind, *TENANCY)
    assert {found[name] for name in TENANCY} == {"pass"}


def test_one_that_keeps_nothing_has_lost_nothing():
    found = judged(Nothing, *TENANCY, "MP-TURN-001", "MP-WRITE-001")
    assert found["MP-TURN-001"] == found["MP-WRITE-001"] == found["MP-TENANT-001"] == "untestable"
    assert "fail" not in found.values()


# -- what a check misses ---------------------------------------------------------------------------


class _Run:
    def __init__(self):
        self.shared, self.unkept = {}, 0


def test_a_loss_of_what_never_came_back_proves_nothing():
    fact, run = Facts(1).new(), _Run()

    def check(_):
        fact.is_in("nothing of it")
        raise Violation(Differs(wanted="the fact", seen="it did not come back"))

    with pytest.raises(Untestable, match="never came back, which proves nothing"):
        selection.judged(check, run)
    assert run.unkept == 1


def test_a_loss_of_what_came_back_once_is_one():
    fact, run = Facts(1).new(), _Run()

    def check(_):
        fact.is_in(fact.text)
        fact.is_in("nothing of it")
        raise Violation(Differs(wanted="the fact", seen="it did not come back"))

    with pytest.raises(Violation):
        selection.judged(check, run)
    assert not facts.listeners


def test_a_fault_that_has_nothing_to_do_with_recall_stands():
    def check(_):
        raise Violation(Differs(wanted="a str or None", seen="b''"))

    with pytest.raises(Violation):
        selection.judged(check, _Run())


def test_a_manner_survives_the_wire():
    manner = Manner((0, 2), times=2, goes_on=True, routes=("turns",), is_sure=True)
    assert Manner.from_dict(json.loads(json.dumps(manner.as_dict()))) == manner


# -- ways of asking --------------------------------------------------------------------------------


@pytest.mark.parametrize("template", range(facts.USUAL))
@pytest.mark.parametrize("way", [way for way in WAYS if way != facts.BY_NAME])
def test_no_way_of_asking_holds_what_is_looked_for(way, template):
    fact = Facts(3).of(template)
    asked = fact.asked(way)
    assert asked.query
    assert not fact.is_in(asked.query)
    assert (asked.text, asked.name) == (fact.text, fact.name)


@pytest.mark.parametrize("template", range(facts.USUAL))
def test_the_key_words_and_the_beginning_stand_in_the_text(template):
    fact = Facts(3).of(template)
    assert set(fact.asked("key words").query.split()) <= set(fact.text.split())
    assert fact.text.startswith(fact.asked("beginning").query)
    assert fact.asked("proper noun").query in fact.text
    assert fact.asked(QUESTION) == fact


def run_of(journal_run, kind):
    return journal_run(kind, "turns", "writes")


def test_an_echo_of_the_question_is_no_way_to_be_asked(journal_run):
    from tests.good.journal import Journal

    class Echo(Journal):
        def enrich_turn(self, user_message, messages):
            return f"About {user_message}: nothing is known."

    run: Run = run_of(journal_run, Echo)
    assert run.find_way() == QUESTION
    assert not any(run.asked.values())


def test_a_search_that_answers_questions_is_asked_nothing_else(journal_run):
    from tests.good.journal import Journal

    asked = []

    class Notes(Journal):
        def enrich_turn(self, user_message, messages):
            asked.append(user_message)
            return super().enrich_turn(user_message, messages)

    run = run_of(journal_run, Notes)
    with contextlib.suppress(Untestable):
        assert run.find_way() == QUESTION
    assert all(question.endswith("?") for question in asked)


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("Worded", "key words"),
        ("Phrased", "proper noun"),
        ("Prefixed", "beginning"),
        ("Lettered", "small letters"),
        ("Tagged", "one word"),
        ("Lengthy", "proper noun"),
    ],
)
def test_recall_that_compares_words_is_asked_for_those(journal_run, name, way):
    from tests.good import worded

    run = run_of(journal_run, getattr(worded, name))
    assert run.find_way() == way
    assert run.facts.new().query != run.facts.of(0).text
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, "turns")
    assert run.reopened_brings_back(fact)


def test_one_that_finds_nothing_at_all_is_asked_by_questions(journal_run):
    from tests.good.journal import Journal

    class Forgets(Journal):
        def _save(self):
            self._entries = []

    assert run_of(journal_run, Forgets).find_way() == QUESTION


# -- what is lost ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["Prefixed", "Newest", "Ranked", "Cased", "Bare", "Trigrams", "Shortened"]
)
def test_a_text_that_recall_brings_in_some_way_is_not_lost(journal_run, name):
    from memproto.conformance.provider import turns
    from tests.good import worded

    run = run_of(journal_run, getattr(worded, name))
    run.find_way()
    turns.every_turn_comes_back(run)
    turns.what_is_not_stored_is_reported(run)
    turns.a_replaced_text_is_gone(run)


def test_a_text_that_no_way_brings_is_lost(journal_run):
    from memproto.conformance.provider import turns
    from tests.good.worded import Prefixed

    class FirstLine(Prefixed):
        """It stores the first line of what is said, and no other one."""

        def on_turn_complete(self, user_message, assistant_response):
            super().on_turn_complete(user_message.split("\n")[0], "")

    run = run_of(journal_run, FirstLine)
    run.find_way()
    with pytest.raises(Violation, match="a turn of three lines"):
        turns.every_turn_comes_back(run)


def test_an_echo_of_what_is_asked_brings_nothing_back(journal_run):
    from tests.good.journal import Journal

    class Echo(Journal):
        def enrich_turn(self, user_message, messages):
            return f"About {user_message}: {super().enrich_turn(user_message, messages)}"

        def _save(self):
            self._entries = [entry for entry in self._entries if "tug" not in entry["text"]]
            super()._save()

    run = run_of(journal_run, Echo)
    lost, kept = run.facts.of(0), run.facts.of(1)
    with run.session() as subject:
        run.plant(subject, lost, "turns")
        run.plant(subject, kept, "turns")
    assert losses.lost(run, [lost, kept]) == [lost]


def test_a_text_is_asked_for_by_the_words_with_which_the_whole_of_it_begins():
    fact = Facts(3).of(0)
    longer = fact.within(f"Also:\n\n{fact.text}\nThat is all.")
    queries = [other.query for other in longer.otherwise()]
    assert "Also:" in queries
    assert f"Also:\n\n{fact.asked('beginning').query}" in queries
    assert not any(fact.stands_in(query) for query in queries)
    assert {other.query for other in longer.by_its_words()} >= {fact.text, longer.whole}


# -- scripts ---------------------------------------------------------------------------------------


def test_a_script_of_a_selective_provider_makes_the_calls_of_its_check_alone(monkeypatch, tmp_path):
    heard = []
    told = replay_story.told
    monkeypatch.setattr(
        replay_story, "told", lambda messages: heard.append(told(messages)) or heard[-1]
    )
    target = f"{LeakingFickle.__module__}:{LeakingFickle.__qualname__}"
    found = settings.read(target, ROOT)
    order = Order(target, settings=found, directory=ROOT, replay=str(tmp_path))
    results = judge(order, [spec.requirement("MP-TENANT-001")])
    (red,) = (item for item in results if str(item.outcome) == "fail")
    assert red.replay.endswith("MP-TENANT-001.py")
    calls = [call for item in heard for call in item.calls]
    homes = {call.arguments[-1]["home"] for call in calls if call.operation == "open"}
    assert {home.rpartition("/")[2] for home in homes} == {"memory"}


def test_a_run_that_is_over_tells_nothing_more(tmp_path):
    sent = []

    class Line:
        def send(self, message):
            sent.append(message)

    telling = ToldCalls(Line(), tmp_path)
    telling.end()
    subject = type("Subject", (), {"number": 0})()
    assert telling.follow(subject, "recall", ("enrich_turn", ["?", []], {}), lambda: "so") == "so"
    assert sent == [StoryBegins(str(tmp_path))]
