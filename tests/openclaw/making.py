"""Plugins of OpenClaw that tests write, and a provider of one without the kit."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memproto import loading
from memproto.bindings.openclaw_plugin import OpenClawProvider

PLUGINS = Path(__file__).parent / "plugins"


def plugin(directory: Path, body: str, *, entry: str = "index.js", **package: Any) -> str:
    """The target of a plugin whose entry file is `body`."""
    place = directory / "plugin"
    place.mkdir(parents=True, exist_ok=True)
    told = {"name": "@acme/openclaw-tried", "version": "1.2.3", "type": "module"}
    told |= {"openclaw": {"extensions": [f"./{entry}"]}, **package}
    (place / "package.json").write_text(json.dumps(told), "utf-8")
    (place / "openclaw.plugin.json").write_text('{"id": "tried", "kind": "memory"}', "utf-8")
    (place / entry).write_text(body, "utf-8")
    return f"openclaw:{place}"


def registering(body: str) -> str:
    """An entry file that registers what `body` says."""
    return f"export default {{ id: 'tried', register(api) {{\n{body}\n}} }};\n"


def built(target: str, /, **settings: Any) -> OpenClawProvider:
    """The provider of a target, as a host builds it, with the plugin's own settings."""
    provider = loading.load(target).build()
    assert isinstance(provider, OpenClawProvider)
    provider.configure({"plugin": settings})
    return provider


@contextlib.contextmanager
def opened(
    target: str, home: Path, session: str = "s1", *, plugin: Any = None, **config: Any
) -> Iterator[OpenClawProvider]:
    """A session of a plugin that is closed behind the body."""
    home.mkdir(parents=True, exist_ok=True)
    base = {"home": str(home), "protocol": {}, "deadlines": {}, "limits": {}, "platform": "cli"}
    provider = built(target, **(plugin or {}))
    provider.initialize(session, {**base, "plugin": plugin or {}, **config})
    try:
        yield provider
    finally:
        provider.shutdown()


#: Writes each event that it is told, with its context, to a file of the state directory.
RECORDER = """
import fs from "node:fs";
import path from "node:path";
export default (api) => {
  const file = path.join(api.runtime.state.resolveStateDir(), "events.jsonl");
  const note = (name) => (event, ctx) => {
    fs.appendFileSync(file, `${JSON.stringify({ name, event, ctx })}\\n`);
  };
  for (const name of ["session_start", "session_end", "before_reset", "agent_end", "gateway_start",
    "before_prompt_build", "before_compaction", "subagent_ended", "gateway_stop"]) {
    api.on(name, note(name));
  }
  api.registerService({ id: "s", start: note("start"), stop: note("stop") });
};
"""


def events(home: Path) -> list[dict[str, Any]]:
    """The events that `RECORDER` was told in a home."""
    lines = (home / ".openclaw" / "events.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]
