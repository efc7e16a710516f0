"""Words of a process on standard error: a complaint of the interpreter's, or a log."""

import pytest

from memproto.testing.lifetimes.ends import Ended
from tests.kit_runs import outcomes, reported, write

STACK = 'Traceback (most recent call last):\n  File "a.py", line 1, in work\nOSError: away\n'

COMPLAINTS = {
    "a thread's": f"Exception in thread Thread-1:\n{STACK}",
    "a function's of atexit": f"Exception ignored in atexit callback <function>:\n{STACK}",
    "a destructor's": f"Exception ignored in: <function Store.__del__>\n{STACK}",
}


def ended(errors, code=0):
    return Ended(code, ["opened", "ending"], errors, ())


@pytest.mark.parametrize("errors", COMPLAINTS.values(), ids=COMPLAINTS)
def test_what_nobody_caught_is_a_complaint(errors):
    assert ended(errors).trouble == "OSError: away"


def test_what_is_logged_with_its_stack_is_none():
    assert not ended(f"the backend is away\n{STACK}").trouble


def test_it_says_why_a_process_failed_that_did():
    assert ended(STACK, code=1).trouble == "OSError: away"


LOGS = """
import logging

from memproto.reference_providers.builtin import BuiltinMemoryProvider

log = logging.getLogger("logs")


class Logs(BuiltinMemoryProvider):
    def shutdown(self):
        try:
            raise ConnectionRefusedError("nobody listens")
        except OSError:
            log.exception("the last turns were not sent")
        super().shutdown()
"""


def test_a_provider_that_logs_an_error_with_its_stack_ends_without_a_complaint(tmp_path):
    write(tmp_path, logs__py=LOGS)
    found = reported(tmp_path, "--memproto=logs:Logs", "--memproto-clause=MP-PROC-001")
    assert outcomes(found["reports"][0])["MP-PROC-001"] == "pass"
