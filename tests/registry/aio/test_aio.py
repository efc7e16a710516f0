"""`AsyncMemoryProviderRegistry`: the one registry as coroutines, for hosts on an event loop."""

import asyncio
import functools
import gc
import inspect
import json
import threading

import pytest

import memproto
from memproto import AsyncMemoryProviderRegistry, MemoryProviderRegistry
from memproto.deadlines import Deadlines
from memproto.errors import DuplicateProvider, InvalidLabel, NotAProvider, RegistryClosed
from memproto.operations import EXTENSION_HOOKS
from memproto.registry import Answer
from tests.coroutine_providers import Remembers
from tests.extended import Extended, offering, schema
from tests.virtual import FakeProvider, eventually, own_threads

pytestmark = pytest.mark.usefixtures("no_thread_is_left")
CONFIG = {"home": "/nowhere"}


def on_loop(work, *providers, **parts):
    """Runs `work(registry)` on a loop, with the providers open."""

    async def run():
        async with AsyncMemoryProviderRegistry(**parts) as registry:
            for provider in providers:
                await registry.register(provider)
            await registry.initialize_all("session", CONFIG)
            return await work(registry)

    return asyncio.run(run())


def public(kind):
    names = [name for name in dir(kind) if not name.startswith("_")]
    return {name: inspect.getattr_static(kind, name) for name in names}


def test_every_method_of_the_registry_is_a_coroutine_here_with_the_same_parameters():
    blocking, face = public(MemoryProviderRegistry), public(AsyncMemoryProviderRegistry)
    assert set(blocking) - set(face) == {"begin_end"}  # for the exit of the process only
    for name, member in face.items():
        if isinstance(member, property):
            assert isinstance(blocking[name], property)
            continue
        assert inspect.iscoroutinefunction(member), name
        parameters = [inspect.signature(one).parameters for one in (member, blocking[name])]
        assert [p.kind for p in parameters[0].values()] == [p.kind for p in parameters[1].values()]
        assert list(parameters[0]) == list(parameters[1])


def test_it_is_loaded_at_its_first_use():
    assert memproto.AsyncMemoryProviderRegistry is AsyncMemoryProviderRegistry
    assert "AsyncMemoryProviderRegistry" in dir(memproto)


def test_a_turn_of_a_blocking_and_of_a_coroutine_provider_goes_through_both():
    plain, remembers = FakeProvider("plain", enrich_turn=lambda *_: "known"), Remembers()

    async def turn(registry):
        found = await registry.enrich_turn("tea", [{"role": "user", "content": "tea"}])
        await registry.on_turn_complete("tea", "yes")
        await registry.on_memory_write("add", "user", "likes tea")
        assert await registry.flush()
        assert await registry.on_compress([{"role": "user", "content": "tea"}], 1) is None
        return found, registry.providers, registry.session_key, dict(registry.dropped)

    found = on_loop(turn, plain, remembers)
    assert found[0] == [("plain", "known"), ("remembers", "recalled")]
    assert found[1:] == (("plain", "remembers"), "session", {})
    written = [call[0] for call in remembers.calls]
    assert written == [
        "initialize",
        "enrich_turn",
        "on_turn_complete",
        "on_memory_write",
        "on_compress",
        "shutdown",
    ]
    assert plain.named("on_turn_complete") == [("tea", "yes")]


def test_no_hook_runs_on_the_thread_of_the_loop():
    prepared = threading.Event()
    extensions = [name for name in EXTENSION_HOOKS if name not in ("config", "checkpoint")]
    provider = Extended("a", *extensions, declares={"tool_names": ["note"]})
    provider._hooks |= {
        "get_tool_schemas": lambda: [schema("note")],
        "handle_tool_call": lambda *_: "{}",
        "recall_items": lambda *_: {"items": [], "status": "ok"},
        "queue_prefetch": lambda *_: prepared.set(),
    }
    on_loop(functools.partial(everything, prepared=prepared), provider)
    here = threading.main_thread()
    hooks = set(provider.threads) - {"capabilities"}
    assert {hook for name in extensions for hook in EXTENSION_HOOKS[name]} <= hooks
    assert [hook for hook in hooks if provider.threads[hook] is here] == []


async def everything(registry, prepared):
    """Calls each method once; a switch would drop what the turn has prepared, if it is late."""
    await registry.on_turn_start(1, "tea")
    await registry.enrich_turn("tea", [])
    await registry.system_prompt_block()
    await registry.get_tool_schemas()
    await registry.handle_tool_call("note", {"text": "x"})
    await registry.recall_items({"query": "x"})
    now = "2026-11-22T10:00:00+00:00"
    turn = {"turn_id": "1", "started_at": now, "ended_at": now}
    await registry.record({**turn, "user_message": "u", "assistant_response": "a"})
    await registry.on_turn_complete("u", "a")
    await asyncio.to_thread(prepared.wait, 30)
    await registry.on_memory_write("add", "user", "x")
    await registry.on_delegation("task", "result")
    await registry.on_compress([], 1)
    await registry.compress_notes([])
    await registry.export({})
    await registry.forget({})
    await registry.recall_status()
    await registry.unavailable_reason()
    await registry.backup_paths()
    await registry.on_session_end([])
    await registry.on_session_switch("next", reset=True, parent_session_id="session", why="x")
    await registry.flush()


def test_the_loop_goes_on_while_providers_open_answer_and_close():
    passed = threading.Event()
    hooks = ("initialize", "enrich_turn", "on_compress", "shutdown")
    provider = FakeProvider("a", **{hook: lambda *_: waited(passed) for hook in hooks})

    async def run():
        registry = AsyncMemoryProviderRegistry()
        await registry.register(provider)
        await beside(passed, registry.initialize_all("s", CONFIG))
        assert await beside(passed, registry.enrich_turn("u", [])) == [("a", "went on")]
        await beside(passed, registry.on_compress([], 1))
        await beside(passed, registry.shutdown_all())

    asyncio.run(run())


def waited(passed):
    assert passed.wait(10)
    passed.clear()
    return "went on"


async def beside(passed, coroutine):
    """The result of `coroutine`; the hook under it ends only once the loop has gone on."""
    task = asyncio.ensure_future(coroutine)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    passed.set()
    return await task


def test_answers_tools_and_counters_come_through_as_they_are():
    tools = offering("tools", schema("note"))
    items = Extended("items", "items", recall_items=lambda _: {"items": [], "status": "ok"})

    async def ask(registry):
        assert [one["name"] for one in await registry.get_tool_schemas()] == ["note"]
        assert await registry.tool_provider("note") == "tools"
        result = json.loads(await registry.handle_tool_call("note", {"text": "x"}))
        assert result == {"by": "tools", "tool": "note"}
        assert json.loads(await registry.handle_tool_call("none", {}))["success"] is False
        assert await registry.suppresses_local_writes("memory") is False
        assert await registry.suppresses_memory_review() is False
        answers = await registry.recall_items({"query": "x"})
        assert (await registry.stats())["providers"]["tools"]["state"] == "active"
        return answers

    assert on_loop(ask, tools, items) == [Answer("items", "ok", {"items": [], "status": "ok"})]


def test_keywords_of_the_host_reach_the_hooks_whatever_they_are_called():
    provider = Extended("a", "turns", "sessions")

    async def ask(registry):
        await registry.on_turn_start(1, "tea", function="f", job="j")
        await registry.on_session_switch("next", why="asked")
        await registry.flush()

    on_loop(ask, provider)
    assert provider.named("on_turn_start") == [(1, "tea", {"function": "f", "job": "j"})]
    keywords = {"parent_session_id": "", "reset": False, "rewound": False, "why": "asked"}
    assert provider.named("on_session_switch") == [("next", keywords)]


def test_what_is_no_provider_is_refused_at_registration_with_a_named_error():
    class Half(Remembers):
        on_compress = None

    async def run():
        async with AsyncMemoryProviderRegistry() as registry:
            await registry.register(Remembers())
            with pytest.raises(DuplicateProvider):
                await registry.register(Remembers())
            with pytest.raises(InvalidLabel):
                await registry.register(FakeProvider("No Label"))
            with pytest.raises(NotAProvider, match="on_compress"):
                await registry.register(Half())
            with pytest.raises(NotAProvider):
                await registry.register(object())
            await registry.initialize_all("s", CONFIG)
            with pytest.raises(RegistryClosed):
                await registry.register(FakeProvider("late"))
            with pytest.raises(ValueError, match="a turn has"):
                await registry.record({})

    asyncio.run(run())


def test_two_loops_on_two_threads_share_one_registry():
    both = threading.Barrier(2)

    def answer(text, _):
        return f"known of {text}"

    async def turns(registry, name):
        both.wait(10)
        return [await registry.enrich_turn(f"{name} {n}", []) for n in range(50)]

    registry = AsyncMemoryProviderRegistry()
    found = {}

    async def run():
        await registry.register(FakeProvider("a", enrich_turn=answer))
        await registry.initialize_all("s", CONFIG)
        there = threading.Thread(
            target=lambda: found.update(there=asyncio.run(turns(registry, "there")))
        )
        there.start()
        found["here"] = await turns(registry, "here")
        there.join(10)
        await registry.shutdown_all()

    asyncio.run(run())
    for name in ("here", "there"):
        assert found[name] == [[("a", f"known of {name} {n}")] for n in range(50)]


def test_a_registry_may_outlive_the_loop_on_which_it_was_opened():
    registry = AsyncMemoryProviderRegistry()
    asyncio.run(registry.register(Remembers()))
    asyncio.run(registry.initialize_all("s", CONFIG))
    assert asyncio.run(registry.enrich_turn("tea", [])) == [("remembers", "recalled")]
    asyncio.run(registry.shutdown_all())
    assert asyncio.run(registry.enrich_turn("tea", [])) == []


def test_a_registry_that_nobody_holds_ends_its_providers_and_threads():
    provider = FakeProvider("a")

    async def run():
        registry = AsyncMemoryProviderRegistry(deadlines=Deadlines(enrich_s=0.05))
        await registry.register(provider)
        await registry.initialize_all("s", CONFIG)
        await registry.enrich_turn("tea", [])

    asyncio.run(run())
    gc.collect()
    eventually(lambda: provider.named("shutdown") == [()])
    eventually(lambda: not own_threads())
