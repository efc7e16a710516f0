import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memproto.deadlines import Deadlines
from memproto.registry import MemoryProviderRegistry
from tests.registry.stepped import World
from tests.virtual import eventually, own_threads

MOMENT_S = 1 / 1024
END_S, COMPRESS_S = 15.0, 120.0
DRAINED_S = 13.5
WRITES = ("on_turn_complete", "on_memory_write")
PARALLEL = ("enrich_turn", "on_compress")


class Held:
    """A provider whose hooks are held as drawn, and which notes when each began and ended."""

    def __init__(self, session, name, held) -> None:
        self.session, self.name, self.held = session, name, held
        self.began, self.returned, self.inside = [], {}, []

    def _called(self, hook, number, answer=None):
        step = self.session.step
        self.began.append((hook, number, step))
        kind = "write" if hook in WRITES else hook
        assert hook == "on_compress" or kind not in self.inside
        self.inside.append(kind)
        how = self.session.world.hold(hook) if hook in self.held else "ok"
        self.inside.remove(kind)
        if hook == "enrich_turn":
            self.returned[number] = how, self.session.world.now(), self.session.step
        if how in ENDS:
            raise ENDS[how]
        return 7 if how == "wrong" else answer

    def is_available(self):
        return True

    def initialize(self, session_key, config):
        pass

    def capabilities(self):
        return {}

    def enrich_turn(self, user_message, messages):
        return self._called("enrich_turn", int(user_message), f"{self.name} {user_message}")

    def on_turn_complete(self, user_message, assistant_response):
        return self._called("on_turn_complete", int(user_message))

    def on_memory_write(self, action, target, content, old_text=None):
        return self._called("on_memory_write", int(content))

    def on_compress(self, messages, compression_count):
        return self._called("on_compress", compression_count)

    def shutdown(self):
        return self._called("shutdown", 0)

    def numbers(self, *hooks):
        return [number for hook, number, _ in self.began if hook in hooks]


ENDS = {"raise": ValueError, "exit": SystemExit, "interrupt": KeyboardInterrupt}


class Session:
    """A registry of two providers in a stepped world, and what has been asked of it so far."""

    def __init__(self, world, held, enrich_s) -> None:
        self.world = world
        self.enrich_s = enrich_s
        self.events = []
        deadlines = Deadlines(enrich_s=enrich_s)
        self.registry = MemoryProviderRegistry(
            clock=world, deadlines=deadlines, on_event=self.events.append
        )
        self.providers = [Held(self, name, hooks) for name, hooks in zip("ab", held, strict=True)]
        for provider in self.providers:
            self.registry.register(provider)
        self.registry.initialize_all("session", {})
        self.asked = []  # kind, until, thread, number
        self.answers = {}
        self.writes = self.compressions = self.step = 0
        self.moments = [world.now()]
        self.end_began = None

    # -- steps --------------------------------------------------------------------------------

    def take(self, *operations):
        """One step: the operations without a pause between them, then all that follows."""
        self.step += 1
        for name, *args in operations:
            getattr(self, name)(*args)
        self.moments.append(self.world.now())
        self.world.settle()
        self.check()

    def _ask(self, kind, number, until, call):
        self.asked.append((kind, number, until, self.world.run(call)))

    def recall(self):
        number = len(self.asked)

        def ask():
            self.answers[number] = self.registry.enrich_turn(str(number), [])

        self._ask("recall", number, self.world.now() + self.enrich_s, ask)

    def compress(self):
        self.compressions += 1
        number = self.compressions
        until = self.world.now() + COMPRESS_S
        self._ask("compress", number, until, lambda: self.registry.on_compress([], number))

    def end(self):
        if self.end_began is None:
            self.end_began = self.world.now()
        self._ask("end", 0, self.end_began + END_S, self.registry.shutdown_all)

    def record(self):
        self.registry.on_turn_complete(str(self.writes), "")
        self.writes += 1

    def mirror(self):
        self.registry.on_memory_write("add", "memory", str(self.writes))
        self.writes += 1

    def release(self, which, how):
        gates = list(self.world.gates)
        if gates:
            self.world.release(gates[which % len(gates)], how)

    def move(self, seconds):
        self.world.move(seconds)

    def reach(self, offset_s):
        self.world.move(max(0.0, self.world.next_moment() + offset_s - self.world.now()))

    # -- what must hold whenever the world stands still ---------------------------------------

    def check(self):
        for kind, number, until, thread in self.asked:
            must_be_over = until <= self.world.now() or not self.world.gates
            thread.join(10 if must_be_over else 0)
            assert not (must_be_over and thread.is_alive()), f"{kind} {number} goes on"
        for number, answer in self.answers.items():
            assert len(dict(answer)) == len(answer)
            for provider in self.providers:
                self.check_answer(number, provider, dict(answer).get(provider.name))
        for provider in self.providers:
            self.check_order(provider)
        self.check_losses()

    def check_answer(self, number, provider, text):
        assert text in (None, f"{provider.name} {number}")
        until = next(u for kind, n, u, _ in self.asked if (kind, n) == ("recall", number))
        how, returned, step = provider.returned.get(number, ("never", 0.0, 0))
        if how == "ok" and self.moments[step] < until:
            assert text is not None
        if how != "ok" or returned >= until:
            assert text is None

    def check_losses(self):
        lost = [event.outcome for event in self.events if event.lost]
        assert self.end_began is not None or not lost
        if "abandoned" in lost:
            assert self.world.now() >= self.end_began + DRAINED_S
        if any(kind == "end" and not thread.is_alive() for kind, _, _, thread in self.asked):
            for provider in self.providers:
                self.check_fates(provider)

    def check_order(self, provider):
        written = provider.numbers(*WRITES)
        assert written == [*range(len(written))]
        steps = {hook: step for hook, _, step in provider.began}
        closed = steps.get("shutdown", float("inf"))
        assert all(steps.get(hook, 0) <= closed for hook in (*WRITES, *PARALLEL))
        assert len(provider.numbers("shutdown")) <= 1

    # -- the end ------------------------------------------------------------------------------

    def finish(self):
        self.take(("end",))
        self.take(("move", END_S))
        held = {gate.thread for gate in self.world.gates}
        eventually(lambda: set(own_threads()) <= held, "the end of the threads that are not held")
        self.take(("move", COMPRESS_S))
        while self.world.gates:
            self.take(("release", 0, "ok"))
        eventually(lambda: not own_threads(), "the end of every thread")
        for provider in self.providers:
            assert provider.numbers("shutdown") == [0]
            outcomes = self.check_fates(provider)
            assert len(outcomes) - outcomes.count("dropped") - outcomes.count("abandoned") == len(
                provider.numbers(*WRITES)
            )

    def check_fates(self, provider):
        """Each write was told once: delivered, raised, dropped or abandoned."""
        told = [e for e in self.events if e.provider == provider.name and e.hook in WRITES]
        outcomes = [event.outcome for event in told]
        in_time = outcomes.count("ok") + outcomes.count("raised")
        assert in_time + sum(event.lost for event in told) == self.writes
        return outcomes


def play(held, steps, enrich_s=5.0):
    with pytest.MonkeyPatch.context() as patches:
        world = World(patches)
        session = Session(world, held, enrich_s)
        try:
            for step in steps:
                session.take(*step)
            session.finish()
        finally:
            world.let_go()
            session.registry.shutdown_all()


HOOKS = ("enrich_turn", "on_turn_complete", "on_memory_write", "on_compress", "shutdown")
hows = st.sampled_from(["ok", "ok", "raise", "exit", "interrupt", "wrong"])
operations = st.one_of(
    st.sampled_from([("recall",), ("record",), ("mirror",), ("compress",), ("end",)]),
    st.tuples(st.just("release"), st.integers(0, 5), hows),
    st.tuples(st.just("move"), st.sampled_from([0.5, 1.5, 5.0, 13.5, 15.0, 120.0])),
    st.tuples(st.just("reach"), st.sampled_from([-MOMENT_S, 0.0, MOMENT_S])),
)
steps = st.lists(st.lists(operations, min_size=1, max_size=3), max_size=16)
held_hooks = st.tuples(*[st.sets(st.sampled_from(HOOKS))] * 2)


NOBODY, SLOW_WRITER = set(), {"on_turn_complete", "shutdown"}
ANSWER = ("release", 0, "ok")


@given(held_hooks, steps, st.sampled_from([5.0, 60.0]))
@settings(deadline=None, max_examples=120, derandomize=True, database=None)
def test_every_order_of_calls_answers_and_deadlines_keeps_the_promises(held, steps, enrich_s):
    play(held, steps, enrich_s)


@pytest.mark.parametrize(
    ("held", "steps"),
    [
        ({"enrich_turn"}, [[("recall",)], [("reach", 0.0), ANSWER], [("recall",)]]),
        ({"enrich_turn"}, [[("recall",)], [("reach", -MOMENT_S), ANSWER], [("recall",)]]),
        ({"enrich_turn"}, [[("recall",)], [("reach", MOMENT_S)], [("recall",)], [ANSWER]]),
        ({"enrich_turn"}, [[("recall",), ("recall",)], [("end",)], [("reach", 0.0)], [ANSWER]]),
        (SLOW_WRITER, [[("record",), ("record",), ("end",)], [("reach", 0.0)], [ANSWER]]),
        (SLOW_WRITER, [[("record",), ("record",), ("end",)], [("reach", 0.0), ANSWER], [ANSWER]]),
        (SLOW_WRITER, [[("record",), ("end",)], [("move", 15.0)], [ANSWER], [("record",)]]),
        ({"on_compress"}, [[("compress",)], [("end",)], [("reach", -MOMENT_S), ANSWER]]),
        ({"shutdown"}, [[("end",)], [("end",)], [("reach", 0.0), ANSWER], [("end",)]]),
    ],
)
@pytest.mark.parametrize("enrich_s", [5.0, 60.0])
def test_an_order_that_real_time_seldom_reaches_keeps_the_promises(held, steps, enrich_s):
    play((held, NOBODY), steps, enrich_s)
