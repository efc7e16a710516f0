"""The condition for which one thread waits."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from memproto.registry.calls.waiter import OneWaiter


def woken(condition: OneWaiter, ready: threading.Event) -> tuple[threading.Thread, list[bool]]:
    """A thread that waits until it is woken, and how its wait ended."""
    ended: list[bool] = []

    def sleeps() -> None:
        with condition:
            ready.set()
            ended.append(condition.wait(60.0))

    thread = threading.Thread(target=sleeps)
    thread.start()
    return thread, ended


def is_free(condition: OneWaiter) -> bool:
    """True if another thread can take it."""
    with ThreadPoolExecutor(1) as other:

        def taken() -> bool:
            if is_taken := condition.acquire(blocking=False):
                condition.release()
            return is_taken

        return other.submit(taken).result()


@pytest.mark.parametrize("wake", ["notify", "notify_all"])
def test_the_one_that_waits_is_woken(wake: str) -> None:
    """The notification needs the condition, which the waiter gives back while it sleeps."""
    condition, ready = OneWaiter(), threading.Event()
    thread, ended = woken(condition, ready)
    ready.wait()
    with condition:
        getattr(condition, wake)()
    thread.join()
    assert ended == [True]


def test_a_notification_before_the_wait_ends_it_at_once() -> None:
    """No one is lost between a look and the sleep behind it, and a second one is the same."""
    condition = OneWaiter()
    with condition:
        condition.notify()
        condition.notify()
        assert condition.wait(60.0)
        assert not condition.wait(0.0)


@pytest.mark.parametrize("timeout", [0.0, -1.0, 1e-6])
def test_a_wait_ends_by_its_time(timeout: float) -> None:
    """A time that is over already is no endless one."""
    condition = OneWaiter()
    with condition:
        assert not condition.wait(timeout)
        assert condition.wait_for(lambda: True, timeout)
        assert not condition.wait_for(lambda: False, timeout)


def test_the_condition_is_held_behind_each_wait() -> None:
    """After a notification, after the time is over, and after an exception of the user's."""
    condition = OneWaiter()
    with condition:
        condition.wait(0.0)
        assert not is_free(condition)
        condition.notify()
        condition.wait()
        assert not is_free(condition)
        with pytest.raises(OverflowError):
            condition.wait(threading.TIMEOUT_MAX * 2)
        assert not is_free(condition)
        with condition:  # as of any condition, its holder may take it again
            assert "locked" in repr(condition)
    assert is_free(condition)


def test_no_wake_up_is_lost_among_many() -> None:
    """A waiter that looks at a number sees each change of it, however the two threads meet."""
    condition, rounds = OneWaiter(), 5_000
    told = seen = 0
    answered = threading.Semaphore(0)

    def tells() -> None:
        nonlocal told
        for _ in range(rounds):
            with condition:
                told += 1
                condition.notify()
            answered.acquire()

    thread = threading.Thread(target=tells, daemon=True)
    thread.start()
    while seen < rounds:
        with condition:
            while told == seen:
                assert condition.wait(60.0)
            seen = told
        answered.release()
    thread.join()
    assert seen == rounds
