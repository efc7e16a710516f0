"""Material of broken hosts: the reference registry with providers behind a wrapper."""

from memproto.registry import MemoryProviderRegistry
from memproto.registry.calls.lanes import ProviderLane


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
