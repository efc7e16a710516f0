"""The checks of signals and forks: sensible providers that they let pass, and kinds of faults."""

import pytest

from memproto import spec
from memproto.testing.contact import Order
from memproto.testing.judge import judge
from memproto.testing.outcomes import Outcome
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


@pytest.fixture
def judged(tmp_path):
    def judge_source(source, requirement):
        (tmp_path / "tests").symlink_to(ROOT / "tests")
        start = "import atexit, os\nfrom memproto.errors import WriteRefused\n"
        start += "from tests.good.journal import Journal\n"
        write(tmp_path, mine__py=start + source)
        order = Order("mine:Mine", directory=tmp_path)
        results = judge(order, [spec.requirement(requirement)])
        return next(item for item in results if item.id == requirement)

    return judge_source


def test_one_that_puts_back_and_lets_the_signal_through_ends_by_it(judged):
    assert judged(PUTS_BACK, "MP-PROC-008").outcome is Outcome.PASS


def test_a_signal_in_a_destructor_is_ignored_by_the_interpreter_and_not_by_the_hook(judged):
    assert judged(TIDIES_UP, "MP-PROC-008").outcome is Outcome.PASS


def test_what_is_written_at_exit_by_its_own_process_only_is_stored_once(judged):
    source = WRITES_LATER.format(first="if os.getpid() != self.owner: return")
    assert judged(source, "MP-PROC-009").outcome is Outcome.PASS


def test_what_a_copy_writes_at_its_exit_as_well_is_stored_twice(judged):
    found = judged(WRITES_LATER.format(first="pass"), "MP-PROC-009")
    assert found.outcome is Outcome.WARN
    assert found.observed.endswith(": 2 times")


def test_a_provider_that_forks_in_each_call_does_not_multiply_in_a_host(judged):
    assert judged(FORKS, "MP-PROC-004").outcome is Outcome.PASS


def test_a_host_goes_on_after_a_write_that_the_provider_reports_as_refused(judged):
    assert judged(REFUSES_WRITES, "MP-PROC-005").outcome is Outcome.PASS
