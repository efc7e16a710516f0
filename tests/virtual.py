"""A clock that stands still until a test moves it, so that a deadline of minutes takes no time."""

import threading
import time

REAL_LIMIT_S = 20.0  # a test that waits longer than this in real time has a fault


class VirtualClock:
    """
    Time that passes only by `advance`.

    `advance` first waits, in real time, until the expected number of bounded waits is under way:
    so the order "someone waits, then time passes, then they wake" holds on any machine.
    """

    def __init__(self) -> None:
        self._now_s = 1000.0
        self._moved = threading.Condition()
        self._waits: list[tuple[float, threading.Condition]] = []

    def now(self) -> float:
        return self._now_s

    def wait(self, condition: threading.Condition, until: float) -> None:
        entry = (until, condition)
        with self._moved:
            if until <= self._now_s:
                return
            self._waits.append(entry)
            self._moved.notify_all()
        try:
            if not condition.wait(REAL_LIMIT_S):
                raise AssertionError("nobody moved the clock")
        finally:
            with self._moved:
                self._waits.remove(entry)

    def advance(self, seconds: float, *, waits: int = 1) -> None:
        """Let `seconds` pass once at least `waits` bounded waits are under way."""
        with self._moved:
            if not self._moved.wait_for(lambda: len(self._waits) >= waits, REAL_LIMIT_S):
                raise AssertionError(f"{len(self._waits)} bounded waits instead of {waits}")
            self._now_s += seconds
            due = [condition for until, condition in self._waits if until <= self._now_s]
        for condition in due:
            with condition:
                condition.notify_all()


def eventually(holds, what="it") -> None:
    """Wait in real time for what no event announces, such as the end of a thread."""
    limit = time.monotonic() + REAL_LIMIT_S
    while not holds():
        if time.monotonic() > limit:
            raise AssertionError(f"{what} did not happen within {REAL_LIMIT_S:.0f} s")
        time.sleep(0.001)


def own_threads() -> list[threading.Thread]:
    """The threads of registries and adapters that run."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("memproto-")]


class FakeProvider:
    """A provider that notes every call; a hook is replaced by passing it as a keyword."""

    def __init__(self, name="fake", **hooks) -> None:
        self.name = name
        self.calls = []
        self.threads = {}
        self._hooks = hooks

    def _called(self, hook, *args, default=None):
        self.calls.append((hook, *args))
        self.threads[hook] = threading.current_thread()
        return self._hooks[hook](*args) if hook in self._hooks else default

    def is_available(self):
        return self._called("is_available", default=True)

    def initialize(self, session_key, config):
        return self._called("initialize", session_key, config)

    def shutdown(self):
        return self._called("shutdown")

    def capabilities(self):
        return self._called("capabilities", default={})

    def enrich_turn(self, user_message, messages):
        return self._called("enrich_turn", user_message, messages)

    def on_memory_write(self, action, target, content, old_text=None):
        return self._called("on_memory_write", action, target, content, old_text)

    def on_turn_complete(self, user_message, assistant_response):
        return self._called("on_turn_complete", user_message, assistant_response)

    def on_compress(self, messages, compression_count):
        return self._called("on_compress", messages, compression_count)

    def named(self, hook):
        """The calls of one hook, in order."""
        return [call[1:] for call in self.calls if call[0] == hook]
