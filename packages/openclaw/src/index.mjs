// A memory plugin of OpenClaw over any provider that memproto can load.

import os from "node:os";
import path from "node:path";
import { assistantText, latestTurn, translated } from "./messages.mjs";
import { Session } from "./session.mjs";
import { Tools } from "./tools.mjs";

const ID = "memproto";

// The one tool whose name the manifest holds: OpenClaw takes no tool that it does not name.
const TOOL = "memory_provider";

// Milliseconds within which OpenClaw ends a turn's hooks; ours end before.
const DEFAULTS = { program: "memproto", openMs: 12_000, recallMs: 8_000, recordMs: 20_000, mostOpen: 8 };

// The trigger of a run to the context of a session.
const CONTEXTS = { cron: "cron", heartbeat: "cron", memory: "flush" };

function stateDir() {
  return process.env.OPENCLAW_STATE_DIR || path.join(os.homedir(), ".openclaw");
}

function settingsOf(api) {
  const given = api.pluginConfig ?? {};
  const { target } = given;
  if (typeof target !== "string" || !target.trim()) {
    throw new Error(`${ID}: name the provider in plugins.entries.${ID}.config.target, as for \`memproto serve TARGET\``);
  }
  return { ...DEFAULTS, home: path.join(stateDir(), ID), env: {}, ...given };
}

// The keys of a session's config for a provider, by the context of a hook.
function configOf(settings, ctx) {
  const isChild = String(ctx.sessionKey ?? "").split(":").includes("subagent");
  const config = {
    home: path.resolve(settings.home),
    protocol: {
      version: "1.0",
      host: "openclaw",
      hooks: ["enrich_turn", "on_turn_complete", "on_compress", "on_session_end", "get_tool_schemas", "handle_tool_call"],
      contexts: ["primary", "subagent", "cron", "flush"],
    },
    deadlines: { enrich_s: settings.recallMs / 1000, compress_s: 100, shutdown_s: 15, initialize_s: settings.openMs / 1000 },
    limits: {},
    platform: String(ctx.messageProvider ?? ctx.channel ?? "openclaw"),
    agent_context: isChild ? "subagent" : (CONTEXTS[ctx.trigger] ?? "primary"),
  };
  if (ctx.agentId) config.agent_identity = String(ctx.agentId);
  if (ctx.senderId) config.user_id = String(ctx.senderId);
  return config;
}

class Memory {
  #sessions = new Map();
  #tools;
  #isStopped = false;

  constructor(settings, logger) {
    this.settings = settings;
    this.log = (level, text) => logger[level]?.(`${ID}: ${text}`);
    this.#tools = new Tools(settings, path.join(stateDir(), `${ID}.tools.json`), this.log);
  }

  // A session of a user: what a provider keeps apart is kept apart by its own promise.
  #nameOf(ctx) {
    return JSON.stringify([ctx.agentId ?? "", ctx.sessionId ?? ctx.sessionKey ?? "", ctx.senderId ?? ""]);
  }

  // The session of a context; it is opened where it is not open, and again if its provider hangs.
  of(ctx) {
    if (this.#isStopped) throw new Error(`${ID}: the gateway has stopped`);
    const name = this.#nameOf(ctx);
    let found = this.#sessions.get(name);
    if (found === undefined) {
      const key = String(ctx.sessionId ?? ctx.sessionKey ?? "main");
      found = new Session({ key, config: configOf(this.settings, ctx), settings: this.settings, log: this.log });
      const session = found;
      session.opened.then(
        () => this.#tools.learn(session.tools),
        // The next turn tries anew.
        () => this.#drop(name, session),
      );
    }
    this.#sessions.delete(name);
    this.#sessions.set(name, found);
    this.#makeRoom();
    return found;
  }

  #drop(name, session) {
    if (this.#sessions.get(name) === session) this.#sessions.delete(name);
    return session.close();
  }

  // Those that were used the longest ago end first; what they accepted is stored.
  #makeRoom() {
    for (const [name, session] of this.#sessions) {
      if (this.#sessions.size <= this.settings.mostOpen) return;
      void this.#drop(name, session);
    }
  }

  // All sessions of a context's id, whoever was their user.
  #ofSession(ctx) {
    const id = ctx.sessionId ?? ctx.sessionKey ?? "";
    return [...this.#sessions].filter(([name]) => JSON.parse(name)[1] === id);
  }

  async recall(event, ctx) {
    const question = event.currentUserMessage ?? event.prompt;
    if (typeof question !== "string" || !question.trim()) return undefined;
    try {
      const context = await this.of(ctx).recall(question, translated(event.messages ?? []));
      return context ? { prependContext: context } : undefined;
    } catch (error) {
      this.log("warn", `nothing is recalled: ${error.message}`);
      return undefined;
    }
  }

  // Rejects if the turn was not stored: OpenClaw writes that to its log, and nothing else does.
  async record(event, ctx) {
    const turn = event.success === false ? null : latestTurn(event.messages ?? []);
    if (turn !== null) await this.of(ctx).record(turn.said, assistantText(turn.answers));
  }

  async compress(event, ctx) {
    if (event.messages?.length) await this.of(ctx).compress(translated(event.messages));
  }

  // `messages` are known before a reset alone.
  async end(event, ctx) {
    const told = translated(event.messages ?? []);
    await Promise.all(this.#ofSession(ctx).map(([, session]) => session.end(told)));
  }

  async close(ctx) {
    await Promise.all(this.#ofSession(ctx).map(([name, session]) => this.#drop(name, session)));
  }

  async stop() {
    this.#isStopped = true;
    await Promise.all([...this.#sessions].map(([name, session]) => this.#drop(name, session)));
  }

  // The tools of the provider under the name that the manifest has, or null if it has none.
  tool(ctx) {
    const { known } = this.#tools;
    if (known.length === 0) return null;
    const names = known.map((tool) => tool.name);
    const lines = known.map(
      (tool) => `${tool.name}: ${tool.description}\nargs: ${JSON.stringify(tool.parameters)}`,
    );
    return {
      name: TOOL,
      label: "Memory",
      description: ["Calls a tool of the long-term memory.", ...lines].join("\n\n"),
      parameters: {
        type: "object",
        properties: {
          tool: { type: "string", enum: names, description: "The tool." },
          args: { type: "object", description: "Its arguments, as the description says.", additionalProperties: true },
        },
        required: ["tool", "args"],
      },
      execute: async (_id, { tool, args }) => {
        const given = { ...ctx, senderId: ctx.requesterSenderId, messageProvider: ctx.messageChannel };
        const text = await this.of(given).call(String(tool), args ?? {});
        return { content: [{ type: "text", text }] };
      },
    };
  }
}

export default {
  id: ID,
  name: "memproto",
  description: "Memory by any provider that memproto can load",
  kind: "memory",
  register(api) {
    const memory = new Memory(settingsOf(api), api.logger);
    api.on("session_start", (_event, ctx) => memory.of(ctx).opened);
    api.on("before_prompt_build", (event, ctx) => memory.recall(event, ctx));
    api.on("agent_end", (event, ctx) => memory.record(event, ctx));
    api.on("before_compaction", (event, ctx) => memory.compress(event, ctx));
    api.on("before_reset", (event, ctx) => memory.end(event, ctx));
    api.on("session_end", (_event, ctx) => memory.close(ctx));
    api.on("gateway_stop", () => memory.stop());
    api.registerTool((ctx) => memory.tool(ctx), { names: [TOOL] });
    api.registerService({ id: ID, start: () => {}, stop: () => memory.stop() });
  },
};
