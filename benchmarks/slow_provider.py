"""
Providers of this project whose hooks wait, as those of a remote backend do.

    from benchmarks.slow_provider import Builtin, Sqlite

SLOW_MS in the setting `env` is the time in milliseconds, 100 unless it is said.
"""

import os
import time
from collections.abc import Callable
from typing import Any

from memproto.reference_providers.builtin import BuiltinMemoryProvider
from memproto.reference_providers.sqlite import SqliteMemoryProvider

#: The hooks that a remote backend serves.
HOOKS = (
    *("initialize", "shutdown", "enrich_turn", "on_memory_write", "on_turn_complete"),
    *("on_compress", "handle_tool_call", "system_prompt_block"),
)

_WAIT_S = float(os.environ.get("SLOW_MS", "100")) / 1_000


def _waiting(hook: Callable[..., Any]) -> Callable[..., Any]:
    def waits(self: Any, *arguments: Any, **keywords: Any) -> Any:
        time.sleep(_WAIT_S)
        return hook(self, *arguments, **keywords)

    return waits


class Builtin(BuiltinMemoryProvider):
    """The builtin provider; each hook of its backend takes longer."""


class Sqlite(SqliteMemoryProvider):
    """The sqlite provider; each hook of its backend takes longer."""


for kind in (Builtin, Sqlite):
    for name in HOOKS:
        setattr(kind, name, _waiting(getattr(kind, name)))
