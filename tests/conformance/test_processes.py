"""The checks of signals and forks: sensible providers that they let pass, and kinds of faults."""

from types import SimpleNamespace

import pytest

from memproto import spec
from memproto.conformance.provider import processes
from memproto.testing.clauses import Behind, Untestable
from memproto.testing.judging.judge import judge
from memproto.testing.lifetimes.ends import Ended, HostProcess
from memproto.testing.needs import depends_on
from memproto.testing.outcomes import Outcome
from memproto.testing.settings.order import Order
from tests.kit_runs import ROOT, write

PUTS_BACK = """
class Mine(Journal):
    def on_turn_complete(self, user_message, assistant_response):
        before = list(self._entries)
        try:
            super().on_turn_complete(user_message, assistant_response)
        except BaseException:
            self._entries = before
            raise
"""

#: Nothing comes out of a destructor.
TIDIES_UP = """
class Handle:
    def __del__(self):
        pass
class Mine(Journal):
    def on_turn_complete(self, user_message, assistant_response):
        Handle()
        super().on_turn_complete(user_message, assistant_response)
"""

#: Writes when the process ends what it has accepted, and in `shutdown`.
WRITES_LATER = """
class Mine(Journal):
    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        self.waiting, self.owner = [], os.getpid()
        atexit.register(self.flush)
    def on_turn_complete(self, user_message, assistant_response):
        self.waiting.append((user_message, assistant_response))
    def on_memory_write(self, action, target, content, old_text=None):
        self.flush()
        super().on_memory_write(action, target, content, old_text)
    def flush(self):
        {first}
        waiting, self.waiting = self.waiting, []
        for turn in waiting:
            super().on_turn_complete(*turn)
    def shutdown(self):
        self.flush()
"""

#: Its recall raises while its backend is away, which is no affair of a fork.
RECALL_RAISES = """
class Mine(Journal):
    def enrich_turn(self, user_message, messages):
        raise ConnectionError("the backend is away")
"""

#: Each copy of the process goes on in the caller's place.
FORKS = """
class Mine(Journal):
    def enrich_turn(self, user_message, messages):
        os.fork()
        return super().enrich_turn(user_message, messages)
"""

#: One target is not its affair, which it says.
REFUSES_WRITES = """
class Mine(Journal):
    def on_memory_write(self, action, target, content, old_text=None):
        raise WriteRefused("no writes are mirrored")
    def capabilities(self):
        return {**super().capabilities(), "stores": ["turns"], "mirrors": {}}
"""


#: Its host lets the exception through, and ends by that. A session with so many turns is needed, so
#: that first contact is none of it.
SHUTDOWN_RAISES = """
class Mine(Journal):
    turns = 0
    def on_turn_complete(self, user_message, assistant_response):
        super().on_turn_complete(user_message, assistant_response)
        self.turns += 1
    def shutdown(self):
        if self.turns == {count}:
            raise RuntimeError("work is left undone")
"""

#: The service that stores its turns is away; nothing of that is about an end.
RECORD_RAISES = """
class Mine(Journal):
    def on_turn_complete(self, user_message, assistant_response):
        raise ConnectionRefusedError("the service is away")
"""

#: With one turn in its queue, and with threads inside of it, its end aborts the process.
ABORTS_WITH_ONE_TURN = """
class Mine(Journal):
    turns = 0
    def on_turn_complete(self, user_message, assistant_response):
        super().on_turn_complete(user_message, assistant_response)
        if not Mine.turns:
            atexit.register(self.goodbye)
        Mine.turns += 1
    @classmethod
    def goodbye(cls):
        if cls.turns != 2:
            os.abort()
"""

#: A second session on one home crashes in `initialize`, where it is not the first in its process.
CRASHES_ON_A_NEW_START = """
class Mine(Journal):
    is_known = False
    def initialize(self, session_key, config):
        mark = os.path.join(config["home"], "mark")
        if os.path.exists(mark) and not Mine.is_known:
            os.abort()
        Mine.is_known = True
        super().initialize(session_key, config)
        open(mark, "w").close()
"""

#: Stores a turn under the session and the number with which the host said that it begins, once.
KNOWS_ITS_TURNS = """
class Mine(Journal):
    key, number = "", 0
    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        self.key = session_key
    def capabilities(self):
        return {**super().capabilities(), "extensions": ["turns"]}
    def on_turn_start(self, turn_number, message, **kwargs):
        self.number = turn_number
    def on_turn_complete(self, user_message, assistant_response):
        kind = f"{self.key} {self.number}"
        with self._changing():
            if all(entry["kind"] != kind for entry in self._entries):
                self._entries.append({"kind": kind, "text": user_message})
                self._save()
"""

#: Takes an answer that it knows for a turn that is recorded again.
KNOWS_ITS_ANSWERS = """
class Mine(Journal):
    def on_turn_complete(self, user_message, assistant_response):
        if all(not entry["text"].endswith(assistant_response) for entry in self._load()):
            super().on_turn_complete(user_message, assistant_response)
"""

#: Takes the turn that follows a recall for the question, whether there is a fork or not.
DROPS_WHAT_FOLLOWS_A_RECALL = """
class Mine(Journal):
    is_asked = False
    def enrich_turn(self, user_message, messages):
        self.is_asked = "boat" in user_message
        return super().enrich_turn(user_message, messages)
    def on_turn_complete(self, user_message, assistant_response):
        if not self.is_asked:
            super().on_turn_complete(user_message, assistant_response)
"""


#: Its end puts the old picture back, where the process had one session alone.
LOSES_A_LONE_SESSION = """
class Mine(Journal):
    sessions, begun = 0, {}
    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        if not Mine.sessions:
            atexit.register(self.put_back)
        Mine.sessions += 1
        self.begun.setdefault(self._path, self._path.read_bytes() if self._path.exists() else b"")
    @classmethod
    def put_back(cls):
        for path, held in cls.begun.items():
            if cls.sessions == 1 and path.parent.is_dir():
                path.write_bytes(held)
"""


@pytest.fixture
def judged_all(tmp_path):
    def judge_source(source, requirement):
        (tmp_path / "tests").symlink_to(ROOT / "tests")
        start = "import atexit, os\nfrom memproto.errors import WriteRefused\n"
        start += "from tests.good.journal import Journal\n"
        write(tmp_path, mine__py=start + source)
        order = Order("mine:Mine", directory=tmp_path)
        return {item.id: item for item in judge(order, [spec.requirement(requirement)])}

    return judge_source


@pytest.fixture
def judged(judged_all):
    return lambda source, requirement: judged_all(source, requirement)[requirement]


def test_one_that_puts_back_and_lets_the_signal_through_ends_by_it(judged):
    assert judged(PUTS_BACK, "MP-PROC-008").outcome is Outcome.PASS


def test_a_signal_in_a_destructor_is_ignored_by_the_interpreter_and_not_by_the_hook(judged):
    assert judged(TIDIES_UP, "MP-PROC-008").outcome is Outcome.PASS


def test_what_is_written_at_exit_by_its_own_process_only_is_stored_once(judged):
    source = WRITES_LATER.format(first="if os.getpid() != self.owner: return")
    assert judged(source, "MP-PROC-009").outcome is Outcome.PASS


def test_a_recall_that_raises_without_a_fork_too_is_not_of_the_fork(judged):
    found = judged(RECALL_RAISES, "MP-PROC-009")
    assert found.outcome is Outcome.UNTESTABLE
    assert "without a fork the session fails as well" in found.reason


def test_what_a_copy_writes_at_its_exit_as_well_is_stored_twice(judged):
    found = judged(WRITES_LATER.format(first="pass"), "MP-PROC-009")
    assert found.outcome is Outcome.WARN
    assert found.observed.endswith(": 2 times")


def test_a_provider_that_forks_in_each_call_does_not_multiply_in_a_host(judged):
    assert judged(FORKS, "MP-PROC-004").outcome is Outcome.PASS


def test_a_host_goes_on_after_a_write_that_the_provider_reports_as_refused(judged):
    assert judged(REFUSES_WRITES, "MP-PROC-005").outcome is Outcome.PASS


def test_a_simpler_end_that_fails_is_told_under_its_own_rule(judged_all):
    found = judged_all(ABORTS_WITH_ONE_TURN, "MP-PROC-004")
    assert found["MP-PROC-004"].outcome is Outcome.UNTESTABLE
    assert found["MP-PROC-001"].outcome is Outcome.FAIL
    assert "SIGABRT" in found["MP-PROC-001"].observed


def test_an_exception_of_shutdown_is_told_under_its_own_rule(judged_all):
    found = judged_all(SHUTDOWN_RAISES.format(count=2), "MP-PROC-001")
    assert found["MP-INIT-001"].outcome is Outcome.PASS
    assert found["MP-PROC-001"].outcome is Outcome.UNTESTABLE
    assert found["MP-SHUT-001"].outcome is Outcome.FAIL
    assert "work is left undone" in found["MP-SHUT-001"].observed


@pytest.mark.parametrize("requirement", ["MP-PROC-001", "MP-PROC-002", "MP-PROC-003"])
def test_an_exception_of_a_hook_that_stores_is_no_fault_of_an_end(judged_all, requirement):
    found = judged_all(RECORD_RAISES, requirement)
    # The second half of the rule on functions at exit asks if a text came back.
    kept = Outcome.UNTESTABLE if requirement == "MP-PROC-003" else Outcome.PASS
    assert found[requirement].outcome is kept, found[requirement]
    assert Outcome.FAIL not in {item.outcome for item in found.values()}


def test_a_host_that_an_exception_ended_before_its_end_proves_nothing_of_it():
    errors = 'Traceback (most recent call last):\n  File "x", line 1\nOSError: no\n'
    with pytest.raises(Untestable, match="did not come to 'ending'"):
        processes._not_of_its_end(Ended(1, ["opened"], errors, ()))


@pytest.mark.parametrize(("marks", "rule"), [([], "MP-SHUT-001"), (["closed"], "MP-PROC-001")])
def test_a_simpler_end_is_of_shutdown_only_if_that_did_not_return(marks, rule):
    errors = 'Traceback (most recent call last):\n  File "x", line 1\nRuntimeError: no\n'
    ended = Ended(1, ["opened", "ending", *marks], errors, ())
    with pytest.raises(Behind) as found:
        processes._not_of_its_end(ended)
    assert found.value.violation.requirement == rule


@pytest.mark.parametrize("requirement", ["MP-PROC-006", "MP-STORE-003"])
def test_a_crash_that_keeps_a_host_from_coming_further_is_told(judged_all, requirement):
    found = judged_all(CRASHES_ON_A_NEW_START, requirement)
    assert found[requirement].outcome is Outcome.UNTESTABLE
    assert found["MP-ISO-003"].outcome is Outcome.FAIL
    assert "SIGABRT" in found["MP-ISO-003"].observed


@pytest.mark.parametrize(
    "requirement",
    [
        *("MP-PROC-005", "MP-PROC-006", "MP-PROC-007", "MP-PROC-009", "MP-PROC-010"),
        *("MP-STORE-002", "MP-STORE-004", "MP-STORE-010", "MP-ISO-011"),
    ],
)
def test_a_provider_that_is_told_of_turns_is_told_by_every_host(judged, requirement):
    found = judged(KNOWS_ITS_TURNS, requirement)
    assert found.outcome is Outcome.PASS, found


def test_a_loss_by_the_same_calls_in_one_process_is_not_of_its_end(judged):
    found = judged(KNOWS_ITS_ANSWERS, "MP-PROC-010")
    assert found.outcome is Outcome.UNTESTABLE, found
    assert "does not come back to it either" in found.reason


@pytest.mark.parametrize(
    "requirement", ["MP-PROC-003", "MP-PROC-005", "MP-PROC-006", "MP-PROC-007"]
)
def test_a_text_that_any_ended_process_took_with_it_is_told(judged_all, requirement):
    found = judged_all(LOSES_A_LONE_SESSION, requirement)
    assert found[requirement].outcome is Outcome.UNTESTABLE, found[requirement]
    assert found["MP-PROC-010"].outcome is Outcome.FAIL
    assert "stored in a session, recalled when it was shut down" in found["MP-PROC-010"].expected


def test_a_loss_by_the_same_calls_without_a_fork_is_not_of_the_fork(judged):
    found = judged(DROPS_WHAT_FOLLOWS_A_RECALL, "MP-PROC-009")
    assert found.outcome is Outcome.UNTESTABLE, found
    assert "without a fork do that as well" in found.reason


def test_a_beginning_of_a_turn_that_hangs_in_a_host_is_no_fault_of_its_end():
    host = HostProcess.__new__(HostProcess)
    watch = SimpleNamespace(late=[])
    host._run = SimpleNamespace(hook=lambda operation: f"on_{operation}", watch=watch)
    host._hung, host._stays = "", False
    host._seen = Ended(None, ["opened", "begins"], "", ())
    with pytest.raises(Untestable, match="on_turn_start did not return") as found:
        host.end()
    assert found.value.needs == depends_on("MP-TSTART-002")
    assert watch.late == ["turn_start"]


@pytest.mark.parametrize("marks", [["begins", "begun"], ["begins", "begun", "ending", "begins"]])
def test_an_end_that_hangs_when_turns_have_begun_is_one(marks):
    host = HostProcess.__new__(HostProcess)
    host._hung, host._stays = "", False
    host._seen = Ended(None, ["opened", *marks], "", ())
    assert host.end() is host._seen
