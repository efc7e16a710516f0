"""The stores of tests/bindings on the base class of the installed strands-agents."""

from strands.memory import MemoryStore

from tests.bindings import strands_stores


class Notes(strands_stores.Ledger, MemoryStore):
    """A good one."""


class LosesTheLast(strands_stores.LosesTheLast, MemoryStore):
    """Writes a turn when the next one comes."""


class Hangs(strands_stores.Hangs, MemoryStore):
    """Waits for a backend that never answers."""
