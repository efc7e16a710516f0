"""Results from the fate of a child: whose fault it is, and what it costs the other rules."""

from types import SimpleNamespace

import pytest

from memproto import spec
from memproto.testing import clauses
from memproto.testing.host.probes import raising
from memproto.testing.judging import attribution, watchdog
from memproto.testing.judging.judge import Judge, judge
from memproto.testing.messages import CommandFailed, CommandRefused, Judged, Obeyed
from memproto.testing.outcomes import Outcome
from memproto.testing.processes import roots
from memproto.testing.processes.answer import Answer, ChildDidNotStart
from memproto.testing.provider.subject import HookLate
from memproto.testing.settings.order import Order
from tests.kit_runs import ROOT, write
from tests.scripted import judging, outcomes

pytestmark = pytest.mark.once

#: Two rules of one chapter: what the first leaves behind may hit the second.
FIRST, SECOND = (spec.requirement(item) for item in ("MP-SHUT-001", "MP-SHUT-002"))


def test_two_targets_of_one_run_share_no_directory(scripted, tmp_path):
    started = scripted()
    for _ in range(2):
        judging(tmp_path).run(FIRST)
    assert started[0].root.parent != started[1].root.parent


def test_the_checks_of_a_chapter_share_a_process(scripted, tmp_path):
    started = scripted()
    mine = judging(tmp_path)
    assert outcomes(mine.run(FIRST) + mine.run(SECOND)) == [
        (FIRST.id, Outcome.PASS),
        (SECOND.id, Outcome.PASS),
    ]
    assert len(started) == 1


@pytest.mark.parametrize("left", [{"threads": 1}, {"changed": ("umask: 18 became 0",)}])
def test_a_process_in_which_something_was_left_is_not_used_again(scripted, tmp_path, left):
    dirty = Answer("answered", Judged((), **left))
    started = scripted(MP_SHUT_001=[dirty])
    mine = judging(tmp_path)
    mine.run(FIRST)
    mine.run(SECOND)
    assert len(started) == 2
    mine.close()
    assert not any(one.alive for one in started)


def test_a_death_in_a_hook_is_booked_under_its_rule_and_leaves_the_check_open(scripted, tmp_path):
    scripted(MP_SHUT_001=[Answer("died", operation="close", ending="exit code 3")])
    own, finding = judging(tmp_path).run(FIRST)
    assert outcomes([own, finding]) == [
        (FIRST.id, Outcome.UNTESTABLE),
        ("MP-ISO-003", Outcome.FAIL),
    ]
    assert finding.observed == "the process ended during shutdown (exit code 3)"
    assert finding.seen_in == FIRST.id


def test_no_hook_is_late_while_memory_is_counted(scripted, tmp_path):
    counting = spec.requirement("MP-RES-004")
    scripted(MP_RES_004=[Answer("late", operation="recall", budget_s=5.0, took_s=6.0)])
    asked = [*judging(tmp_path).run(counting)]
    late = HookLate("recall", 5.5, 5.0)
    watch = SimpleNamespace(deaths={})
    run = SimpleNamespace(watch=watch, hook=lambda name: name, where=lambda name: name)
    asked += attribution.judge(counting, raising(lambda: late), run)
    assert outcomes(asked) == [(counting.id, Outcome.UNTESTABLE)] * 2
    assert all("while its memory was counted" in result.reason for result in asked)


def test_a_death_that_an_earlier_check_caused_is_booked_with_that_one(scripted, tmp_path):
    dead = Answer("died", ending="exit code 0")
    # The second dies in the shared process and not alone; the first dies alone as well.
    scripted(MP_SHUT_001=[None, dead], MP_SHUT_002=[dead, None])
    mine = judging(tmp_path)
    mine.run(FIRST)
    own, finding = mine.run(SECOND)
    assert own.outcome is Outcome.PASS
    assert (finding.id, finding.seen_in) == ("MP-ISO-003", FIRST.id)


def test_the_owner_of_a_death_is_searched_for_once(scripted, tmp_path):
    dead = Answer("died", ending="exit code 0")
    started = scripted(MP_SHUT_001=[None, dead], MP_SHUT_002=[dead, None])
    mine = judging(tmp_path)
    mine.run(FIRST)
    mine.run(SECOND)
    known = len(started)
    mine.run(FIRST)
    mine.run(SECOND)
    assert len(started) == known + 2


def test_a_process_that_is_lost_between_hooks_three_times_is_not_started_again(scripted, tmp_path):
    stuck = Answer("overdue", took_s=20.0)
    started = scripted(MP_SHUT_001=[stuck] * 9)
    mine = judging(tmp_path)
    found = [mine.run(FIRST)[0] for _ in range(5)]
    assert [result.outcome for result in found] == [Outcome.INCONCLUSIVE] * 3 + [
        Outcome.UNTESTABLE
    ] * 2
    assert len(started) == 3


def test_a_freeze_while_an_instance_is_built_is_no_fault_of_building(scripted, tmp_path):
    scripted(MP_SHUT_001=[Answer("froze", operation="load", took_s=4.0)])
    _, finding = judging(tmp_path).run(FIRST)
    assert finding.id == "MP-THR-002"


def test_a_second_freeze_is_believed_sooner(scripted, tmp_path):
    froze = Answer("froze", operation="close", took_s=4.0)
    started = scripted(MP_SHUT_001=[froze])
    mine = judging(tmp_path)
    mine.run(FIRST)
    mine.run(SECOND)
    assert started[0].frozen_s > started[1].frozen_s


def test_of_many_processes_with_threads_four_are_kept(scripted, tmp_path, monkeypatch):
    monkeypatch.setattr(watchdog, "LINGER_S", 3600.0)
    dirty = Answer("answered", Judged((), threads=1))
    started = scripted(MP_SHUT_001=[dirty] * 9)
    mine = judging(tmp_path)
    for _ in range(9):
        mine.run(FIRST)
    assert [one.alive for one in started] == [False] * 5 + [True] * 4
    mine.close()
    assert not any(one.alive for one in started)


def test_a_thread_that_freezes_the_process_later_is_found(scripted, tmp_path):
    dirty = Answer("answered", Judged((), threads=1))
    scripted(MP_SHUT_001=[dirty], nothing=[Answer("froze", took_s=4.0)])
    mine = judging(tmp_path)
    found = mine.run(FIRST) + mine.finish()
    late = next(result for result in found if result.id == "MP-THR-002")
    assert late.outcome is Outcome.FAIL
    assert late.seen_in == FIRST.id
    assert "by what was left running" in late.observed


def test_a_child_that_does_not_start_is_an_error_of_the_kit_with_its_output(scripted, tmp_path):
    scripted(load=[ChildDidNotStart("a kit child ended at its start\nImportError: psutil")])
    mine = judging(tmp_path)
    contact = mine.meet()
    assert outcomes(contact.results) == [("MP-LOAD-001", Outcome.KIT_ERROR)]
    assert "ImportError: psutil" in contact.results[0].observed
    assert mine.run(FIRST)[0].outcome is Outcome.UNTESTABLE


def test_a_target_that_does_not_load_a_second_time_breaks_the_rule_on_loading(scripted, tmp_path):
    fault = ("TargetDoesNotImport", "--memproto=mine", "raises OSError: used up", "...")
    scripted(load=[None, Answer("answered", CommandRefused(*fault))])
    mine = judging(tmp_path)
    mine.run(FIRST)
    own, finding = mine.run(spec.requirement("MP-COMP-001"))
    assert own.outcome is Outcome.UNTESTABLE
    assert (finding.id, finding.outcome) == ("MP-LOAD-001", Outcome.FAIL)
    assert "used up" in finding.observed


OVERDUE = Answer("overdue", took_s=20.0)


def test_a_process_that_a_busy_machine_kept_from_the_target_is_started_again(scripted, tmp_path):
    started = scripted(load=[None, OVERDUE])
    mine = judging(tmp_path)
    mine.run(FIRST)
    other = spec.requirement("MP-COMP-001")
    assert outcomes(mine.run(other)) == [(other.id, Outcome.PASS)]
    assert len(started) == 3


def test_a_busy_machine_leaves_the_check_open_and_not_the_rule_on_loading(scripted, tmp_path):
    scripted(load=[None, OVERDUE, OVERDUE])
    mine = judging(tmp_path)
    mine.run(FIRST)
    (open_,) = mine.run(spec.requirement("MP-COMP-001"))
    assert (open_.id, open_.outcome) == ("MP-COMP-001", Outcome.INCONCLUSIVE)
    assert "had not come to the target" in open_.reason
    # The next one begins as if nothing had been.
    assert outcomes(mine.run(SECOND)) == [(SECOND.id, Outcome.PASS)]


def test_a_death_is_told_although_a_busy_machine_ends_the_search_for_its_check(scripted, tmp_path):
    scripted(load=[None, OVERDUE], nothing=[Answer("died", ending="exit code 3")])
    mine = judging(tmp_path)
    mine.run(FIRST)
    mine._children.process.alive = False
    own, death = mine.run(SECOND)
    assert (own.id, own.outcome) == (SECOND.id, Outcome.PASS)
    assert (death.id, death.outcome) == ("MP-ISO-003", Outcome.FAIL)
    assert "kept the kit from finding the check" in death.observed


def test_an_answer_of_another_shape_is_an_error_of_the_kit(scripted, tmp_path):
    odd = [Judged(({"id": 3},)), Judged(({"id": FIRST.id, "outcome": "well"},)), Obeyed()]
    scripted(MP_SHUT_001=[Answer("answered", reply) for reply in odd])
    mine = judging(tmp_path)
    for reply in odd:
        (found,) = mine.run(FIRST)
        assert found.outcome is Outcome.KIT_ERROR
        assert f"the child answered {type(reply).__name__}" in found.observed


def test_an_error_after_the_provider_changed_the_interpreter_is_none_of_the_kit(scripted, tmp_path):
    failed = CommandFailed("Traceback\nTypeError: no", ("builtins.isinstance",))
    scripted(MP_SHUT_001=[Answer("answered", failed)])
    (found,) = judging(tmp_path).run(FIRST)
    assert found.outcome is Outcome.UNTESTABLE
    assert found.reason == "the provider changed builtins.isinstance: TypeError: no"


# -- with real children ----------------------------------------------------------------------------

HOSTILE = {
    "import_exits": ("import sys\nsys.exit(3)\n", "MP-LOAD-001", "raised SystemExit: 3"),
    "import_raises": (
        "class Odd(BaseException): pass\nraise Odd('at import')\n",
        "MP-LOAD-001",
        "raised Odd: at import",
    ),
    "property_raises": (
        "class Mine(Journal):\n    @property\n    def enrich_turn(self): raise OSError('gone')\n",
        "MP-RECALL-006",
        "OSError: gone",
    ),
    "reading_raises": (
        """class Odd(dict):
    def get(self, *a): raise OSError('unreadable')
class Mine(Journal):
    def capabilities(self): return Odd(super().capabilities())
""",
        "",
        "",
    ),
    "in_disguise": (
        """class Liar: __class__ = str
class Mine(Journal):
    def enrich_turn(self, u, m): return Liar()
""",
        "MP-RECALL-001",
        "<Liar that claims another class>",
    ),
    "repr_exits": (
        """class Rude:
    def __repr__(self): raise SystemExit(3)
class Mine(Journal):
    def enrich_turn(self, u, m): return Rude()
""",
        "MP-RECALL-001",
        "<Rude whose repr raises SystemExit>",
    ),
    "closes": (
        "import os\nclass Mine(Journal):\n    def is_available(self): os.closerange(3, 4096)\n",
        "MP-ISO-003",
        "it closed file descriptors that it had not opened",
    ),
    "sets_an_alarm": (
        """import signal
class Mine(Journal):
    def initialize(self, s, c):
        super().initialize(s, c)
        signal.setitimer(signal.ITIMER_REAL, 0.6)
""",
        "MP-ISO-003",
        "(signal SIGALRM)",
    ),
    "forks_at_import": (
        """import os
os.fork()
class Mine(Journal): pass
""",
        "MP-ISO-003",
        "importing or building forked the process",
    ),
    "message_is_hostile": (
        r"""class Mine(Journal):
    def initialize(self, s, c): raise OSError('\x1b[2J\udc80' + 'x' * 10**7)
""",
        "MP-INIT-001",
        "OSError: \\x1b[2J\\udc80xxx",
    ),
}


def judged(tmp_path, source):
    """All results of first contact, of two checks and of the end, for a module of that source."""
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    write(tmp_path, hostile__py=f"from tests.good.journal import Journal\n{source}")
    root = roots.new_root()
    wanted = [spec.requirement(item) for item in ("MP-NAME-002", "MP-RECALL-001")]
    mine = Judge(Order("hostile", directory=tmp_path), root)
    try:
        found = [*mine.meet().results, *(r for item in wanted for r in mine.run(item))]
        return found + mine.finish()
    finally:
        mine.close()
        roots.remove(root)
        assert not root.exists()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_target_is_red_under_the_rule_it_breaks_and_the_kit_has_no_error(tmp_path, name):
    source, rule, said = HOSTILE[name]
    found = judged(tmp_path, source)
    red = {result.id: result.observed for result in found if result.outcome is Outcome.FAIL}
    assert set(red) == ({rule} if rule else set())
    assert said in red.get(rule, "")
    assert not any(result.outcome is Outcome.KIT_ERROR for result in found)


def test_every_check_has_a_process_budget_above_that_of_its_hooks():
    assert all(check.budget_s > 0 for check in clauses.checks("provider").values())


def test_a_check_that_waits_for_as_long_as_a_slow_machine_needs_is_not_stuck():
    # The mark never comes: it is waited for 5 s, scaled by both. Else the process has 1 s.
    target = "tests.broken.host.writes:MirrorsAdditionsOnly"
    order = Order(target, side="host", directory=ROOT, scale=0.05, slowdown=5.0)
    (found,) = judge(order, [spec.requirement("MP-HOST-WRITE-001")])
    assert found.outcome is Outcome.FAIL, found.reason
