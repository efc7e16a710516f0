"""A text that was lost behind a clause for every exception is told with it, on each Python."""

import pytest

from memproto import spec
from memproto.report import message
from memproto.testing.judging.judge import judge
from memproto.testing.outcomes import Outcome
from memproto.testing.settings import settings
from memproto.testing.settings.order import Order
from tests.kit_runs import write

PROVIDER = '''
import json
import queue
import threading

from memproto.reference_providers.sqlite import SqliteMemoryProvider


class Hook(SqliteMemoryProvider):
    """The hook itself passes over the error."""

    def on_turn_complete(self, user_message, assistant_response):
        try:
            raise OSError("the index is locked")
        except Exception:
            pass


class Worker(SqliteMemoryProvider):
    """A thread that writes passes over it, and another clause is of no concern."""

    def initialize(self, session_key, config):
        super().initialize(session_key, config)
        try:
            self._own_settings = json.loads("")
        except Exception:
            self._own_settings = {}
        self._own_queue = queue.Queue()
        self._own_thread = threading.Thread(target=self._work, daemon=True)
        self._own_thread.start()

    def on_turn_complete(self, user_message, assistant_response):
        self._own_queue.put((user_message, assistant_response))

    def _work(self):
        while True:
            turn = self._own_queue.get()
            if turn is None:
                return
            try:
                self._own_write(*turn)
            except Exception:
                continue

    def _own_write(self, said, answer):
        raise TypeError("not all arguments converted")

    def shutdown(self):
        thread, self._own_thread = getattr(self, "_own_thread", None), None
        if thread is not None:
            self._own_queue.put(None)
            thread.join()
        super().shutdown()


class Forgets(SqliteMemoryProvider):
    """Nothing is raised at all."""

    def on_turn_complete(self, user_message, assistant_response):
        pass
'''


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("silent")
    write(folder, **{"silent.py": PROVIDER})
    rule = spec.requirement("MP-TURN-001")

    def of(name):
        given = settings.read("silent", folder)
        order = Order(f"silent:{name}", settings=given, directory=folder)
        (found,) = (one for one in judge(order, [rule]) if one.outcome is Outcome.FAIL)
        return found, message.render(found, order)

    return of


def line(text):
    return next(n for n, one in enumerate(PROVIDER.splitlines(), 1) if text in one)


@pytest.mark.parametrize(
    ("name", "shown", "function", "clause"),
    [
        ("Hook", "OSError('the index is locked')", "on_turn_complete", "except Exception:"),
        ("Worker", "TypeError('not all arguments converted')", "_work", "except Exception:"),
    ],
)
def test_the_exception_and_the_line_that_passed_over_it_are_told(
    told, name, shown, function, clause
):
    found, text = told(name)
    assert (found.silenced, found.swallowed[0]) == (True, shown)
    number = int(found.swallowed[2].partition(":")[2].partition(" ")[0])
    assert found.swallowed[2] == f"silent.py:{number} in {name}.{function}"
    assert PROVIDER.splitlines()[number - 1].strip() == clause
    assert f"  swallowed {shown}, at silent.py:{number} in {name}.{function}\n" in text
    raising = line(shown.partition("(")[2].rstrip(")").strip("'"))
    assert f"raised at silent.py:{raising} in {name}." in text


def test_a_provider_that_raises_nothing_swallows_nothing(told):
    found, text = told("Forgets")
    assert (found.silenced, found.swallowed) == (False, ())
    assert "swallowed" not in text
