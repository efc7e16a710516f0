"""A provider of which no session begins is judged by all requirements that need none."""

import pytest

from memproto import bindings, spec
from memproto.testing import incidents
from memproto.testing.judging.judge import Judge
from memproto.testing.outcomes import Outcome
from memproto.testing.processes.answer import Answer
from memproto.testing.settings.order import Contact, Order
from tests.kit_runs import outcomes, reported, write

pytestmark = pytest.mark.once

BASE = """
TOOL = {"name": "pier_keep", "description": "Keeps a text.", "parameters": {
    "type": "object", "properties": {"texts": {"type": "array"}}}}


class Pier:
    name = "pier"
    def is_available(self): return True
    def initialize(self, session_id, **kwargs): raise OSError("no service at 127.0.0.1")
    def system_prompt_block(self): return ""
    def prefetch(self, query, *, session_id=""): return ""
    def queue_prefetch(self, query, *, session_id=""): pass
    def sync_turn(self, user_content, assistant_content, *, session_id=""): pass
    def get_tool_schemas(self): return [TOOL]
    def handle_tool_call(self, tool_name, args, **kwargs): return "{}"
    def get_config_schema(self):
        return [{"key": "place", "description": "Where?", "default": "here"}]
    def save_config(self, values, hermes_home): pass
    def shutdown(self): pass


class Away(Pier):
    def is_available(self): return False


class Shy(Pier):
    def get_tool_schemas(self): raise RuntimeError("not configured")


class ListsLater(Pier):
    def get_tool_schemas(self): return []
"""

NATIVE = """
from tests.good.tooled import Tooled


class Undeclared(Tooled):
    def capabilities(self): return 7


class Failing(Tooled):
    def initialize(self, session_key, config): raise OSError("no service at 127.0.0.1")
"""

TOLD = [f"TOOL-{number}" for number in ("002", "003", "005", "006", "008", "015")]
TOLD += ["CONF-001", "CONF-005", "CONF-007", "INIT-001", "CAP-001"]
CLAUSES = [f"--memproto-clause=MP-{number}" for number in TOLD]


def judged(tmp_path, target, source=BASE):
    write(tmp_path, mine__py=source)
    found = reported(tmp_path, f"--memproto=mine:{target}", *CLAUSES)
    return found, outcomes(found["reports"][0])


def row(found, requirement):
    rows = found["reports"][0]["results"]
    return next(row for row in rows if row["id"] == requirement)


@pytest.mark.parametrize("target", ["Pier", "Away"])
def test_what_needs_no_session_is_judged_where_none_begins(tmp_path, target):
    found, told = judged(tmp_path, target)
    assert told["MP-TOOL-003"] == "fail"
    assert "has no `items`" in row(found, "MP-TOOL-003")["observed"]
    assert told["MP-TOOL-002"] == told["MP-CONF-001"] == "pass"
    assert told["MP-CONF-005"] == "fail"
    assert "no file holds the answer to 'place'" in row(found, "MP-CONF-005")["observed"]
    assert told["MP-TOOL-008"] == told["MP-CONF-007"] == "untestable"


def test_a_failed_start_is_one_red_line_and_named_by_all_that_needs_a_session(tmp_path):
    found, told = judged(tmp_path, "Pier")
    assert told["MP-INIT-001"] == "fail"
    assert "needs MP-INIT-001 (fail)" in row(found, "MP-TOOL-008")["reason"]
    red = {requirement for requirement, outcome in told.items() if outcome == "fail"}
    assert red == {"MP-INIT-001", "MP-TOOL-003", "MP-CONF-005"}


LOST = Answer("died", ending="signal SIGSEGV")
STUCK = Answer("overdue", took_s=60.0)


def lost(scripted, tmp_path, answer, times):
    """A judge of whose provider the process was lost so often, in one and the same check."""
    scripted(MP_SHUT_001=[answer] * times)
    mine = Judge(Order("mine", directory=tmp_path), tmp_path, Contact(binding=bindings.NATIVE))
    mine.deaths[""] = 0
    while mine.deaths[""] < times * incidents.cost("", answer.fate):
        mine.run(spec.requirement("MP-SHUT-001"))
    return mine


@pytest.mark.parametrize(("answer", "times"), [(LOST, 12), (STUCK, 3)])
def test_what_needs_a_session_is_open_where_the_process_was_lost_too_often(
    scripted, tmp_path, answer, times
):
    for count, outcome in ((times - 1, Outcome.PASS), (times, Outcome.UNTESTABLE)):
        mine = lost(scripted, tmp_path, answer, count)
        assert mine.run(spec.requirement("MP-SHUT-002"))[0].outcome is outcome
        assert mine.run(spec.requirement("MP-NAME-002"))[0].outcome is Outcome.PASS


@pytest.mark.parametrize("target", ["Shy", "ListsLater"])
def test_tools_that_are_not_listed_before_the_start_are_untestable(tmp_path, target):
    found, told = judged(tmp_path, target)
    for number in ("002", "003", "005", "006", "015"):
        assert told[f"MP-TOOL-{number}"] == "untestable"
        assert "needs MP-INIT-001" in row(found, f"MP-TOOL-{number}")["reason"]


@pytest.mark.parametrize(("target", "gate"), [("Failing", "INIT-001"), ("Undeclared", "CAP-001")])
def test_a_native_provider_lists_its_tools_in_a_session(tmp_path, target, gate):
    found, told = judged(tmp_path, target, NATIVE)
    assert told[f"MP-{gate}"] == "fail"
    assert told["MP-TOOL-002"] == "untestable"
    assert f"needs MP-{gate} (fail)" in row(found, "MP-TOOL-002")["reason"]
