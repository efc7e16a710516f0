"""Ctrl+C between any two calls of a hook leaves the file free for the next writer."""

import gc
import itertools
import sys
import threading
import warnings

import pytest

from memproto.reference_providers.sqlite import SqliteMemoryProvider

SAID = [{"role": "user", "content": "And so on."}, {"role": "assistant", "content": "Yes."}]

CALLS = {
    "recall": lambda provider: provider.enrich_turn("Where is the boat?", []),
    "record": lambda provider: provider.on_turn_complete("The lamps are lit.", "Good."),
    "add": lambda provider: provider.on_memory_write("add", "memory", "The lamps are lit."),
    "replace": lambda provider: provider.on_memory_write("replace", "memory", "Off.", "lamps"),
    "remove": lambda provider: provider.on_memory_write("remove", "memory", None, "lamps"),
    "end": lambda provider: provider.on_session_end(SAID),
}


def interrupted(point, call):
    """Make a call, and raise KeyboardInterrupt as its function call number `point` begins."""
    calls = itertools.count(1)

    def count(frame, event, arg):
        if event == "call" and next(calls) == point:
            sys.setprofile(None)
            raise KeyboardInterrupt

    sys.setprofile(count)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    # In a destructor the interpreter itself ignores the exception.
    return next(calls) > point


@pytest.fixture
def _no_collection():
    """
    Garbage is not collected in the test, so that nothing is freed by chance.

    Connections that an interrupt has cost are collected behind it: they hold no lock any more, and
    the interpreter warns of each.
    """
    gc.disable()
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.enable()
        gc.collect()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("_no_collection")
@pytest.mark.parametrize("hook", CALLS)
def test_an_interrupt_at_any_call_leaves_the_file_free(tmp_path, hook, monkeypatch):
    monkeypatch.setattr("memproto.reference_providers.sqlite.database.WRITING_S", 0.2)
    for point in itertools.count(1):
        provider = SqliteMemoryProvider()
        provider.initialize("s", {"home": str(tmp_path / str(point)), "agent_identity": "a"})
        provider.on_memory_write("add", "memory", "The lamps are new.")
        if not interrupted(point, lambda given=provider: CALLS[hook](given)):
            break
        failures = []

        def write(given=provider, kept=failures):
            try:
                given.on_turn_complete("Another thread writes.", "Yes.")
            except Exception as error:
                kept.append(error)

        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        assert failures == [], f"after an interrupt at call {point}"
        provider.shutdown()
    assert point > 10
