"""The asyncio face under every order of calls, answers, deadlines and cancellations."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memproto import AsyncMemoryProviderRegistry
from memproto.deadlines import Deadlines
from tests.registry.stepped import World
from tests.registry.test_orders import WRITES, Held, held_hooks, hows
from tests.virtual import eventually, own_threads

pytestmark = pytest.mark.once

MOMENT_S = 1 / 1024
ENRICH_S, COMPRESS_S, END_S = 5.0, 120.0, 15.0
NOBODY = set()


class Asked:
    """One call on the loop: what it was, until when it lasts at most, and when it was cancelled."""

    def __init__(self, kind, number, until, task) -> None:
        self.kind, self.number, self.until, self.task = kind, number, until, task
        self.cancelled_in = float("inf")


class Session:
    """The face of a registry of two providers, its loop turned by the test's own thread."""

    def __init__(self, world, held) -> None:
        self.world, self.loop = world, asyncio.new_event_loop()
        self.events, self.asked = [], []
        self.writes = self.step = self.compressions = 0
        self.moments, self.end_began = [world.now()], None
        self.providers = [Held(self, name, hooks) for name, hooks in zip("ab", held, strict=True)]
        self.registry = AsyncMemoryProviderRegistry(
            clock=world, deadlines=Deadlines(enrich_s=ENRICH_S), on_event=self.events.append
        )
        for provider in self.providers:
            self.now(self.registry.register(provider))
        self.now(self.registry.initialize_all("session", {}))

    def now(self, coroutine) -> None:
        """Let a call be made that nothing holds."""
        task = self.loop.create_task(coroutine)
        self.settle()
        task.result()

    def settle(self) -> None:
        """Let everything run that can, on the loop and off it, until only a step can go on."""
        is_still = False
        while not is_still:
            self.turn()
            self.world.settle()
            is_still = not self.loop._ready and not self.loop._scheduled

    def turn(self) -> None:
        """Let the loop run what is ready, once."""
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()

    # -- steps --------------------------------------------------------------------------------

    def take(self, *operations) -> None:
        self.step += 1
        for name, *args in operations:
            getattr(self, name)(*args)
        self.moments.append(self.world.now())
        self.settle()
        self.check()

    def ask(self, kind, number, until, coroutine) -> None:
        self.asked.append(Asked(kind, number, until, self.loop.create_task(coroutine)))
        # Its time begins when it runs, not when it was made: a recall on the loop, others off it.
        self.turn() if kind == "recall" else self.settle()

    def recall(self) -> None:
        number = len(self.asked)
        until = self.world.now() + ENRICH_S
        self.ask("recall", number, until, self.registry.enrich_turn(str(number), []))

    def compress(self) -> None:
        self.compressions += 1
        until = self.world.now() + COMPRESS_S
        coroutine = self.registry.on_compress([], self.compressions)
        self.ask("compress", self.compressions, until, coroutine)

    def end(self) -> None:
        if self.end_began is None:
            self.end_began = self.world.now()
        self.ask("end", 0, self.end_began + END_S, self.registry.shutdown_all())

    def cancel(self, which) -> None:
        if self.asked:
            call = self.asked[which % len(self.asked)]
            if call.task.cancel():
                call.cancelled_in = min(call.cancelled_in, self.step)

    def record(self) -> None:
        self.loop.create_task(self.registry.on_turn_complete(str(self.writes), ""))
        self.writes += 1

    def release(self, which, how) -> None:
        if gates := list(self.world.gates):
            self.world.release(gates[which % len(gates)], how)

    def move(self, seconds) -> None:
        self.world.move(seconds)

    def reach(self, offset_s) -> None:
        self.world.move(max(0.0, self.world.next_moment() + offset_s - self.world.now()))

    # -- what must hold whenever the world stands still ---------------------------------------

    def check(self) -> None:
        for call in self.asked:
            self.check_call(call)
        for provider in self.providers:
            written = provider.numbers(*WRITES)
            assert written == [*range(len(written))]
            assert len(provider.numbers("shutdown")) <= 1
        assert self.end_began is not None or not [e for e in self.events if e.lost]

    def check_call(self, call) -> None:
        must_be_over = call.until <= self.world.now() or not self.world.gates
        if must_be_over or call.cancelled_in <= self.step:
            assert call.task.done(), f"{call.kind} {call.number} goes on"
        if not call.task.done() or call.kind != "recall":
            return
        if call.task.cancelled():
            assert all(self.began_in(p, call) <= call.cancelled_in for p in self.providers)
            return
        assert len(dict(call.task.result())) == len(call.task.result())
        for provider in self.providers:
            self.check_answer(call, provider, dict(call.task.result()).get(provider.name))

    def began_in(self, provider, call):
        steps = [s for hook, n, s in provider.began if (hook, n) == ("enrich_turn", call.number)]
        return max(steps, default=0)

    def check_answer(self, call, provider, text) -> None:
        assert text in (None, f"{provider.name} {call.number}")
        how, returned, step = provider.returned.get(call.number, ("never", 0.0, 0))
        if how == "ok" and self.moments[step] < call.until:
            assert text is not None
        if how != "ok" or returned >= call.until:
            assert text is None

    # -- the end ------------------------------------------------------------------------------

    def finish(self) -> None:
        self.take(("end",))
        self.take(("move", END_S))
        self.take(("move", COMPRESS_S))
        while self.world.gates:
            self.take(("release", 0, "ok"))
        eventually(lambda: not own_threads(), "the end of every thread")
        for provider in self.providers:
            assert provider.numbers("shutdown") == [0]
            self.check_fates(provider)

    def check_fates(self, provider) -> None:
        told = [e for e in self.events if e.provider == provider.name and e.hook in WRITES]
        in_time = [e for e in told if e.outcome in ("ok", "raised")]
        assert len(in_time) + sum(event.lost for event in told) == self.writes

    def close(self) -> None:
        self.world.let_go()
        self.loop.run_until_complete(self.registry.shutdown_all())
        self.loop.close()


def play(held, steps) -> None:
    with pytest.MonkeyPatch.context() as patches:
        session = Session(World(patches), held)
        try:
            for step in steps:
                session.take(*step)
            session.finish()
        finally:
            session.close()


operations = st.one_of(
    st.sampled_from([("recall",), ("recall",), ("record",), ("compress",), ("end",)]),
    st.tuples(st.just("cancel"), st.integers(0, 9)),
    st.tuples(st.just("release"), st.integers(0, 5), hows),
    st.tuples(st.just("move"), st.sampled_from([0.5, 1.5, 5.0, 13.5, 15.0])),
    st.tuples(st.just("reach"), st.sampled_from([-MOMENT_S, 0.0, MOMENT_S])),
)
steps = st.lists(st.lists(operations, min_size=1, max_size=3), max_size=14)
ANSWER = ("release", 0, "ok")


@given(held_hooks, steps)
@settings(deadline=None, max_examples=250, derandomize=True, database=None)
def test_every_order_of_calls_answers_deadlines_and_cancellations_keeps_the_promises(held, steps):
    play(held, steps)


@pytest.mark.parametrize(
    ("held", "steps"),
    [
        ({"enrich_turn"}, [[("recall",)], [("cancel", 0)], [("recall",)], [ANSWER], [ANSWER]]),
        ({"enrich_turn"}, [[("recall",)], [("cancel", 0), ANSWER], [("recall",)], [ANSWER]]),
        ({"enrich_turn"}, [[("recall",)], [ANSWER, ("cancel", 0)], [("recall",)], [ANSWER]]),
        ({"enrich_turn"}, [[("recall",), ("cancel", 0)], [("recall",)], [ANSWER]]),
        ({"enrich_turn"}, [[("recall",)], [("recall",)], [("cancel", 1)], [ANSWER], [("recall",)]]),
        (
            {"enrich_turn"},
            [[("recall",)], [("cancel", 0), ("reach", 0.0)], [("recall",)]],
        ),
        (
            {"enrich_turn"},
            [[("recall",)], [("reach", 0.0), ("cancel", 0)], [("recall",)]],
        ),
        ({"enrich_turn"}, [[("recall",)], [("cancel", 0)], [("end",)], [("reach", 0.0)], [ANSWER]]),
        ({"shutdown"}, [[("end",)], [("cancel", 0)], [("end",)], [ANSWER], [("recall",)]]),
        ({"on_compress"}, [[("compress",)], [("cancel", 0)], [("compress",)], [("end",)]]),
    ],
)
def test_a_cancellation_beside_an_answer_or_a_deadline_keeps_the_promises(held, steps):
    play((held, NOBODY), steps)
