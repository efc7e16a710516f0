"""Providers whose hooks are coroutines, and threads that call them."""

import asyncio
import threading

from memproto.adapters.aio import from_async

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
