"""What is judged of a provider of which no session begins: all that needs none."""

import pytest

from tests.kit_runs import outcomes, reported, write

BASE = """
import os, threading

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


class DiesAfterTurns(Pier):
    def initialize(self, session_id, **kwargs): pass
    def sync_turn(self, user_content, assistant_content, *, session_id=""):
        threading.Timer(0.01, os.abort).start()


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

CLAUSES = [f"--memproto-clause=MP-{area}" for area in ("TOOL", "CONF", "INIT-001", "CAP-001")]


def judged(tmp_path, target, source=BASE, *more):
    write(tmp_path, mine__py=source)
    found = reported(tmp_path, f"--memproto=mine:{target}", *CLAUSES, *more)
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


def test_what_needs_no_session_is_judged_where_the_process_was_lost_too_often(tmp_path):
    found, told = judged(tmp_path, "DiesAfterTurns", BASE, "--memproto-clause=MP-TURN")
    assert told["MP-CONF-005"] == told["MP-TOOL-003"] == "fail"
    assert told["MP-TOOL-008"] == "untestable"
    assert "lost between two hooks too often" in row(found, "MP-TOOL-008")["reason"]


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
