"""Hosts that are broken at registration and at the start of a session."""

import re

from memproto.errors import NotAProvider
from memproto.operations import CORE_HOOKS
from memproto.registry import MemoryProviderRegistry
from memproto.types import is_label
from tests.broken.host.parts import Through
from tests.broken.marks import mutant


class _Renamed(Through):
    @property
    def name(self):
        return re.sub(r"[^a-z0-9]+", "-", str(self.inner.name).lower()).strip("-")[:64] or "memory"


@mutant(kills="MP-HOST-REG-001", says="register took it", report="F3")
class RepairsNames(MemoryProviderRegistry):
    def register(self, provider):
        bad = hasattr(provider, "name") and not is_label(provider.name)
        super().register(_Renamed(provider, self) if bad else provider)


@mutant(kills="MP-HOST-REG-002", says="register took it", report="K1")
class TheLastOneWins(MemoryProviderRegistry):
    def register(self, provider):
        self._core.registered.pop(getattr(provider, "name", None), None)
        super().register(provider)


class _Filled(Through):
    def __getattr__(self, name):
        nothing = "memory" if name == "name" else lambda *args: None
        return getattr(self.inner, name, nothing)


@mutant(kills="MP-HOST-REG-003", says="an object without `name`", report="H3")
class FillsInWhatIsMissing(MemoryProviderRegistry):
    def register(self, provider):
        partial = not all(hasattr(provider, hook) for hook in CORE_HOOKS)
        super().register(_Filled(provider, self) if partial else provider)


@mutant(kills="MP-HOST-REG-002", says="register took it", report="G4")
class ComparesWithTheLastNameOnly(MemoryProviderRegistry):
    def register(self, provider):
        known = self._core.registered
        self._core.registered = dict([*known.items()][-1:])
        try:
            super().register(provider)
        finally:
            self._core.registered = known | self._core.registered


@mutant(kills="MP-HOST-REG-003", says="is not named", report="K1")
class NamesOneOfTheMissing(MemoryProviderRegistry):
    def register(self, provider):
        try:
            super().register(provider)
        except NotAProvider as error:
            raise NotAProvider(str(error).partition(",")[0]) from None
