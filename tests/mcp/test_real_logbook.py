"""The mcp provider with agent-logbook, a memory server from PyPI that serves by FastMCP."""

import sys

import pytest
from real import judged, remembers


@pytest.fixture
def settings():
    return {
        "command": [sys.executable, "-P", "-m", "agent_logbook.server", "--db", "{home}/{user}.db"],
        "search_tool": "recall",
        "search_by": "words",
        "search_arguments": {"query": "{query}", "budget_tokens": 20_000},
        "found": "memories.content",
        "store_tool": "remember",
        # Without force it asks back where an entity has a memory already.
        "store_arguments": {
            "type": "note",
            "content": "{text}",
            "entity": "{id}",
            "force": True,
        },
        "expose": ["memory_stats"],
        "start_s": 60,
    }


def test_what_a_session_stored_another_one_recalls(tmp_path, settings):
    remembers(tmp_path, settings)


def test_the_kit_judges_the_provider_with_this_server(tmp_path, settings):
    told = judged(tmp_path, settings)
    assert "exit code 0" in told, told
