from tests.programs import run

HANGING = """
    import atexit, logging

    logging.getLogger("memproto").addHandler(logging.NullHandler())
    BUDGET_S = 0.5
    forever = threading.Event().wait

    def hang(*_):
        forever()

    class Answering(FakeProvider):
        def on_turn_complete(self, user_message, assistant_response):
            say(self.name, user_message)

        def shutdown(self):
            say(self.name, "shutdown")

    def at_the_very_end():
        say("within", time.monotonic() - ended < BUDGET_S + 10)

    atexit.register(at_the_very_end)
    deadlines = Deadlines(enrich_s=0.05, compress_s=60.0, shutdown_s=BUDGET_S)
"""


def ends_with_a_hang_in(hook, calls):
    return run(f"""{HANGING}
    registry = opened(FakeProvider("stuck", {hook}=hang), Answering("fine"), deadlines=deadlines)
    registry.on_turn_complete("first", "")
    {calls}
    registry.on_turn_complete("last", "")
    ended = time.monotonic()
    """)


EVERYTHING_KEPT = (0, ["fine first", "fine last", "fine shutdown", "within True"], [])


def test_a_recall_that_hangs_at_exit_costs_the_others_nothing():
    assert ends_with_a_hang_in("enrich_turn", 'registry.enrich_turn("x", [])') == EVERYTHING_KEPT


def test_a_write_that_hangs_at_exit_costs_the_others_nothing():
    assert ends_with_a_hang_in("on_turn_complete", "pass") == EVERYTHING_KEPT


def test_a_shutdown_that_hangs_at_exit_costs_the_others_nothing():
    assert ends_with_a_hang_in("shutdown", "pass") == EVERYTHING_KEPT


def test_a_compression_that_hangs_at_exit_costs_the_others_nothing():
    thread = "threading.Thread(target=registry.on_compress, args=([], 1), daemon=True).start()"
    assert ends_with_a_hang_in("on_compress", thread) == EVERYTHING_KEPT


def test_a_write_that_computes_for_ever_does_not_hold_the_process():
    assert run(f"""{HANGING}
    def spin(*_):
        while True:
            pass

    registry = opened(FakeProvider(on_turn_complete=spin), deadlines=deadlines)
    registry.on_turn_complete("first", "")
    ended = time.monotonic()
    """) == (0, ["within True"], [])


def test_a_registry_made_while_the_process_ends_drops_its_provider_and_raises_nothing():
    code, lines, errors = run("""
    import atexit

    @atexit.register
    def too_late():
        registry = opened(FakeProvider(shutdown=lambda: say("shutdown")))
        registry.on_turn_complete("a", "b")
        registry.on_compress([], 1)
        registry.shutdown_all()
        say("done")
    """)
    assert (code, lines[-1]) == (0, "done")
    assert errors in ([], ["initialize of fake: dropped after 0.000 s (RuntimeError)"])


def test_forks_of_a_busy_process_do_nothing_and_leave_the_parent_whole():
    assert run("""
    seen = []
    provider = FakeProvider(enrich_turn=lambda text, _: text, on_turn_complete=lambda *_: None)
    registry = opened(provider)
    stop = threading.Event()

    def work(number):
        while not stop.is_set():
            registry.enrich_turn(str(number), [])
            registry.on_turn_complete(str(number), "")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    codes = []
    for _ in range(10):
        child = os.fork()
        if child == 0:
            silent = registry.enrich_turn("child", []) == []
            registry.register(FakeProvider("other"))
            registry.initialize_all("again", {})
            registry.on_memory_write("add", "memory", "child")
            registry.on_turn_complete("child", "")
            registry.on_compress([], 1)
            registry.shutdown_all()
            os._exit(0 if silent and not provider.named("on_memory_write") else 1)
        codes.append(os.waitpid(child, 0)[1])
    stop.set()
    for thread in threads:
        thread.join()
    say(set(codes), registry.enrich_turn("parent", []))
    registry.on_turn_complete("parent", "")
    registry.shutdown_all()
    say(provider.named("on_turn_complete")[-1], len(provider.named("shutdown")))
    """) == (0, ["{0} [('fake', 'parent')]", "('parent', '') 1"], [])
