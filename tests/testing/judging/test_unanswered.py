"""A hook that waits for a backend which nobody answers for is late by no rule on one that does."""

import pytest

from tests.kit_runs import outcomes, reported, write

pytestmark = pytest.mark.once

#: An address as the kit gives it to programs for their proxy: nobody listens there.
PROVIDERS = """
import subprocess, sys, threading, socket
from tests.good.journal import Journal

ASKS = '''
import socket, time
try:
    socket.create_connection(("127.0.0.1", 9), 1)
except OSError:
    time.sleep(60)
'''

class ByAProgram(Journal):
    def on_memory_write(self, action, target, content, old_text=None):
        subprocess.run([sys.executable, "-c", ASKS], check=False)

class ByItself(Journal):
    def on_memory_write(self, action, target, content, old_text=None):
        try:
            socket.create_connection(("192.0.2.1", 443), 1)
        except OSError:
            threading.Event().wait()

class OfItsOwn(Journal):
    def on_memory_write(self, action, target, content, old_text=None):
        subprocess.run([sys.executable, "-c", "import time; time.sleep(60)"], check=False)
"""


@pytest.mark.parametrize(
    ("name", "outcome"),
    [("ByAProgram", "untestable"), ("ByItself", "untestable"), ("OfItsOwn", "fail")],
)
def test_a_write_is_late_where_its_backend_answers_or_it_has_none(tmp_path, name, outcome):
    write(tmp_path, mine__py=PROVIDERS)
    words = (f"--memproto=mine:{name}", "--memproto-clause=MP-THR-003")
    report = reported(tmp_path, *words, MEMPROTO_TIME_SCALE="0.1")
    (row,) = [item for item in report["reports"][0]["results"] if item["id"] == "MP-THR-003"]
    assert row["outcome"] == outcome, row
    if outcome == "untestable":
        assert "binds while the backend answers, and none did" in row["reason"]
        assert row["needs"] == [{"kind": "backend"}]
    assert "MP-THR-003" in outcomes(report["reports"][0])
