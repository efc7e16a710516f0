"""A host registry, written from the text of the specification; the fence is the reference one."""

import atexit
import copy
import logging
import queue
import re
import threading
import time

from memproto import fence

LABEL = re.compile(r"[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?")
MEMBERS = (
    "name",
    "is_available",
    "initialize",
    "shutdown",
    "capabilities",
    "enrich_turn",
    "on_memory_write",
    "on_turn_complete",
    "on_compress",
)
log = logging.getLogger("harborhost")


class Refused(ValueError):
    pass


def plain(messages):
    """Messages with a role and a text."""
    out = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            content = "\n".join(
                p.get("text", "")
                for p in content
                if isinstance(p, dict) and p.get("type") == "text"
            )
        out.append({"role": str(message.get("role", "")), "content": content or ""})
    return out


class Lane:
    def __init__(self, host, provider, name):
        self.host, self.provider, self.name = host, provider, name
        self.writes, self.busy = queue.Queue(), {}
        self.closed = threading.Event()
        self.left = 0
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self):
        while True:
            job = self.writes.get()
            try:
                if job is None:
                    return
                hook, args = job
                try:
                    getattr(self.provider, hook)(*args)
                except BaseException as error:
                    self.host.report(self.name, f"{hook} raised {type(error).__name__}")
            finally:
                self.writes.task_done()

    def call(self, operation, hook, args, done):
        """On a thread of the host; nothing where the same operation is still under way."""
        if operation in self.busy:
            return False
        self.busy[operation] = True

        def run():
            try:
                answer, error = getattr(self.provider, hook)(*args), None
            except BaseException as caught:
                answer, error = None, caught
            self.busy.pop(operation, None)
            done(self, answer, error)

        threading.Thread(target=run, daemon=True).start()
        return True


class Host:
    fence = fence

    def __init__(self, deadlines=None, on_event=None):
        self._on_event = on_event
        self._recall_s = getattr(deadlines, "enrich_s", 5.0)
        self._compress_s = getattr(deadlines, "compress_s", 120.0)
        self._exit_s = getattr(deadlines, "shutdown_s", 15.0)
        self._registered, self._lanes = [], []
        self._writes_allowed = True
        self._lock = threading.Lock()
        self._ended = False
        # No thread can be started while the interpreter ends.
        atexit.register(self.shutdown_all)

    def report(self, name, text):
        if self._on_event is not None:
            self._on_event(f"provider {name}: {text}")
        else:
            log.warning("provider %s: %s", name, text)

    def register(self, provider):
        missing = [
            m
            for m in MEMBERS
            if not hasattr(type(provider), m)
            and m not in vars(provider)
            and not hasattr(provider, m)
        ]
        if missing:
            raise Refused(f"it lacks {', '.join(missing)}")
        name = provider.name
        if not isinstance(name, str) or not LABEL.fullmatch(name):
            raise Refused("its name is no label")
        if any(name == known for known, _ in self._registered):
            raise Refused(f"there is a provider {name} already")
        self._registered.append((name, provider))

    def initialize_all(self, session_key, config):
        self._writes_allowed = config.get("agent_context", "primary") == "primary"
        for name, provider in self._registered:
            try:
                there = provider.is_available()
            except BaseException as error:
                there = type(error).__name__
            if there is not True:
                self.report(name, f"is not available: {there!r}")
                continue
            handed = copy.deepcopy(dict(config))
            handed["protocol"] = {
                "version": "1.0",
                "host": "harborhost",
                "contexts": ["primary"],
                "hooks": list(MEMBERS),
            }
            handed["deadlines"] = {
                "enrich_s": self._recall_s,
                "compress_s": self._compress_s,
                "shutdown_s": self._exit_s,
                "initialize_s": None,
            }
            handed.setdefault("limits", {})
            handed.setdefault("platform", "cli")
            try:
                provider.initialize(session_key, handed)
                declared = copy.deepcopy(provider.capabilities())
            except BaseException as error:
                self.report(name, f"did not start: {type(error).__name__}")
                try:
                    provider.shutdown()
                except BaseException as again:
                    self.report(name, f"shutdown raised {type(again).__name__}")
                continue
            lane = Lane(self, provider, name)
            lane.holds = "checkpoint" in (declared or {}).get("extensions", ())
            self._lanes.append(lane)

    def _ask(self, operation, hook, args_of, seconds):
        end = time.monotonic() + seconds
        answers, waiting, changed = {}, set(), threading.Condition()
        state = {"over": False}

        def done(lane, answer, error):
            with changed:
                if not state["over"]:
                    answers[lane] = (answer, error)
                    waiting.discard(lane)
                    changed.notify_all()

        for lane in self._lanes:
            with changed:
                waiting.add(lane)
            if not lane.call(operation, hook, args_of(), done):
                with changed:
                    waiting.discard(lane)
                self.report(lane.name, f"{hook} has not returned yet, and is left out")
        with changed:
            while waiting and (left := end - time.monotonic()) > 0:
                changed.wait(left)
            state["over"] = True
            late = list(waiting)
        for lane in late:
            self.report(lane.name, f"{hook} missed its deadline")
        return answers

    def enrich_turn(self, user_message, messages):
        said = fence.strip_memory_context(user_message)
        found = self._ask(
            "recall", "enrich_turn", lambda: (said, copy.deepcopy(list(messages))), self._recall_s
        )
        result = []
        for lane in self._lanes:
            answer, error = found.get(lane, (None, None))
            if error is not None:
                self.report(lane.name, f"enrich_turn raised {type(error).__name__}")
            elif answer is not None and not isinstance(answer, str):
                if hasattr(answer, "close"):
                    answer.close()
                self.report(lane.name, f"enrich_turn gave {type(answer).__name__}")
            elif answer:
                result.append((lane.name, answer))
        return result

    def _write(self, hook, *args):
        if self._writes_allowed:
            for lane in self._lanes:
                lane.writes.put((hook, args))

    def on_memory_write(self, action, target, content, old_text=None):
        self._write("on_memory_write", action, target, content, old_text)

    def on_turn_complete(self, user_message, assistant_response):
        self._write(
            "on_turn_complete",
            fence.strip_memory_context(user_message),
            fence.strip_memory_context(assistant_response),
        )

    def on_compress(self, messages, compression_count=1):
        found = self._ask(
            "compress",
            "on_compress",
            lambda: (plain(messages), compression_count),
            self._compress_s,
        )
        kept = [
            lane.name
            for lane in self._lanes
            if lane.holds and (lane not in found or found[lane][1] is not None)
        ]
        for lane, (_, error) in found.items():
            if error is not None:
                self.report(lane.name, f"on_compress raised {type(error).__name__}")
        return kept or None

    def shutdown_all(self):
        with self._lock:
            if self._ended:
                return
            self._ended = True
        end = time.monotonic() + self._exit_s
        threads = [
            threading.Thread(target=self._close, args=(lane, end), daemon=True)
            for lane in self._lanes
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _close(self, lane, end):
        until = end - self._exit_s * 0.2
        while lane.writes.unfinished_tasks and time.monotonic() < until:
            time.sleep(0.005)
        if left := lane.writes.unfinished_tasks:
            self.report(lane.name, f"{left} writes were given up")
        try:
            lane.provider.shutdown()
        except BaseException as error:
            self.report(lane.name, f"shutdown raised {type(error).__name__}")
