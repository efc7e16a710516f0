"""Material of broken hosts: the registry with providers behind a wrapper, the agent's request."""

import time

from memproto.deadlines import MonotonicClock
from memproto.fence import strip_memory_context
from memproto.registry import MemoryProviderRegistry
from memproto.registry.calls.gather import Gather
from memproto.registry.calls.lanes import ProviderLane
from memproto.testing.agent import Agent


class Through:
    """A provider as the registry sees it; a broken host changes one hook on the way."""

    def __init__(self, inner, registry):
        self.inner = inner
        self.registry = registry

    def __getattr__(self, name):
        return getattr(self.inner, name)


class Wrapping(MemoryProviderRegistry):
    """Registers a provider as it came, and calls it through `through`."""

    through = Through

    def register(self, provider):
        super().register(provider)
        lane = self._core.registered[provider.name]
        lane.provider = self.through(provider, self)


class OtherLane(MemoryProviderRegistry):
    lane = ProviderLane

    def register(self, provider):
        super().register(provider)
        self._core.registered[provider.name].__class__ = self.lane


class Sending(Agent):
    """An agent whose request of a turn is made by one method."""

    def recall(self, user_message, messages):
        self.recalled = super().recall(user_message, messages)
        return self.recalled

    def start(self, session):
        super().start(session)

        def said(messages):
            *before, last = messages
            words = strip_memory_context(last["content"])
            return session.model(self.request(before, words, last["content"]))

        self._model = said

    def request(self, before, words, content):
        return [*before, {"role": "user", "content": content}]


class _Anew(Gather):
    """A gather whose time begins again with each answer."""

    def no_longer_expects(self, call):
        self.until = self.clock.now() + self.budget_s
        super().no_longer_expects(call)


class WallClock(MonotonicClock):
    def now(self):
        return time.time()

    def wait(self, condition, until):
        condition.wait(min(max(until - time.time(), 0.0), 0.05))


def sliding(method):
    """The method of a registry, whose deadline moves with each answer."""
    return _gathering(method, lambda core, budget_s: _Anew(core.clock, budget_s))


def by_the_wall_clock(method, clock=WallClock):
    """The method of a registry, whose deadline is a time of the day."""
    return _gathering(method, lambda core, budget_s: Gather(clock(), budget_s))


class LateLane(ProviderLane):
    """Counts the calls of a provider that were given up, and have returned."""

    was_late = 0

    def tell(self, hook, outcome, *args, **more):
        self.was_late += outcome == "late_answer"
        super().tell(hook, outcome, *args, **more)


def leaving_out(method, times):
    """The method of a registry of such lanes, without those that were late so often."""

    def act(self, *args, **kwargs):
        core, lanes = self._core, self._core.lanes
        core.lanes = tuple(lane for lane in lanes if lane.was_late < times)
        try:
            return getattr(MemoryProviderRegistry, method)(self, *args, **kwargs)
        finally:
            core.lanes = lanes

    return act


def _gathering(method, make):
    def act(self, *args, **kwargs):
        core = self._core
        core.gather = lambda budget_s: make(core, budget_s)
        try:
            return getattr(MemoryProviderRegistry, method)(self, *args, **kwargs)
        finally:
            del core.gather

    return act
