"""A plugin whose plugin.yaml names hooks that it does not have, one of them a misspelt one."""

from tests.broken.marks import mutant
from tests.good.plugged import Plugged


@mutant(kills="MP-PLUG-002", says="has no on_memory_writes", report="rohitg00/agentmemory#486")
class HookIsMisspelt(Plugged):
    """Its manifest is the fault."""
