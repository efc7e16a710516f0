"""The mcp provider with the reference memory server of the protocol's makers, from npm."""

import shutil
import subprocess

import pytest

from tests.mcp.real import FERRY, judged, remembers
from tests.mcp.servers import session

PACKAGE = "@modelcontextprotocol/server-memory"
VERSION = "2026.8.31"


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    """As in docs/mcp.md, with the server installed beforehand."""
    folder = tmp_path_factory.mktemp("npm")
    npm = shutil.which("npm")
    assert npm is not None, "this environment needs npm"
    words = [npm, "install", "--no-audit", "--no-fund", f"{PACKAGE}@{VERSION}"]
    subprocess.run(words, cwd=folder, check=True, timeout=300, capture_output=True)
    server = folder / "node_modules" / PACKAGE / "dist" / "index.js"
    entity = {"name": "{id}", "entityType": "{source}", "observations": ["{text}"]}
    return {
        "command": ["node", str(server)],
        "env": {"MEMORY_FILE_PATH": "{home}/{user}.jsonl"},
        "search_tool": "search_nodes",
        "search_by": "words",
        "found": "entities.observations",
        "store_tool": "create_entities",
        "store_arguments": {"entities": [entity]},
        "look_up": "{id}",
        "expose": ["read_graph", "create_relations"],
        "start_s": 60,
    }


def test_what_a_session_stored_another_one_recalls(tmp_path, settings):
    remembers(tmp_path, settings)


def test_its_tools_are_offered_and_answer(tmp_path, settings):
    with session({"home": str(tmp_path), "mcp": settings}) as memory:
        memory.on_turn_complete(FERRY, "")
        offered = {schema["name"]: schema for schema in memory.get_tool_schemas()}
        relations = offered["mcp_create_relations"]["parameters"]["properties"]["relations"]
        assert relations["items"]["required"] == ["from", "to", "relationType"]
        assert FERRY in memory.handle_tool_call("mcp_read_graph", {})


def test_the_kit_judges_the_provider_with_this_server(tmp_path, settings):
    told = judged(tmp_path, settings)
    assert " 0 failed" in told or "5 passed" in told, told
    assert "exit code 0" in told, told
