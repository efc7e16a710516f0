"""If no session begins, the requirements that need none are judged, and no others."""

import pytest

from memproto import spec
from memproto.testing.judging.judge import Order, judge
from memproto.testing.outcomes import merge
from tests.kit_runs import ROOT, write

pytestmark = pytest.mark.once

HERMES = """
from tests.good.plugged import Plugged

class Asking(Plugged):
    def is_available(self): return False
    def get_config_schema(self): return [{"key": "label"}, {"key": "", "description": 5}]
    def save_config(self, values, hermes_home): pass
    def backup_paths(self): open("left", "w").close(); return []
"""

NATIVE = """
import contextlib, subprocess
from tests.good.configured import Configured

with contextlib.suppress(OSError):
    subprocess.run(["true"])

class Asking(Configured):
    def is_available(self): return False
"""

FAULTY = """
from tests.good.plugged import Plugged

class Asking(Plugged):
    def initialize(self, session_id, **kwargs): raise KeyError("label")
"""

ASKED = (
    "MP-LOAD-003",
    "MP-LOAD-005",
    "MP-AVAIL-002",
    "MP-CONF-001",
    "MP-BACKUP-001",
    "MP-TURN-001",
)


def judged(directory, source):
    """Outcome by requirement."""
    (directory / "tests").symlink_to(ROOT / "tests")
    write(directory, mine__py=source)
    wanted = [spec.requirement(name) for name in ASKED]
    found = merge(judge(Order("mine:Asking", directory=directory), wanted), [*ASKED, "MP-INIT-001"])
    return {name: result.outcome.value for name, result in found.items()}


def test_hooks_of_set_up_and_backup_of_a_hermes_provider_are_judged_before_it_is_available(
    tmp_path,
):
    assert judged(tmp_path, HERMES) == {
        "MP-INIT-001": "untestable",
        "MP-LOAD-003": "pass",
        "MP-LOAD-005": "pass",
        "MP-AVAIL-002": "pass",
        "MP-CONF-001": "fail",
        "MP-BACKUP-001": "fail",
        "MP-TURN-001": "untestable",
    }


def test_a_native_provider_that_is_not_available_is_judged_by_the_hooks_that_it_has(tmp_path):
    assert judged(tmp_path, NATIVE) == {
        "MP-INIT-001": "untestable",
        "MP-LOAD-003": "fail",
        "MP-LOAD-005": "pass",
        "MP-AVAIL-002": "pass",
        "MP-CONF-001": "pass",
        "MP-BACKUP-001": "pass",
        "MP-TURN-001": "untestable",
    }


def test_behind_an_initialize_that_raises_the_same_is_judged(tmp_path):
    assert judged(tmp_path, FAULTY) == {
        "MP-INIT-001": "fail",
        "MP-LOAD-003": "pass",
        "MP-LOAD-005": "pass",
        "MP-AVAIL-002": "pass",
        # It serves neither.
        "MP-CONF-001": "not_applicable",
        "MP-BACKUP-001": "not_applicable",
        "MP-TURN-001": "untestable",
    }
