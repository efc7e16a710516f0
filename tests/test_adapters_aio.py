"""`from_async`: blocking hooks over a provider of coroutines, and no loop or thread left behind."""

import asyncio
import contextvars
import gc
import threading

import pytest

from memproto.adapters import aio
from memproto.adapters.aio import from_async
from memproto.errors import Misconfigured, Unavailable
from memproto.provider import MemoryProvider

CONFIG = {"home": "/nowhere", "deadlines": {"shutdown_s": 15.0}}


def noting(hook, answer=None):
    async def note(self, *args):
        await asyncio.sleep(0)
        self.loops.add((asyncio.get_running_loop(), threading.current_thread()))
        self.calls.append((hook, *args))
        return answer

    return note


def opened(provider):
    adapter = from_async(provider)
    adapter.initialize("s", CONFIG)
    return provider, adapter


class Remembers:
    """Every hook a coroutine; keeps what it was given and where it ran."""

    def __init__(self):
        self.calls = []
        self.loops = set()
        self.entered = threading.Event()

    name = "remembers"

    def is_available(self):
        return True

    def capabilities(self):
        return {"stores": ["turns"]}

    initialize = noting("initialize")
    shutdown = noting("shutdown")
    enrich_turn = noting("enrich_turn", answer="recalled")
    on_memory_write = noting("on_memory_write")
    on_turn_complete = noting("on_turn_complete")
    on_compress = noting("on_compress")


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) - before == set()


def in_thread(work):
    """Starts `work` on a thread; the list receives its result or its error."""
    outcome = []

    def run():
        try:
            outcome.append(work())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, outcome


def test_every_hook_reaches_the_provider_with_its_arguments_on_one_loop():
    provider, adapter = opened(Remembers())
    assert adapter.enrich_turn("tea", []) == "recalled"
    adapter.on_memory_write("replace", "user", None, "old")
    adapter.on_turn_complete("u", "a")
    adapter.on_compress([{"role": "user", "content": "c"}], 3)
    adapter.shutdown()
    assert provider.calls == [
        ("initialize", "s", CONFIG),
        ("enrich_turn", "tea", []),
        ("on_memory_write", "replace", "user", None, "old"),
        ("on_turn_complete", "u", "a"),
        ("on_compress", [{"role": "user", "content": "c"}], 3),
        ("shutdown",),
    ]
    [(loop, thread)] = provider.loops
    assert loop.is_closed()
    assert not thread.is_alive()
    assert thread.daemon


def test_the_adapter_is_a_memory_provider_with_the_providers_own_name_and_declaration():
    adapter = from_async(Remembers())
    assert isinstance(adapter, MemoryProvider)
    assert adapter.name == "remembers"
    assert adapter.is_available() is True
    assert adapter.capabilities() == {"stores": ["turns"]}
    assert not hasattr(adapter, "get_tool_schemas")


def test_shutdown_before_initialize_runs_the_providers_own_and_leaves_nothing():
    provider = Remembers()
    from_async(provider).shutdown()
    assert provider.calls == [("shutdown",)]


def test_shutdown_from_many_threads_at_once_reaches_the_provider_once():
    provider, adapter = opened(Remembers())
    gate = threading.Barrier(4)

    def close():
        gate.wait(10)
        adapter.shutdown()

    threads = [in_thread(close) for _ in range(4)]
    for thread, _ in threads:
        thread.join(10)
    adapter.shutdown()
    assert [outcome for _, outcome in threads] == [[None]] * 4
    assert provider.calls.count(("shutdown",)) == 1


def test_an_error_comes_through_as_the_same_object_with_its_traceback():
    error = Misconfigured("no key")

    class Fails(Remembers):
        async def initialize(self, session_key, config):
            raise error

    adapter = from_async(Fails())
    with pytest.raises(Misconfigured) as caught:
        adapter.initialize("s", CONFIG)
    assert caught.value is error
    assert "initialize" in [entry.name for entry in caught.traceback]
    adapter.shutdown()


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_an_exit_in_a_coroutine_reaches_its_caller_and_the_loop_goes_on(kind):
    class Exits(Remembers):
        async def on_turn_complete(self, user_message, assistant_response):
            raise kind

    adapter = from_async(Exits())
    with pytest.raises(kind):
        adapter.on_turn_complete("u", "a")
    assert adapter.enrich_turn("tea", []) == "recalled"
    adapter.shutdown()


def test_an_exit_in_a_task_of_the_provider_leaves_the_loop_running():
    class Exits(Remembers):
        async def initialize(self, session_key, config):
            async def leave():
                raise SystemExit

            self.task = asyncio.ensure_future(leave())

    provider = Exits()
    adapter = from_async(provider)
    adapter.initialize("s", CONFIG)
    assert adapter.enrich_turn("tea", []) == "recalled"
    assert isinstance(provider.task.exception(), SystemExit)
    adapter.shutdown()


def test_a_timeout_that_the_provider_raises_is_its_own():
    class Slow(Remembers):
        async def enrich_turn(self, user_message, messages):
            raise TimeoutError("backend")

    adapter = from_async(Slow())
    with pytest.raises(TimeoutError, match="backend"):
        adapter.enrich_turn("u", [])
    adapter.shutdown()


class Hangs(Remembers):
    """Recall waits for ever; notes that it was cancelled after a clean-up that awaits."""

    async def enrich_turn(self, user_message, messages):
        self.entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)  # long enough to be broken off by a second cancellation
            self.calls.append("cleaned up")


def test_shutdown_frees_the_caller_of_a_hook_that_never_returns():
    provider, adapter = opened(Hangs())
    caller, outcome = in_thread(lambda: adapter.enrich_turn("u", []))
    assert provider.entered.wait(10)
    adapter.on_turn_complete("u", "a")  # a hung recall holds nobody else
    adapter.shutdown()
    caller.join(10)
    assert isinstance(outcome[0], Unavailable)
    assert provider.calls[-2:] == [("shutdown",), "cleaned up"]


def test_shutdown_frees_a_caller_whose_coroutine_swallows_its_cancellation(monkeypatch):
    monkeypatch.setattr(aio, "CANCEL_BUDGET_S", 0.05)
    stop = []

    class Refuses(Remembers):
        async def enrich_turn(self, user_message, messages):
            self.entered.set()
            while not stop:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    continue

    provider = Refuses()
    adapter = from_async(provider)
    caller, outcome = in_thread(lambda: adapter.enrich_turn("u", []))
    assert provider.entered.wait(10)
    adapter.shutdown()
    caller.join(10)
    assert isinstance(outcome[0], Unavailable)


def test_a_shutdown_that_never_returns_is_cut_long_after_the_hosts_budget():
    class NeverEnds(Remembers):
        async def shutdown(self):
            await asyncio.Event().wait()

    adapter = from_async(NeverEnds())
    adapter.initialize("s", {"home": "/nowhere", "deadlines": {"shutdown_s": 0.05}})
    with pytest.raises(TimeoutError, match=r"not done after 0\.1 s"):
        adapter.shutdown()
    adapter.shutdown()


def test_a_hook_that_freezes_the_loop_is_reported_and_the_thread_ends_with_it(monkeypatch):
    monkeypatch.setattr(aio, "CANCEL_BUDGET_S", 0.05)
    thaw = threading.Event()

    class Freezes(Remembers):
        async def enrich_turn(self, user_message, messages):
            self.entered.set()
            thaw.wait(30)

    provider = Freezes()
    adapter = from_async(provider)
    adapter.initialize("s", {"home": "/nowhere", "deadlines": {"shutdown_s": 0.05}})
    [(loop, thread)] = provider.loops
    caller, outcome = in_thread(lambda: adapter.enrich_turn("u", []))
    assert provider.entered.wait(10)
    with pytest.raises(TimeoutError, match="does not yield"):
        adapter.shutdown()
    caller.join(10)
    assert isinstance(outcome[0], Unavailable)
    thaw.set()
    thread.join(10)
    assert loop.is_closed()


def test_tasks_and_executor_threads_of_the_provider_end_with_the_loop():
    class Busy(Remembers):
        async def initialize(self, session_key, config):
            self.task = asyncio.ensure_future(asyncio.Event().wait())
            asyncio.get_running_loop().run_in_executor(None, self.work)
            self.entered.wait(10)

        def work(self):
            self.worker = threading.current_thread()
            self.entered.set()
            threading.Event().wait(0.1)

    provider, adapter = opened(Busy())
    adapter.shutdown()
    assert provider.task.cancelled()
    assert not provider.worker.is_alive()


def test_a_coroutine_hook_after_shutdown_is_refused_and_starts_no_thread():
    provider, adapter = opened(Remembers())
    adapter.shutdown()
    with pytest.raises(Unavailable, match="ended with `shutdown`"):
        adapter.on_turn_complete("u", "a")
    assert provider.calls[-1] == ("shutdown",)


def test_initialize_after_shutdown_opens_a_new_loop():
    provider = Remembers()
    adapter = from_async(provider)
    adapter.shutdown()
    adapter.initialize("s", CONFIG)
    assert adapter.enrich_turn("tea", []) == "recalled"
    adapter.shutdown()
    assert provider.calls.count(("shutdown",)) == 2
    assert len(provider.loops) == 2


class Mixed(Remembers):
    """Recall and the tool list are plain functions."""

    def enrich_turn(self, user_message, messages):
        return threading.current_thread()

    def get_tool_schemas(self):
        return [{"name": "look"}]

    async def handle_tool_call(self, tool_name, args, **kwargs):
        return f"{tool_name} {args} {kwargs}"


def test_a_plain_hook_of_a_mixed_provider_runs_on_the_callers_thread():
    adapter = from_async(Mixed())
    adapter.initialize("s", CONFIG)
    assert adapter.enrich_turn("u", []) is threading.current_thread()
    assert adapter.get_tool_schemas() == [{"name": "look"}]
    assert adapter.handle_tool_call("look", {"a": 1}, depth=2) == "look {'a': 1} {'depth': 2}"
    adapter.shutdown()
    assert adapter.enrich_turn("u", []) is threading.current_thread()


def test_an_extension_hook_keeps_the_adapter_and_its_loop_alive():
    hook = from_async(Mixed()).handle_tool_call
    gc.collect()
    assert hook("look", {}) == "look {} {}"
    hook.args[0].shutdown()


def test_an_adapter_that_is_dropped_without_shutdown_takes_its_loop_along():
    provider, adapter = opened(Remembers())
    [(loop, thread)] = provider.loops
    del adapter
    gc.collect()
    thread.join(10)
    assert loop.is_closed()


def test_a_blocking_hook_called_on_its_own_loop_raises_instead_of_waiting_for_itself():
    class CallsBack(Remembers):
        async def on_turn_complete(self, user_message, assistant_response):
            adapter.enrich_turn("u", [])

    adapter = from_async(CallsBack())
    with pytest.raises(RuntimeError, match="its own event loop"):
        adapter.on_turn_complete("u", "a")
    adapter.shutdown()


def test_a_coroutine_sees_the_context_variables_of_its_caller():
    user = contextvars.ContextVar("user", default="nobody")

    class Reads(Remembers):
        async def enrich_turn(self, user_message, messages):
            return user.get()

    adapter = from_async(Reads())
    adapter.initialize("s", CONFIG)
    user.set("alice")
    assert adapter.enrich_turn("u", []) == "alice"
    adapter.shutdown()


def test_two_callers_are_served_on_the_loop_at_the_same_time():
    class Meets(Remembers):
        async def initialize(self, session_key, config):
            self.both = asyncio.Barrier(2)

        async def enrich_turn(self, user_message, messages):
            await self.both.wait()
            return "met"

    adapter = from_async(Meets())
    adapter.initialize("s", CONFIG)
    callers = [in_thread(lambda: adapter.enrich_turn("u", [])) for _ in range(2)]
    for caller, _ in callers:
        caller.join(10)
    assert [outcome for _, outcome in callers] == [["met"], ["met"]]
    adapter.shutdown()
