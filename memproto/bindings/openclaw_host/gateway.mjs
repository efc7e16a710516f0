// One gateway with one plugin: it starts with a session, fires the hooks of its turns, and stops.

import { randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { apiOf, Registrations } from "./api.mjs";
import { Refusal } from "./line.mjs";
import { imported } from "./loading.mjs";
import { MODEL, assistant, translated, user } from "./messages.mjs";
import { lacking } from "./sdk.mjs";

const AGENT = "main";

// The hooks by which a plugin learns what was said in a turn, beside `agent_end`.
const LISTENING = ["llm_input", "llm_output", "message_received", "message_sent", "message_sending"];

// The same among the events of `registerHook`.
const HEARING = ["message", "message:received", "message:sent", "message:preprocessed"];

// The hooks that bring context into a prompt, in the order in which they run.
const RECALLING = ["agent_turn_prepare", "before_agent_start", "before_prompt_build"];

// The keys of its answer that go into the prompt, in this order.
const CONTEXTS = [
  "systemPrompt",
  "prependSystemContext",
  "prependContext",
  "appendContext",
  "appendSystemContext",
];

// The context of a session, by the name that memproto has for it, to the trigger of its runs and to
// the words that its session key begins with.
const AT = {
  primary: ["user", []],
  subagent: ["user", ["subagent"]],
  cron: ["cron", ["cron"]],
  flush: ["memory", []],
};

// The text of a log line as the console would write it.
function written(told) {
  return told
    .map((item) => (item instanceof Error ? (item.stack ?? item.message) : item))
    .map((item) => (typeof item === "object" ? JSON.stringify(item) : String(item)))
    .join(" ");
}

// Wait for a handler for as long as its author set, as the host does.
function within(milliseconds, promise, expired) {
  if (!Number.isFinite(milliseconds) || milliseconds <= 0) return promise;
  let timer;
  const end = new Promise((done) => {
    timer = setTimeout(() => done(expired()), milliseconds);
  });
  return Promise.race([promise, end]).finally(() => clearTimeout(timer));
}

// The settings for one home: `{home}` in a text of them stands for its path.
function settingsFor(home, value) {
  if (typeof value === "string") return value.replaceAll("{home}", home);
  if (Array.isArray(value)) return value.map((item) => settingsFor(home, item));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, settingsFor(home, item)]));
}

function schemaOf(tool) {
  const { type = "object", properties = {}, ...rest } = tool.parameters ?? {};
  return {
    name: tool.name,
    description: tool.description ?? tool.label ?? "",
    parameters: { type, properties, ...rest },
  };
}

export class Gateway {
  constructor(plugin, log) {
    this.plugin = plugin;
    this.log = (level, told) => log(level, written(told));
    this.registered = null;
    this.isOpen = false;
    this.isStopped = false;
    this.session = null;
    this.heard = null;
    this.runs = 0;
  }

  // -- the start ----------------------------------------------------------------------------------

  // Register the plugin in a home, with the operator's settings for it.
  async register(home, settings) {
    if (this.registered !== null) return this.registered;
    const pluginConfig = settingsFor(home, settings);
    this.pluginConfig = pluginConfig;
    const state = path.join(home, ".openclaw");
    const workspace = path.join(state, "workspace");
    fs.mkdirSync(workspace, { recursive: true });
    process.env.HOME = home;
    process.env.OPENCLAW_HOME = home;
    process.env.OPENCLAW_STATE_DIR = state;
    this.config = this.#config(state, workspace, pluginConfig);
    const registered = new Registrations();
    const log = (level, told) => this.log(level, told);
    const { plugin, config } = this;
    const api = apiOf({ plugin, pluginConfig, config, log, registered });
    this.logger = api.logger;
    for (const register of await imported(plugin.entries, plugin.directory)) {
      try {
        await register(api);
      } catch (error) {
        this.#assertWhole();
        throw new Refusal("Misconfigured", `register(api) raises ${error?.name ?? "Error"}: ${error?.message ?? error}`, {
          where: String(error?.stack ?? "").split("\n")[1]?.trim() ?? "",
        });
      }
    }
    this.registered = registered;
    return registered;
  }

  #config(state, workspace, pluginConfig) {
    const { id } = this.plugin;
    const hooks = { allowConversationAccess: true, allowPromptInjection: true };
    return {
      agents: {
        defaults: { workspace, agentDir: path.join(state, "agents", AGENT, "agent") },
        list: [{ id: AGENT, default: true, workspace }],
      },
      plugins: {
        enabled: true,
        slots: { memory: id },
        entries: { [id]: { enabled: true, config: pluginConfig, hooks } },
      },
      session: {},
      channels: {},
      gateway: {},
    };
  }

  // The refusal of a plugin that used something that is missing, whatever it threw of that.
  lack() {
    const names = [...lacking].sort();
    const text = `it uses ${names.join(", ")} of OpenClaw, which memproto does not stand in for`;
    this.log("warning", [text]);
    return new Refusal("Unavailable", text, { lacking: names });
  }

  // A plugin may have caught that something is missing, and gone on: then nothing it does counts.
  #assertWhole() {
    if (lacking.size > 0) throw this.lack();
  }

  async #hook(names, event, extra = {}) {
    for (const name of [names].flat()) {
      // Observers run side by side, and the host waits for all of them.
      const done = this.registered.of(name).map((item) => this.#handled(name, item, event, extra));
      for (const outcome of await Promise.allSettled(done)) {
        if (outcome.status === "rejected") throw outcome.reason;
      }
    }
    this.#assertWhole();
  }

  // Events of `registerHook`: one handler after the other, and an error of one is logged alone.
  async #event(type, action, told, key = this.session.key) {
    const context = { ...told, pluginConfig: this.pluginConfig };
    const event = { type, action, sessionKey: key, context, timestamp: new Date(), messages: [] };
    for (const handler of this.registered.listening(type, `${type}:${action}`)) {
      try {
        await handler({ ...event });
      } catch (error) {
        this.log("error", [`${type}:${action} of ${this.plugin.id} raises`, error]);
      }
    }
    this.#assertWhole();
  }

  #ofCommand() {
    const entry = { sessionId: this.session.id, updatedAt: Date.now() };
    const { platform, sender, config } = this;
    return {
      agentId: AGENT,
      sessionEntry: entry,
      previousSessionEntry: entry,
      commandSource: platform,
      senderId: sender,
      workspaceDir: config.agents.defaults.workspace,
      cfg: config,
    };
  }

  #ofMessage(content) {
    const { platform, sender } = this;
    const from = sender ?? "user";
    const metadata = { to: AGENT, provider: platform, surface: platform, senderId: from };
    return { from, content, timestamp: Date.now(), channelId: platform, conversationId: from, metadata };
  }

  async #handled(name, { handler, options }, event, extra = {}) {
    const context = { ...this.#context(), ...extra };
    const expired = () => this.log("warning", [`${name} of ${this.plugin.id} timed out`]);
    const call = async () => handler(structuredClone(event), context);
    return within(Number(options.timeoutMs), call(), expired);
  }

  #context() {
    const { platform, sender } = this;
    const who = sender ? { senderId: sender, chatId: sender } : {};
    const channelContext = sender ? { sender: { id: sender }, chat: { id: sender } } : {};
    return {
      runId: `run-${this.runs}`,
      agentId: AGENT,
      sessionKey: this.session.key,
      sessionId: this.session.id,
      workspaceDir: this.config.agents.defaults.workspace,
      modelProviderId: MODEL.provider,
      modelId: MODEL.model,
      messageProvider: platform,
      channel: platform,
      channelId: platform,
      trigger: this.trigger,
      ...who,
      channelContext,
    };
  }

  async open({ session_key: key, config }) {
    if (this.isOpen || this.isStopped) throw new Refusal("NotOpen", "a session was opened before");
    await this.register(config.home, config.plugin ?? {});
    this.#assertWhole();
    this.platform = config.platform ?? "cli";
    this.sender = config.user_id;
    [this.trigger, this.lane] = AT[config.agent_context] ?? AT.primary;
    for (const service of this.registered.services) await service.start?.(this.#ofService());
    this.session = this.#sessionOf(key);
    await this.#hook("gateway_start", { port: 0 }, { port: 0 });
    const { config: cfg } = this;
    const workspaceDir = cfg.agents.defaults.workspace;
    await this.#event("gateway", "startup", { cfg, workspaceDir }, "gateway:startup");
    await this.#starts();
    try {
      // A host makes the tools of a session when it starts; an error of a factory is told with them.
      this.#offered();
    } catch {
      this.#assertWhole();
    }
    this.isOpen = true;
  }

  #ofService() {
    const { config, logger } = this;
    return {
      config,
      logger,
      stateDir: process.env.OPENCLAW_STATE_DIR,
      workspaceDir: config.agents.defaults.workspace,
    };
  }

  #sessionOf(key) {
    const name = ["agent", AGENT, ...this.lane, key].join(":");
    return { key: name, id: String(key), messages: [], began: Date.now(), runs: false };
  }

  async #starts(resumedFrom) {
    const { id, key } = this.session;
    this.session.runs = true;
    await this.#hook("session_start", { sessionId: id, sessionKey: key, resumedFrom });
  }

  // -- turns --------------------------------------------------------------------------------------

  async recall({ user_message: prompt, messages = [] }) {
    if (lacking.size) return null;
    await this.#continues();
    // A message is received before its turn is prepared, and a plugin may keep it for the query. One
    // that stores by what it receives hears it with the turn alone: this one may stay without an answer.
    if (this.registered.has("agent_end")) await this.#hears(prompt);
    const before = messages.length ? translated(messages) : this.session.messages;
    const event = { prompt, currentUserMessage: prompt, messages: before, queuedInjections: [] };
    try {
      return await this.#contextOf(event);
    } catch (error) {
      // A host has no context of a plugin that failed for want of the host.
      if (lacking.size === 0) throw error;
      this.lack();
      return null;
    }
  }

  async #contextOf(event) {
    this.runs += 1;
    const given = [];
    for (const name of RECALLING) {
      const all = this.registered.of(name);
      // Those that follow the policy on tools run behind the others.
      const ordered = [false, true].flatMap((late) =>
        all.filter((item) => Boolean(item.options.requiresToolAuthority) === late),
      );
      for (const item of ordered) given.push(await this.#handled(name, item, event, this.#authority()));
    }
    if (lacking.size) return null;
    const found = CONTEXTS.flatMap((key) => given.map((answer) => answer?.[key]));
    const texts = found.filter((text) => text !== undefined && text !== null && text !== "");
    // A host joins texts; anything else is told as it is.
    const odd = texts.find((text) => typeof text !== "string");
    return odd ?? (texts.length ? texts.join("\n\n") : null);
  }

  #authority() {
    const assertActive = () => {};
    const toolAuthority = { fingerprint: "kit", allows: () => true, assertActive };
    return { toolAuthority, hookInvocation: { assertActive } };
  }

  // Whether it learns what was said otherwise than by `agent_end`.
  #listens() {
    const { registered } = this;
    return registered.has(...LISTENING) || registered.listening(...HEARING).length > 0;
  }

  async #hears(content) {
    this.heard = content;
    await this.#hook("message_received", { from: this.sender ?? "user", content, timestamp: Date.now() });
    await this.#event("message", "received", this.#ofMessage(content));
  }

  async record({ user_message: said, assistant_response: answered }) {
    this.#assertWhole();
    await this.#continues();
    const { session } = this;
    const began = Date.now();
    this.runs += 1;
    const runId = `run-${this.runs}`;
    const isDeaf = !this.registered.has("agent_end") && this.#listens();
    if (this.heard !== said) await this.#hears(said);
    this.heard = null;
    const history = session.messages;
    if (isDeaf) {
      // It has the turn in pieces, of which the prompt is one.
      await this.#contextOf({ prompt: said, currentUserMessage: said, messages: history });
    }
    const call = { runId, sessionId: session.id, provider: MODEL.provider, model: MODEL.model, prompt: said };
    await this.#hook("llm_input", { ...call, historyMessages: history, imagesCount: 0 });
    const reply = assistant(answered);
    session.messages = [...history, user(said), reply];
    await this.#hook("llm_output", { ...call, assistantTexts: [answered], lastAssistant: reply });
    const durationMs = Date.now() - began;
    await this.#hook("agent_end", { runId, messages: session.messages, success: true, durationMs });
    await this.#hook("message_sent", { to: this.sender ?? "user", content: answered, success: true });
    await this.#event("message", "sent", { ...this.#ofMessage(answered), success: true });
  }

  async compress({ messages }) {
    this.#assertWhole();
    const told = translated(messages);
    const counts = { messageCount: told.length, compactingCount: told.length };
    const { id: sessionId } = this.session;
    await this.#event("session", "compact:before", { ...counts, sessionId });
    await this.#hook("before_compaction", { ...counts, messages: told });
    const after = { messageCount: 0, compactedCount: told.length };
    await this.#event("session", "compact:after", { ...after, sessionId });
    await this.#hook("after_compaction", after);
    this.session.messages = [];
  }

  // -- sessions -----------------------------------------------------------------------------------

  // A session that was ended goes on with its next message.
  async #continues() {
    if (!this.session.runs) await this.#starts(this.session.id);
  }

  async #ends(reason, nextSessionId) {
    if (!this.session.runs) return;
    this.session.runs = false;
    const { id, key, messages, began } = this.session;
    const next = nextSessionId === undefined ? {} : { nextSessionId };
    const durationMs = Date.now() - began;
    const event = { sessionId: id, sessionKey: key, messageCount: messages.length, durationMs, reason };
    await this.#hook("session_end", { ...event, ...next });
  }

  async end({ messages }) {
    this.#assertWhole();
    const told = messages.length ? translated(messages) : this.session.messages;
    this.session.messages = told;
    await this.#event("command", "new", this.#ofCommand());
    await this.#hook("before_reset", { messages: told, reason: "new" });
    await this.#ends("new");
  }

  async switch({ new_session_id: key, reset = false }) {
    this.#assertWhole();
    const former = this.session.id;
    if (reset) {
      await this.#event("command", "reset", this.#ofCommand());
      await this.#hook("before_reset", { messages: this.session.messages, reason: "reset" });
    }
    await this.#ends(reset ? "reset" : "unknown", String(key));
    this.session = this.#sessionOf(key);
    await this.#starts(reset ? undefined : former);
  }

  async delegation({ child_session_id: child = "" }) {
    const targetSessionKey = `agent:${AGENT}:subagent:${child || randomUUID()}`;
    const event = { targetSessionKey, targetKind: "subagent", reason: "completed", outcome: "ok" };
    const extra = { childSessionKey: targetSessionKey, requesterSessionKey: this.session.key };
    await this.#hook("subagent_ended", { ...event, runId: `run-${this.runs}`, endedAt: Date.now() }, extra);
  }

  // -- what it offers -----------------------------------------------------------------------------

  #offered() {
    const { config, session, sender, platform } = this;
    const context = {
      config,
      runtimeConfig: config,
      getRuntimeConfig: () => config,
      workspaceDir: config.agents.defaults.workspace,
      agentDir: config.agents.defaults.agentDir,
      agentId: AGENT,
      sessionKey: session?.key ?? `agent:${AGENT}:${AGENT}`,
      sessionId: session?.id ?? AGENT,
      messageChannel: platform ?? "cli",
      requesterSenderId: sender,
      senderIsOwner: true,
      sandboxed: false,
      assertInvocationCurrent: () => {},
    };
    const found = new Map();
    for (const { tool } of this.registered.tools) {
      const made =
        typeof tool === "function" ? tool(context) : tool?.contextVersion === 2 ? tool.create(context) : tool;
      for (const item of [made].flat()) if (item?.name && !found.has(item.name)) found.set(item.name, item);
    }
    return found;
  }

  tools() {
    return [...this.#offered().values()].map(schemaOf);
  }

  async call_tool({ tool_name: name, args }) {
    this.#assertWhole();
    const tool = this.#offered().get(name);
    if (tool === undefined) return JSON.stringify({ error: `there is no tool ${name}` });
    try {
      const given = tool.prepareArguments?.(args) ?? args;
      const result = await tool.execute(`call-${randomUUID()}`, given, undefined, undefined);
      this.#assertWhole();
      return JSON.stringify(result ?? null);
    } catch (error) {
      this.#assertWhole();
      // A tool throws to tell the model that it did not work.
      return JSON.stringify({ error: String(error?.message ?? error) });
    }
  }

  async prompt() {
    const availableTools = new Set(this.#offered().keys());
    const builders = [this.registered.memory?.promptBuilder, ...this.registered.prompts];
    const lines = [];
    for (const build of builders.filter((item) => typeof item === "function")) {
      lines.push(...((await build({ availableTools, citationsMode: "auto" })) ?? []));
    }
    return lines.join("\n");
  }

  // The extensions that it serves, by what it registered.
  extensions() {
    const { registered } = this;
    const served = {
      tools: this.#offered().size > 0,
      sessions:
        registered.has("session_end", "session_start", "before_reset") ||
        registered.listening("command", "command:new", "command:reset").length > 0,
      delegation: registered.has("subagent_ended"),
      prompt: registered.prompts.length > 0 || Boolean(registered.memory?.promptBuilder),
    };
    return Object.keys(served).filter((name) => served[name]);
  }

  declare() {
    return { extensions: this.extensions(), tool_names: [...this.#offered().keys()] };
  }

  // The things that a host learns of a plugin before there is a session.
  shown() {
    const { registered } = this;
    const compacts = registered.listening("session", "session:compact:before", "session:compact:after");
    return {
      extensions: this.extensions(),
      hooks: {
        before_prompt_build: registered.has(...RECALLING),
        agent_end: registered.has("agent_end") || this.#listens(),
        before_compaction: registered.has("before_compaction", "after_compaction") || compacts.length > 0,
      },
      engines: registered.taken.filter(([name]) => name === "registerContextEngine").length,
      lacking: [...lacking].sort(),
    };
  }

  // -- the stop -----------------------------------------------------------------------------------

  async close() {
    if (this.isStopped) return;
    this.isStopped = true;
    if (this.registered === null || this.session === null) return;
    const steps = [
      () => this.#ends("shutdown"),
      () => this.#hook("gateway_stop", { reason: "shutdown" }, { port: 0 }),
      ...this.registered.services.toReversed().map((item) => () => item.stop?.(this.#ofService())),
      () => this.registered.memory?.runtime?.closeAllMemorySearchManagers?.(),
    ];
    let first;
    for (const step of steps) {
      try {
        await step();
      } catch (error) {
        first ??= error;
      }
    }
    if (first !== undefined && lacking.size === 0) throw first;
  }
}
