"""A process that ends while its threads are inside of calls ends well, fifty times out of fifty."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.programs import run

TIMES = 50

#: Threads are inside of recall, and the workers of the registry inside of writes.
BUSY = """
    import pathlib, tempfile
    from memproto.reference_providers.builtin import BuiltinMemoryProvider

    class Slow(FakeProvider):
        def enrich_turn(self, user_message, messages):
            time.sleep(0.002)

        def on_turn_complete(self, user_message, assistant_response):
            time.sleep(0.002)

    home = tempfile.TemporaryDirectory()
    registry = MemoryProviderRegistry()
    for provider in ({builtin}, Slow("slow")):
        registry.register(provider)
    registry.initialize_all("session", {{"home": home.name}})

    def ask():
        while True:
            registry.enrich_turn("Where is the boat?", [])
            inside.release()

    inside = threading.Semaphore(0)
    for _ in range(3):
        threading.Thread(target=ask, daemon=True).start()
    for number in range(3):
        registry.on_turn_complete(f"The boat {{number}} is in the harbour.", "Good.")
        registry.on_memory_write("add", "memory", f"The boat {{number}} is in the harbour.")
        inside.acquire()
    {last}
"""

ENDS = {
    "the program returns": ("", 0),
    "the program calls sys.exit": ("sys.exit(3)", 3),
    "the program shuts down": ("registry.shutdown_all()", 0),
}


@pytest.mark.parametrize("how", ENDS)
def test_a_process_ends_with_its_exit_code_and_says_nothing_while_calls_run(how):
    last, code = ENDS[how]
    program = BUSY.format(builtin="BuiltinMemoryProvider()", last=last)
    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(run, [program] * (TIMES // len(ENDS) + 1)))
    assert ended == [(code, [], [])] * len(ended)
