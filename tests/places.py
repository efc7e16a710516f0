"""
Which tests run where: on each Python, once, or in an environment of their own.

MEMPROTO_PART chooses, as tox.ini sets it: `each` is for every Python, `once` for the newest.
Without it pytest runs what it is asked for.
"""

from pathlib import Path

#: Folders with an environment of their own in tox.ini.
APART = ("browser", "frameworks", "honcho", "hostile", "mcp", "mentisdb", "wild")

#: What takes long and does not depend on the Python: whole runs of the kit, what waits, the broken
#: providers, what is about documents.
ONCE = (
    "test_action.py",
    "test_bindings.py",
    "test_builtin_entries.py",
    "test_check_trace.py",
    "test_checks_of_faults.py",
    "test_checks_of_resources.py",
    "test_checks_of_text.py",
    "test_docs.py",
    "test_docs_reports.py",
    "test_docs_settings.py",
    "test_example_agent.py",
    "test_example_verdicts.py",
    "test_explain.py",
    "test_export.py",
    "test_fault_servers.py",
    "test_fault_standins.py",
    "test_fence_spots.py",
    "test_honcho_failures.py",
    "test_hostile.py",
    "test_hosts_kinds.py",
    "test_judge.py",
    "test_keeping.py",
    "test_kill_matrix.py",
    "test_lifecycle.py",
    "test_losses.py",
    "test_no_session.py",
    "test_paths.py",
    "test_noise.py",
    "test_one_count.py",
    "test_oracle.py",
    "test_plugin_runs.py",
    "test_plugin_usage.py",
    "test_registry_aio_orders.py",
    "test_registry_session_orders.py",
    "test_registry_wall_clock.py",
    "test_replay_runs.py",
    "test_report_merge.py",
    "test_report_runs.py",
    "test_report_verify.py",
    "test_roots.py",
    "test_scaffold.py",
    "test_scaffold_runs.py",
    "test_settings_runs.py",
    "test_site.py",
    "test_spec.py",
    "test_spec_examples.py",
    "test_ten_minutes.py",
    "test_traces.py",
    "test_traces_of_hosts.py",
    "test_unavailable.py",
    "test_waive_command.py",
    "test_walltime.py",
)


def left_out(part: str, folder: Path) -> list[str]:
    """The names in the folder of tests that a part does not run."""
    if part == "each":
        return [*APART, *ONCE]
    if part == "once":
        return [*APART, *({path.name for path in folder.glob("test_*.py")} - {*ONCE})]
    return []
