"""`from_async`: blocking hooks over a provider of coroutines, and no loop or thread left behind."""

import asyncio
import contextvars
import gc
import threading

import pytest

from memproto.adapters.aio import from_async
from memproto.errors import Misconfigured
from memproto.provider import MemoryProvider
from tests.coroutine_providers import CONFIG, Remembers, in_thread, opened

pytestmark = pytest.mark.usefixtures("no_thread_is_left")


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
