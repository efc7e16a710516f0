"""The asyncio registry in a forked process, which has its memory and none of its threads."""

from tests.programs import run


def test_in_a_forked_child_every_method_does_nothing():
    assert run("""
        import asyncio
        from memproto import AsyncMemoryProviderRegistry
        registry = AsyncMemoryProviderRegistry()
        provider = FakeProvider(enrich_turn=lambda *_: "known", shutdown=lambda: say("shutdown"))
        async def open():
            await registry.register(provider)
            await registry.initialize_all("session", {})
            await registry.on_compress([], 1)
            return await registry.enrich_turn("hello", [])
        asyncio.run(open())
        async def child_does():
            say("child", await registry.enrich_turn("hello", []), await registry.flush())
            await registry.on_turn_complete("a", "b")
            await registry.on_compress([], 1)
            await registry.shutdown_all()
        child = os.fork()
        if child == 0:
            asyncio.run(child_does())
            sys.exit(0)
        os.waitpid(child, 0)
        say("parent", asyncio.run(registry.enrich_turn("hello", [])))
        asyncio.run(registry.shutdown_all())
    """) == (0, ["child [] True", "parent [('fake', 'known')]", "shutdown"], [])


def test_a_lock_that_was_held_at_the_fork_does_not_hold_the_child():
    assert run("""
        import asyncio
        from memproto import AsyncMemoryProviderRegistry
        registry = AsyncMemoryProviderRegistry()
        async def open():
            await registry.register(FakeProvider(enrich_turn=lambda *_: "known"))
            await registry.initialize_all("session", {})
            await registry.enrich_turn("hello", [])
        asyncio.run(open())
        held, forked = threading.Event(), threading.Event()
        def hold():
            with registry._crew._lock, registry._registry.timekeeper._changed:
                held.set()
                forked.wait()
        holder = threading.Thread(target=hold)
        holder.start()
        held.wait()
        child = os.fork()
        if child == 0:
            asyncio.run(registry.shutdown_all())
            say("child ended")
            os._exit(0)
        os.waitpid(child, 0)
        forked.set()
        holder.join()
        asyncio.run(registry.shutdown_all())
    """) == (0, ["child ended"], [])
