"""Faults that the checks of threads find, and behaviour that they allow."""

import asyncio
import contextlib
import queue
import re
import threading
import time
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import thread as pools
from pathlib import Path
from typing import Any

import pytest

from memproto import spec
from memproto.bindings import NATIVE
from memproto.conformance.provider import shutdown, threads
from memproto.errors import Rejected
from memproto.operations import OPERATIONS
from memproto.testing.clauses import Lost, Untestable, Violation
from memproto.testing.context import Context
from memproto.testing.instruments.threads import together
from memproto.testing.judging.judge import judge
from memproto.testing.outcomes import Result
from memproto.testing.provider.extensions import TurnCount
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import Watch
from memproto.testing.settings.order import Order
from memproto.testing.wire import Wire
from tests.good.journal import Journal
from tests.kit_runs import ROOT


def test_a_waiting_thread_that_is_no_daemon_holds_the_process() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    assert shutdown._holds_exit(thread)
    stop.set()
    thread.join()
    assert not shutdown._holds_exit(thread)


def test_a_daemon_does_not_hold_the_process() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, daemon=True)
    thread.start()
    assert not shutdown._holds_exit(thread)
    stop.set()
    thread.join()


def test_a_pool_holds_the_process_only_while_it_works() -> None:
    begun, stop = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(lambda: (begun.set(), stop.wait()))
        begun.wait()
        (worker,) = pool._threads
        assert shutdown._holds_exit(worker)
        stop.set()
        work.result()
        while shutdown._holds_exit(worker):  # the way back from the work to the queue
            pass


def test_a_pool_of_daemons_holds_the_process_only_if_its_module_joins_them() -> None:
    begun, stop, jobs = threading.Event(), threading.Event(), queue.SimpleQueue[Any]()
    pool = ThreadPoolExecutor(1)  # for the reference that a worker holds
    jobs.put(pools._WorkItem(Future(), lambda: (begun.set(), stop.wait()), (), {}))
    told = weakref.ref(pool), jobs, None, ()
    worker = threading.Thread(target=pools._worker, args=told, daemon=True)
    worker.start()
    begun.wait()
    assert not shutdown._holds_exit(worker)
    pools._threads_queues[worker] = jobs
    assert shutdown._holds_exit(worker)
    stop.set()
    while shutdown._holds_exit(worker):  # the way back from the work to the queue
        pass
    pool.shutdown()
    jobs.put(None)
    worker.join()


def test_the_silence_of_a_busy_interpreter_is_measured_with_its_processor_time() -> None:
    with threads._Heart() as heart:
        heart.longest()
        began_s = time.thread_time()
        sum(range(10_000_000))
        used_s = time.thread_time() - began_s
        silent_s, busy_s = heart.longest()
    assert silent_s >= busy_s * 0.9 >= used_s * 0.8


def test_what_is_called_together_gives_each_error_in_its_place() -> None:
    barrier = threading.Barrier(2)

    def fails() -> None:
        barrier.wait(10)
        raise KeyError("lost")

    first, second = together(lambda: barrier.wait(10), fails)
    assert first is None
    assert isinstance(second, KeyError)


class Burns(Journal):
    """Holds the interpreter in native code for a while, and comes back in time."""

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        # Three times the limit below on a fast machine.
        sum(range(60_000_000))


def test_a_hook_that_comes_back_in_time_is_red_where_it_held_the_interpreter(
    tmp_path: Path,
) -> None:
    with (tmp_path / "wire").open("wb") as file:
        watch = Watch(Wire(file.fileno()), scale=2.0)
        run = Run(Burns, NATIVE, tmp_path / "home", watch, Context(scale=0.2))
        with pytest.raises(Violation, match="on_turn_complete held the interpreter for"):
            threads.hooks_let_other_threads_run(run)


def burning_in(hook: str) -> type[Journal]:
    """A provider that holds the interpreter in that hook, the first time it is called."""

    def burns(self: Any, *arguments: Any, **keywords: Any) -> Any:
        if not self.has_burnt:
            type(self).has_burnt = True
            sum(range(40_000_000))
        return getattr(super(made, self), hook, lambda *a, **k: None)(*arguments, **keywords)

    members = {hook: burns, "has_burnt": False}
    made: type[Journal] = type("Burning", (Journal,), members)
    return made


@pytest.mark.once
@pytest.mark.parametrize(
    "hook",
    [
        *("initialize", "is_available", "capabilities", "enrich_turn", "on_memory_write"),
        *("on_turn_complete", "on_compress", "shutdown", "queue_prefetch", "on_turn_start"),
        *("get_tool_schemas", "on_session_end", "on_session_switch", "system_prompt_block"),
        *("recall_status", "on_delegation", "compress_notes", "record", "recall_items"),
        *("export", "backup_paths", "get_config_schema", "unavailable_reason", "save_config"),
        "forget",
    ],
)
def test_a_freeze_is_named_with_the_hook_that_it_is_in_whichever_that_is(
    tmp_path: Path, hook: str
) -> None:
    operation = next(name for name, row in OPERATIONS.items() if row.native == hook)
    row = OPERATIONS[operation]
    declared = {"extensions": [row.extension]} if row.extension else {}
    with (tmp_path / "wire").open("wb") as file:
        watch = Watch(Wire(file.fileno()), scale=2.0)
        watch.turns = TurnCount() if row.extension == "turns" else None
        context = Context(scale=0.2, capabilities=declared)
        run = Run(burning_in(hook), NATIVE, tmp_path / "home", watch, context)
        with pytest.raises(Violation, match=f"{hook} held the interpreter for"):
            threads.hooks_let_other_threads_run(run)


class WaitsForItsWorker(Journal):
    """The hook waits deep in the author's code, and a thread of the author's computes."""

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        worker = threading.Thread(target=self.matches, args=(user_message,))
        worker.start()
        self.waits_for(worker)

    def waits_for(self, worker: threading.Thread) -> None:
        self.waits_longer_for(worker)

    def waits_longer_for(self, worker: threading.Thread) -> None:
        worker.join()

    @staticmethod
    def matches(text: str) -> None:
        re.match(r"(\d+[ .-]?)+$", text)


class ComesBackFromItsStart(Journal):
    """It holds the interpreter for a moment, in initialize."""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self.builds()

    def builds(self) -> None:
        # One call of C, for 1.6 s of the processor: a parent that gets no processor for a second
        # looks into it all the same, and it is over before it is ended, after 2.4 s at this scale.
        count, began = 1_000_000, time.thread_time()
        sum(range(count))
        sum(range(int(count * 1.6 / (time.thread_time() - began))))


def _freeze(provider: type[Journal], scale: float = 0.3) -> Result:
    order = Order(f"{__name__}:{provider.__name__}", directory=ROOT, scale=scale)
    found = judge(order, [spec.requirement("MP-THR-002")])
    return next(result for result in found if result.id == "MP-THR-002")


def test_a_freeze_is_told_with_the_thread_that_computes_and_the_text_that_was_given() -> None:
    found = _freeze(WaitsForItsWorker)
    assert "on_turn_complete held the interpreter for" in found.observed
    assert "with a text of 20001 characters that begins with '7777" in found.observed
    assert found.where.endswith("in matches")


@pytest.mark.once
def test_a_freeze_that_ends_is_told_with_the_thread_that_computed() -> None:
    found = _freeze(ComesBackFromItsStart, scale=0.6)
    assert "initialize held the interpreter for" in found.observed
    assert found.where.endswith("in builds")
    assert found.stack.splitlines()[0] == found.where


class OnItsOwnThreadOnly(Journal):
    """It works on the main thread only, with a loop or without."""

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise ValueError("signal only works in main thread")
        super().on_turn_complete(user_message, assistant_response)


class NotBesideALoop(Journal):
    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        with contextlib.closing(asyncio.sleep(0)) as waiting:
            asyncio.run(waiting)
        super().on_turn_complete(user_message, assistant_response)


def test_a_loop_is_blamed_for_what_works_on_such_a_thread_without_one(journal_run) -> None:
    threads.hooks_work_where_a_loop_runs(journal_run(Journal))
    with pytest.raises(Untestable, match="raises on that thread without a loop as well"):
        threads.hooks_work_where_a_loop_runs(journal_run(OnItsOwnThreadOnly))
    with pytest.raises(Violation, match="on a thread without a loop it works"):
        threads.hooks_work_where_a_loop_runs(journal_run(NotBesideALoop))


class KeepsTheLastTextAlone(Journal):
    """Each text takes the place of the one before, on whatever thread."""

    def _save(self) -> None:
        self._entries = self._entries[-1:]
        super()._save()


@pytest.mark.parametrize(
    "check", [threads.hooks_work_on_other_threads, threads.hooks_work_where_a_loop_runs]
)
def test_a_thread_is_not_blamed_for_a_text_that_the_next_one_replaces(journal_run, check) -> None:
    with pytest.raises(Lost, match=r"is lost (on initialize's thread|without a loop) as well"):
        check(journal_run(KeepsTheLastTextAlone))


class CutsItsWriterOff(Journal):
    """A worker stores the turn a moment later where `is_slow` says so, and shutdown ends it."""

    is_slow, worker = False, None

    def is_loaded(self) -> bool:
        return self.is_slow

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if not self.is_loaded():
            super().on_turn_complete(user_message, assistant_response)
            return
        store = super().on_turn_complete
        self.worker = threading.Timer(0.5, store, (user_message, assistant_response))
        self.worker.start()

    def shutdown(self) -> None:
        if self.worker is not None:
            self.worker.cancel()
            self.worker.join()
        super().shutdown()


class SlowBesideARecall(CutsItsWriterOff):
    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        # The second write of a session that works on comes behind its first recall.
        self.is_slow = True
        return super().enrich_turn(user_message, messages)


class SlowOnAnotherThread(CutsItsWriterOff):
    def is_loaded(self) -> bool:
        return threading.current_thread() is not threading.main_thread()


class SlowBesideALoop(CutsItsWriterOff):
    def is_loaded(self) -> bool:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return False
        return True


@pytest.mark.once
@pytest.mark.parametrize(
    ("check", "provider"),
    [
        (threads.a_recall_and_a_write_work_side_by_side, SlowBesideARecall),
        (threads.hooks_work_on_other_threads, SlowOnAnotherThread),
        (threads.hooks_work_where_a_loop_runs, SlowBesideALoop),
    ],
)
def test_a_loss_that_an_early_shutdown_makes_is_none_of_the_threads(
    journal_run, check, provider
) -> None:
    with pytest.raises(Lost, match="is lost only if shutdown follows at once"):
        check(journal_run(provider, "turns"))


class DropsWhileItsLockIsHeld(Journal):
    """A turn that it refuses leaves its lock held, which drops the turns of each other thread."""

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        self.lock = threading.RLock()
        super().initialize(session_key, config)

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if not self.lock.acquire(timeout=0.05):
            return
        if not user_message:
            raise Rejected("an empty turn")
        super().on_turn_complete(user_message, assistant_response)
        self.lock.release()


def test_a_lock_that_a_refusal_leaves_held_is_seen_from_another_thread(journal_run) -> None:
    with pytest.raises(Violation, match="works on every thread"):
        threads.hooks_work_on_other_threads(journal_run(DropsWhileItsLockIsHeld, "turns"))
