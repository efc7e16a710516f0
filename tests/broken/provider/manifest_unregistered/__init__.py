"""A plugin that registers at initialize, and one of the hooks under another name than it says."""

from typing import Any

from tests.broken.marks import mutant
from tests.good.registering import Registering


@mutant(kills="MP-PLUG-002", says="has no pre_llm_call", report="K1")
def register(ctx: Any) -> None:
    ctx.register_memory_provider(RegistersAnother(ctx))


class RegistersAnother(Registering):
    def initialize(self, session_id: str, **kwargs: Any) -> None:
        Registering.__mro__[1].initialize(self, session_id, **kwargs)
        self._ctx.register_hook("pre_llm_calls", self._pre_llm_call)
        self._ctx.subscribe("on_context_shift", self._pre_llm_call)


def on_gateway_start(**_: Any) -> None:
    """A host that goes by the manifest takes it from here."""
