"""`memproto serve`: the transcripts, prints of providers, Hermes plugins, MCP, and bad usage."""

import json
import subprocess
import sys

import pytest

from memproto.wire import WireProvider
from tests.kit_runs import ROOT
from tests.wire import fuzzing, servers, transcripts

#: -P: the working directory may be a checkout, whose `memproto` is not the installed one.
MEMPROTO = (sys.executable, "-P", "-m", "memproto")

#: Targets that are served, with the things that they lack for some transcripts.
SERVED = {"builtin": {"turns"}, "sqlite": set(), "tests.good.journal:Journal": set()}


@pytest.mark.parametrize("path", transcripts.TRANSCRIPTS, ids=lambda path: path.stem)
@pytest.mark.parametrize("target", SERVED)
def test_each_transcript_fits_a_served_provider(target, path, monkeypatch):
    if transcripts.needs(path) & SERVED[target]:
        assert target == "builtin"
        return
    monkeypatch.chdir(ROOT)
    with transcripts.replaying([*MEMPROTO, "serve", target]) as replay:
        replay.play(path)


def test_a_transcript_finds_a_server_that_differs(monkeypatch):
    monkeypatch.chdir(ROOT)
    words = [sys.executable, "-m", "tests.good.wired", "tests.broken.provider.wire"]
    for kind, name in (("WritesABanner", "states"), ("SpeaksAnyVersion", "version")):
        path = transcripts.FOLDER / f"{name}.jsonl"
        with (
            transcripts.replaying([*words, kind]) as replay,
            pytest.raises(transcripts.Differs, match=rf"{name}.jsonl:\d+"),
        ):
            replay.play(path)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("target", SERVED)
def test_no_line_of_any_shape_ends_it(target, seed):
    command = [*MEMPROTO, "serve", target]
    fuzzing.assert_outlived(command, fuzzing.lines(seed, 2_000), cwd=ROOT)


def test_prints_of_a_provider_and_its_programs_are_no_messages(tmp_path):
    provider = servers.Prints()
    provider.initialize("s1", {"home": str(tmp_path), "limits": {}, "protocol": {}})
    assert provider.enrich_turn("Where?", []) is None
    said = provider._connection.program
    faults = provider._connection.faults
    provider.shutdown()
    assert faults == []
    assert "printed by the provider" in said._kept.text()
    assert "printed by a program" in said._kept.text()


def test_a_hermes_provider_is_served(tmp_path):
    (tmp_path / "plain.py").write_text(
        "import json, pathlib\n"
        "class Plain:\n"
        "    name = 'plain'\n"
        "    def is_available(self): return True\n"
        "    def initialize(self, session_id, **kwargs):\n"
        "        self.path = pathlib.Path(kwargs['hermes_home'], 'plain.txt')\n"
        "    def get_tool_schemas(self): return []\n"
        "    def prefetch(self, query, *, session_id=''):\n"
        "        return self.path.read_text() if self.path.exists() else ''\n"
        "    def sync_turn(self, user, assistant, *, session_id=''):\n"
        "        self.path.open('a').write(user + '\\n')\n"
        "    def shutdown(self): pass\n"
    )
    provider = WireProvider([*MEMPROTO, "serve", "plain:Plain"], cwd=tmp_path)
    assert provider.name == "plain"
    provider.initialize("s1", {"home": str(tmp_path), "protocol": {}, "limits": {}})
    provider.on_turn_complete("My boat is in Velbellogren.", "Noted.")
    assert "Velbellogren" in provider.enrich_turn("Where is my boat?", [])
    provider.shutdown()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no.such.module"], "there is no module"),
        (["builtin", "--mcp"], "--mcp needs --home"),
        (["builtin", "--home", "x"], "--home is for --mcp"),
        ([], "usage"),
    ],
)
def test_bad_usage_is_one_message_and_exit_4(words, said):
    done = subprocess.run([*MEMPROTO, "serve", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert said in done.stderr
    assert done.stdout == ""


# -- MCP -------------------------------------------------------------------------------------------


def mcp(tmp_path, *messages):
    """The answers of `serve builtin --mcp` to messages, by id."""
    text = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    done = subprocess.run(
        [*MEMPROTO, "serve", "builtin", "--mcp", "--home", str(tmp_path / "home")],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    return {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}


ADD = {"action": "add", "target": "memory", "content": "My boat is in Velbellogren."}


def test_an_mcp_client_gets_the_tools_and_nothing_else(tmp_path):
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}
    found = mcp(
        tmp_path,
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {"id": 3, "method": "tools/call", "params": {"name": "memory", "arguments": ADD}},
        {"id": 4, "method": "tools/call", "params": {"name": "record", "arguments": {}}},
        {"id": 5, "method": "record", "params": {}},
    )
    assert found[1]["result"]["protocolVersion"] == "2025-06-18"
    (tool,) = found[2]["result"]["tools"]
    assert (tool["name"], tool["inputSchema"]["type"]) == ("memory", "object")
    assert found[3]["result"]["isError"] is False
    assert found[4]["error"]["code"] == -32602
    assert found[5]["error"]["code"] == -32601
    stored = [path.read_text("utf-8") for path in (tmp_path / "home").rglob("*.md")]
    assert any("Velbellogren" in text for text in stored)


def test_an_mcp_client_without_a_handshake_is_served_too(tmp_path):
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    old = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}}
    call = {"name": "memory", "arguments": {"action": "fly", "target": "memory"}, **meta}
    found = mcp(
        tmp_path,
        {"id": 1, "method": "server/discover", "params": meta},
        {"id": 2, "method": "tools/list", "params": meta},
        {"id": 3, "method": "tools/call", "params": call},
        {"id": 4, "method": "tools/list", "params": old},
    )
    assert found[1]["result"]["supportedVersions"] == ["2026-07-28"]
    assert found[2]["result"]["resultType"] == "complete"
    assert found[3]["result"]["isError"] is True
    assert found[4]["error"]["code"] == -32022
