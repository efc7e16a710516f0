"""A hook runs in the context variables of the call by which the host caused it, on any thread."""

import asyncio
import contextvars
import threading

import pytest

from memproto import AsyncMemoryProviderRegistry, MemoryProviderRegistry
from memproto.adapters.aio import from_async
from memproto.adapters.hermes import to_hermes
from memproto.operations import EXTENSION_HOOKS
from tests.coroutine_providers import CONFIG, Remembers
from tests.extended import Extended, opened, schema
from tests.good.switching import Switching
from tests.virtual import eventually

pytestmark = pytest.mark.usefixtures("no_thread_is_left")

SERVED = contextvars.ContextVar("SERVED", default="nobody")


@pytest.fixture(autouse=True)
def nobody_is_served_afterwards():
    token = SERVED.set("nobody")
    yield
    SERVED.reset(token)


HOOKS = ("enrich_turn", "on_turn_complete", "on_memory_write", "on_compress")
HOOKS += ("on_session_switch", "shutdown")


def noting(hook):
    def call(self, *arguments, **keywords):
        self.seen.append((hook, SERVED.get(), threading.current_thread()))
        return getattr(Switching, hook)(self, *arguments, **keywords)

    return call


class Noting(Switching):
    """Notes for each hook whom it serves, and on which thread."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def served(self, hook):
        return {who for name, who, thread in self.seen if name == hook and is_its_own(thread)}


for each in HOOKS:
    setattr(Noting, each, noting(each))


def is_its_own(thread):
    return thread is not threading.main_thread()


def calls(registry):
    """Each call that a thread of the registry's serves, by the hook."""
    return {
        "enrich_turn": lambda: registry.enrich_turn("a berth", []),
        "on_turn_complete": lambda: registry.on_turn_complete("a berth", "noted"),
        "on_memory_write": lambda: registry.on_memory_write("add", "memory", "a berth"),
        "on_compress": lambda: registry.on_compress([], 1),
        "on_session_switch": lambda: registry.on_session_switch("other", reset=True),
        "shutdown": registry.shutdown_all,
    }


def test_each_hook_on_a_thread_of_the_registrys_serves_whom_the_call_serves(tmp_path):
    registry, provider = MemoryProviderRegistry(), Noting()
    registry.register(provider)
    registry.initialize_all("session", {"home": str(tmp_path)})
    for hook, call in calls(registry).items():
        SERVED.set(hook)
        call()
    assert {hook: provider.served(hook) for hook in HOOKS} == {hook: {hook} for hook in HOOKS}


def test_two_writes_that_wait_behind_each_other_serve_each_its_own(tmp_path):
    registry, provider, goes_on = MemoryProviderRegistry(), Noting(), threading.Event()
    take = provider.on_turn_complete

    def waits(*turn):
        assert goes_on.wait(20)
        provider.seen.append(("taken", SERVED.get(), threading.current_thread()))
        take(*turn)

    provider.on_turn_complete = waits
    registry.register(provider)
    registry.initialize_all("session", {"home": str(tmp_path)})
    for who in ("ann", "bob"):
        contextvars.copy_context().run(lambda who=who: (SERVED.set(who), said(registry, who)))
    goes_on.set()
    registry.shutdown_all()
    assert [who for name, who, _ in provider.seen if name == "taken"] == ["ann", "bob"]


def said(registry, who):
    registry.on_turn_complete(f"I am {who}", "noted")


def test_on_a_loop_each_hook_serves_whom_the_task_serves(tmp_path):
    provider = Noting()

    async def run():
        async with AsyncMemoryProviderRegistry() as registry:
            await registry.register(provider)
            await registry.initialize_all("session", {"home": str(tmp_path)})
            for hook, call in calls(registry).items():
                SERVED.set(hook)
                await call()

    asyncio.run(run())
    assert {hook: provider.served(hook) for hook in HOOKS} == {hook: {hook} for hook in HOOKS}


def test_an_exported_provider_serves_whom_the_hermes_host_serves(tmp_path):
    provider = Noting()
    exported = to_hermes(provider)
    exported.initialize("session", hermes_home=str(tmp_path))
    SERVED.set("ann")
    exported.prefetch("a berth")
    exported.sync_turn("I am Ann", "noted")
    exported.on_memory_write("add", "memory", "a berth")
    exported.shutdown()
    for hook in ("enrich_turn", "on_turn_complete", "on_memory_write", "shutdown"):
        assert provider.served(hook) == {"ann"}, hook


# -- extensions, and hooks that are coroutines -----------------------------------------------------

TURN = {
    "turn_id": "t-1",
    "started_at": "2026-03-14T09:26:53+05:45",
    "ended_at": "2026-03-14T09:27:03+05:45",
    "user_message": "hello",
    "assistant_response": "hi",
}

#: Hook of an extension to the call by which a host brings it about.
EXTENDED = {
    "handle_tool_call": lambda registry: registry.handle_tool_call("note", {"text": "x"}),
    "on_turn_start": lambda registry: registry.on_turn_start(1, "hello"),
    "record": lambda registry: registry.record(TURN),
    "queue_prefetch": lambda registry: registry.record({**TURN, "turn_id": "t-2"}),
    "on_delegation": lambda registry: registry.on_delegation("task", "result"),
    "compress_notes": lambda registry: registry.compress_notes([]),
    "system_prompt_block": lambda registry: registry.system_prompt_block(),
    "recall_items": lambda registry: registry.recall_items({"query": "hello"}),
    "recall_status": lambda registry: registry.recall_status(),
    "unavailable_reason": lambda registry: registry.unavailable_reason(),
    "backup_paths": lambda registry: registry.backup_paths(),
    "export": lambda registry: registry.export({}),
    "forget": lambda registry: registry.forget({}),
    "on_session_switch": lambda registry: registry.on_session_switch("other"),
    "on_session_end": lambda registry: registry.on_session_end([]),
}

#: What a hook answers for its call to be made; others answer None.
ANSWERS = {"get_tool_schemas": [schema("note")], "handle_tool_call": "{}"}


def test_each_hook_of_an_extension_serves_whom_the_call_serves():
    seen = {}

    def noted(hook):
        def call(*_, **__):
            seen.setdefault(hook, set()).add(SERVED.get())
            return ANSWERS.get(hook)

        return call

    asked_first = "get_tool_schemas"
    hooks = {hook: noted(hook) for hook in (asked_first, *EXTENDED)}
    extensions = [name for name in EXTENSION_HOOKS if name not in ("config", "checkpoint")]
    provider = Extended("a", *extensions, declares={"tool_names": ["note"]}, **hooks)
    assert set(hooks) == {hook for name in extensions for hook in EXTENSION_HOOKS[name]}
    SERVED.set(asked_first)
    with opened(provider) as (registry, _):
        assert seen.pop(asked_first) == {asked_first}
        for hook, call in EXTENDED.items():
            SERVED.set(hook)
            call(registry)
            # A write may wait: whoever is served by then is not whom the call served.
            SERVED.set("nobody")
            registry.flush(20.0)
            if hook in ("record", "queue_prefetch"):
                # Prepared behind the write, and once for each.
                eventually(lambda: "queue_prefetch" in seen)
            assert seen.pop(hook, None) == {hook}, hook
            seen.pop("queue_prefetch", None)


def test_a_hook_that_is_a_coroutine_serves_whom_the_call_serves():
    seen = []

    class Serving(Remembers):
        async def enrich_turn(self, user_message, messages):
            seen.append(SERVED.get())
            return await asyncio.to_thread(lambda: seen.append(SERVED.get()))

        async def on_turn_complete(self, user_message, assistant_response):
            seen.append(SERVED.get())

    adapter = from_async(Serving())
    adapter.initialize("s", CONFIG)
    for who in ("ann", "bob"):
        SERVED.set(who)
        adapter.enrich_turn("hello", [])
        adapter.on_turn_complete("hello", "hi")
    adapter.shutdown()
    assert seen == ["ann"] * 3 + ["bob"] * 3
