// A memory of OpenClaw as its author would write it: one file of JSON lines in the state directory.

import fs from "node:fs";
import path from "node:path";
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";

const MOST = 12;
const COMMON = new Set("a an and are did do does for have i in is it my of on that the to was what where which who".split(" "));

function words(text) {
  return new Set((text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => !COMMON.has(word)));
}

function textOf(message) {
  const parts = typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
  return parts.filter((part) => part.type === "text").map((part) => part.text).join("\n");
}

class Store {
  constructor(file) {
    this.file = file;
  }

  rows() {
    if (!fs.existsSync(this.file)) return [];
    const lines = fs.readFileSync(this.file, "utf8").split("\n");
    const found = [];
    for (const line of lines) {
      try {
        found.push(JSON.parse(line));
      } catch {
        // A line that a crash cut short.
      }
    }
    return found;
  }

  add(row) {
    fs.mkdirSync(path.dirname(this.file), { recursive: true, mode: 0o700 });
    const descriptor = fs.openSync(this.file, "a", 0o600);
    try {
      const bytes = Buffer.from(`\n${JSON.stringify(row)}\n`);
      for (let sent = 0; sent < bytes.length; ) sent += fs.writeSync(descriptor, bytes, sent);
      fs.fsyncSync(descriptor);
    } finally {
      fs.closeSync(descriptor);
    }
  }

  search(query, owner) {
    const asked = words(query);
    return this.rows()
      .filter((row) => row.owner === owner)
      .map((row) => ({ row, score: [...words(row.text)].filter((word) => asked.has(word)).length }))
      .filter((found) => found.score > 0)
      .sort((one, other) => other.score - one.score)
      .slice(0, MOST)
      .map((found) => found.row.text);
  }
}

export function larder({ storeFor = (store) => store, ownerOf = (ctx) => ctx.senderId ?? "" } = {}) {
  return definePluginEntry({
    id: "openclaw-larder",
    name: "Larder",
    register(api) {
      const state = api.runtime.state.resolveStateDir();
      const store = storeFor(new Store(path.join(state, "larder", "memories.jsonl")), api);
      const known = new Map();

      api.on("before_prompt_build", async (event, ctx) => {
        const found = store.search(event.prompt, ownerOf(ctx));
        if (found.length === 0) return undefined;
        return { prependContext: `Memories of earlier talks:\n${found.map((text) => `- ${text}`).join("\n")}` };
      });

      api.on("agent_end", async (event, ctx) => {
        // A turn of a job or of a subagent is nothing that the user said.
        if (!event.success || ctx.trigger !== "user" || ctx.sessionKey.includes(":subagent:")) return;
        // Each turn brings the whole conversation.
        const before = known.get(ctx.sessionKey) ?? 0;
        known.set(ctx.sessionKey, event.messages.length);
        for (const message of event.messages.slice(before)) {
          const text = textOf(message);
          if (message.role === "user" && text.trim()) store.add({ owner: ownerOf(ctx), text });
        }
      });

      api.on("session_start", async (event) => {
        known.set(event.sessionKey, 0);
      });
    },
  });
}

export default larder();
