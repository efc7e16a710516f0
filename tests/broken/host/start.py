"""Hosts that start a session wrongly, or write in contexts in which they must not."""

from memproto.registry import MemoryProviderRegistry
from tests.broken.host.parts import Through, Wrapping
from tests.broken.marks import mutant


class _Unbounded(Through):
    def initialize(self, session_key, config):
        config.pop("deadlines")
        self.inner.initialize(session_key, config)


@mutant(kills="MP-HOST-INIT-003", says="`deadlines` in the config", report="B3")
class KeepsItsDeadlinesToItself(Wrapping):
    through = _Unbounded


class _AlwaysPrimary(Through):
    def initialize(self, session_key, config):
        self.inner.initialize(session_key, config | {"agent_context": "primary"})


@mutant(kills="MP-HOST-INIT-004", says="'cron'", report="hermes#80646")
class SaysPrimaryInEveryContext(Wrapping):
    through = _AlwaysPrimary


class _OneUser(Through):
    def initialize(self, session_key, config):
        self.inner.initialize(session_key, config | {"user_id": "default"})


@mutant(kills="MP-HOST-INIT-004", says="'telegram:ines'", report="hermes#5895")
class GivesAllUsersOneId(Wrapping):
    through = _OneUser


@mutant(kills="MP-HOST-INIT-005", says="a call of `forget`", report="A3")
class NamesAHookThatItNeverCalls(MemoryProviderRegistry):
    def forget(self, scope):
        return []


@mutant(kills="MP-HOST-CTX-001", says="in the context 'cron'", report="hermes#80646")
class WritesInEveryContext(MemoryProviderRegistry):
    def initialize_all(self, session_key, config):
        super().initialize_all(session_key, config)
        self._core.writes_are_called = True


@mutant(kills="MP-HOST-BACKUP-001", says="before a session", report="K5")
class KnowsPathsInASessionOnly(MemoryProviderRegistry):
    def backup_paths(self):
        return super().backup_paths() if self._core.lanes else []
