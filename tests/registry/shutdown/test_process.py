from tests.programs import run


def test_what_was_accepted_is_delivered_when_the_process_ends_without_shutdown_all():
    assert run("""
        provider = FakeProvider(
            on_turn_complete=lambda a, b: (time.sleep(0.05), say("turn", a)),
            shutdown=lambda: say("shutdown"),
        )
        registry = MemoryProviderRegistry()
        registry.register(provider)
        registry.initialize_all("session", {})
        for number in range(3):
            registry.on_turn_complete(str(number), "")
        sys.exit(7)
    """) == (7, ["turn 0", "turn 1", "turn 2", "shutdown"], [])


def test_registries_end_together_when_the_process_ends():
    code, lines, _ = run("""
        meeting = threading.Barrier(3)
        def make():
            provider = FakeProvider(shutdown=lambda: say("met", meeting.wait(20) >= 0))
            registry = MemoryProviderRegistry()
            registry.register(provider)
            registry.initialize_all("session", {})
            return registry
        registries = [make() for _ in range(3)]
    """)
    assert (code, lines) == (0, ["met True"] * 3)


def test_a_provider_that_hangs_does_not_hold_the_process():
    code, lines, errors = run("""
        hang = lambda *_: threading.Event().wait()
        provider = FakeProvider(on_turn_complete=hang, enrich_turn=hang, shutdown=hang)
        registry = MemoryProviderRegistry(deadlines=Deadlines(enrich_s=0.1, shutdown_s=0.5))
        registry.register(provider)
        registry.initialize_all("session", {})
        registry.on_turn_complete("a", "b")
        say(registry.enrich_turn("hello", []))
    """)
    assert (code, lines) == (0, ["[]"])
    assert errors == [
        "enrich_turn of fake: late after 0.100 s",
        "shutdown of fake: late after 0.500 s",
        "on_turn_complete of fake: abandoned after 0.000 s, accepted calls lost: 1",
    ]


def test_in_a_forked_child_the_registry_does_nothing_and_does_not_hang():
    assert run("""
        provider = FakeProvider(enrich_turn=lambda *_: "known", shutdown=lambda: say("shutdown"))
        registry = MemoryProviderRegistry()
        registry.register(provider)
        registry.initialize_all("session", {})
        registry.enrich_turn("hello", [])
        child = os.fork()
        if child == 0:
            say("child", registry.enrich_turn("hello", []))
            registry.on_turn_complete("a", "b")
            registry.on_compress([], 1)
            registry.shutdown_all()
            sys.exit(0)
        os.waitpid(child, 0)
        say("parent", registry.enrich_turn("hello", []))
        registry.shutdown_all()
    """) == (0, ["child []", "parent [('fake', 'known')]", "shutdown"], [])


def test_a_forked_child_may_have_a_registry_of_its_own():
    assert run("""
        def session(name):
            registry = MemoryProviderRegistry()
            registry.register(FakeProvider(shutdown=lambda: say(name, "shutdown")))
            registry.initialize_all("session", {})
            return registry
        parent = session("parent")
        child = os.fork()
        if child == 0:
            mine = session("child")
            sys.exit(0)
        os.waitpid(child, 0)
    """) == (0, ["child shutdown", "parent shutdown"], [])
