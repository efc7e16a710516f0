"""
A small good plugin of the Hermes binding whose manifest names more than its provider has.

One hook is registered when a session begins, one through what a newer host's context offers, and
one is a function that a host takes from the module.
"""

from typing import Any

from tests.good.plugged import Plugged


class Registering(Plugged):
    """Keeps the context of its plugin, and registers by it in initialize."""

    name = "registering"

    def __init__(self, ctx: Any) -> None:
        super().__init__()
        self._ctx = ctx

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        super().initialize(session_id, **kwargs)
        self._ctx.register_hook("pre_llm_call", self._pre_llm_call)
        if hasattr(self._ctx, "subscribe"):
            self._ctx.subscribe("on_context_shift", self._pre_llm_call)

    @staticmethod
    def _pre_llm_call(**_: Any) -> None:
        """Has nothing to add."""


def on_gateway_start(**_: Any) -> None:
    """A host that goes by the manifest takes it from here."""


def register(ctx: Any) -> None:
    """Hand the provider to the host."""
    ctx.register_memory_provider(Registering(ctx))
