"""
The operations of the specification and the native hooks that serve them.

Requirements cite operations; adapters, loaders and messages are driven by this one table, which
`spec/v1/20-operations.md` shows to a reader beside the hooks of the Hermes binding. The hooks of
each other binding stand in its own table, by operation; see `memproto.bindings`.
"""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Operation:
    """
    One thing that a host asks of a provider.

    Attributes:
        name: The specification's word for it.
        native: The hook of `MemoryProvider`, or of the extension.
        extension: The extension that it belongs to, or "" for the core.

    """

    name: str
    native: str
    extension: str = ""


_TABLE = (
    Operation("name", "name"),
    Operation("available", "is_available"),
    Operation("open", "initialize"),
    Operation("declare", "capabilities"),
    Operation("recall", "enrich_turn"),
    Operation("record", "on_turn_complete"),
    Operation("mirror", "on_memory_write"),
    Operation("compress", "on_compress"),
    Operation("close", "shutdown"),
    Operation("tools", "get_tool_schemas", "tools"),
    Operation("call_tool", "handle_tool_call", "tools"),
    Operation("prewarm", "queue_prefetch", "prewarm"),
    Operation("turn_start", "on_turn_start", "turns"),
    Operation("end", "on_session_end", "sessions"),
    Operation("switch", "on_session_switch", "sessions"),
    Operation("delegation", "on_delegation", "delegation"),
    Operation("config_schema", "get_config_schema", "config"),
    Operation("save_config", "save_config", "config"),
    Operation("backup", "backup_paths", "backup"),
    Operation("prompt", "system_prompt_block", "prompt"),
    Operation("status", "recall_status", "status"),
    Operation("unavailable_reason", "unavailable_reason", "status"),
    Operation("compress_notes", "compress_notes", "compress_notes"),
    Operation("record_turn", "record", "record"),
    Operation("items", "recall_items", "items"),
    Operation("export", "export", "privacy"),
    Operation("forget", "forget", "privacy"),
)

#: Operation name to its row.
OPERATIONS: dict[str, Operation] = {row.name: row for row in _TABLE}

#: The nine members of `MemoryProvider`, in the order of a session's life.
CORE_HOOKS: tuple[str, ...] = tuple(row.native for row in _TABLE if not row.extension)

#: Extension name to the hooks that a provider serving it has.
EXTENSION_HOOKS: dict[str, tuple[str, ...]] = {
    "tools": ("get_tool_schemas", "handle_tool_call"),
    "prewarm": ("queue_prefetch",),
    "turns": ("on_turn_start",),
    "sessions": ("on_session_end", "on_session_switch"),
    "delegation": ("on_delegation",),
    "config": ("get_config_schema", "save_config"),
    "backup": ("backup_paths",),
    "prompt": ("system_prompt_block",),
    "status": ("recall_status", "unavailable_reason"),
    "compress_notes": ("compress_notes",),
    "checkpoint": ("on_compress",),
    "record": ("record",),
    "items": ("recall_items",),
    "privacy": ("export", "forget"),
}
