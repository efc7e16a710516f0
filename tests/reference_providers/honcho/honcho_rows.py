"""The rows of the compatibility tables, and the mark by which a test names those that it holds."""

#: Pieces from which the interface was designed, as its table calls them.
SEEDS = (
    "HonchoClientConfig.from_global_config() check",
    "_activate_honcho()",
    "Honcho tool docs + CLI commands",
    "Prefetched user representation + peer card baked into system prompt",
    "Per-turn dialectic result consumed from cache",
    "Tool visibility gated by recall_mode",
    "_honcho_save_user_observation()",
    "_honcho_sync() + _queue_honcho_prefetch()",
    "_flush_honcho_on_exit() via atexit",
    "Per-peer memory mode gating",
    "honcho-only mode skips flush_memories()",
    "Gateway shared HonchoSessionManager",
    "run_agent.py honcho_manager param",
    "unchanged: honcho.json",
    "unchanged: recall modes",
    "unchanged: session strategies",
    "unchanged: write frequency modes",
    "unchanged: gateway shared manager pattern",
)

#: Measured behaviour of the integration, and its defects, which are not to come back.
MEASURED = (
    "recallMode",
    "tools mode init",
    "sessionStrategy",
    "name priority",
    "id sanitising",
    "writeFrequency",
    "retry of async writer",
    "observation",
    "observer routing",
    "user peer identity",
    "context cadence / injectionFrequency",
    "dialectic",
    "dialectic depth",
    "reasoning level",
    "budgets",
    "first-turn waits",
    "timeouts",
    "lifecycle",
    "migration",
    "config places",
    "base block headings",
    "tools",
    "defect 1: poisoned batch",
    "defect 2: duplicates",
    "defect 3: writeFrequency and saveMessages without effect",
    "defect 4: tool call while initialising",
    "defect 5: another release of the SDK",
)

ROWS = frozenset([f"seeds: {name}" for name in SEEDS] + [f"measured: {name}" for name in MEASURED])


def row(name):
    """Have a test hold a row."""
    assert name in ROWS, name

    def mark(test):
        test.rows = (*getattr(test, "rows", ()), name)
        return test

    return mark
