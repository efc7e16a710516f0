"""The mcp provider with agent-logbook, a memory server from PyPI that serves by FastMCP."""

import subprocess
import sys
import venv

import pytest

from tests.mcp.real import judged, remembers

#: The server's own: it runs under the release of the SDK that it was written for.
PACKAGES = ("agent-logbook==0.1.1", "mcp==1.30.0")


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    """A server in a virtual environment of its own, whatever the provider runs under."""
    folder = tmp_path_factory.mktemp("logbook")
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    words = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES]
    subprocess.run(words, check=True, timeout=300, stdout=sys.stderr)
    return {
        "command": [python, "-P", "-m", "agent_logbook.server", "--db", "{home}/{user}.db"],
        "search_tool": "recall",
        "search_by": "words",
        # It leaves out what has no room in it, and the kit stores a turn of 100,000 characters.
        "search_arguments": {"query": "{query}", "budget_tokens": 200_000},
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
