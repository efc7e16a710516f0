// One session of OpenClaw with a provider of its own. A provider that hangs costs one deadline.

import fs from "node:fs";
import { Failed, Server } from "./server.mjs";

const HOST = { name: "openclaw", version: "" };

// Milliseconds for what a turn does not wait for by name.
const SMALL_MS = 5_000;
const COMPRESS_MS = 100_000;
const TOOL_MS = 60_000;

// Milliseconds after which a recall without an answer is given up.
const LONGEST_MS = 60_000;

export class Session {
  #server;
  #isRecalling = false;
  #isOverdue = false;
  #writes = Promise.resolve();
  #compressions = 0;

  // `settings` are the operator's, with their defaults.
  constructor({ key, config, settings, log }) {
    this.settings = settings;
    this.log = log;
    this.tools = [];
    fs.mkdirSync(config.home, { recursive: true, mode: 0o700 });
    const command = [settings.program, "serve", "--fence", settings.target];
    this.#server = new Server({ command, env: settings.env, log });
    this.opened = this.#open(key, config);
    // Whoever needs the session hears of it; nobody may need it.
    this.opened.catch(() => {});
  }

  async #open(key, config) {
    const { methods = [] } = await this.#server.greet(HOST);
    this.methods = new Set(methods);
    if (!(await this.#server.ask("available", {}, SMALL_MS))) {
      const known = this.methods.has("unavailable_reason");
      const reason = known ? await this.#server.ask("unavailable_reason", {}, SMALL_MS).catch(() => "") : "";
      throw new Failed("Unavailable", reason || "the provider is not available");
    }
    await this.#server.ask("open", { session_key: key, config }, this.settings.openMs);
    await this.#server.ask("declare", {}, SMALL_MS);
    if (this.methods.has("tools")) this.tools = (await this.#server.ask("tools", {}, SMALL_MS)) ?? [];
  }

  // The context for a question, or null; at the deadline it rejects. A question beside one that has
  // no answer yet is not asked: a provider that hangs is waited for once.
  async recall(question, messages) {
    if (this.#isRecalling) return null;
    const until = Date.now() + this.settings.recallMs;
    await within(this.opened, this.settings.recallMs, "the session does not open");
    this.#isRecalling = true;
    // The turn waits for less; the answer says when there may be another question.
    const asked = this.#server.ask("recall", { user_message: question, messages }, LONGEST_MS, { holds: false });
    const free = () => {
      this.#isRecalling = false;
    };
    asked.then(free, free);
    return within(asked, Math.max(1, until - Date.now()), "recall has no answer");
  }

  record(said, answered) {
    return this.#write("record", { user_message: said, assistant_response: answered }, this.settings.recordMs);
  }

  compress(messages) {
    this.#compressions += 1;
    return this.#write("compress", { messages, compression_count: this.#compressions }, COMPRESS_MS);
  }

  end(messages) {
    return this.#write("end", { messages }, this.settings.recordMs);
  }

  // Writes one after another. One that stayed without an answer leaves nobody who would take another.
  #write(method, params, milliseconds) {
    const until = Date.now() + milliseconds;
    const before = this.#writes;
    const write = async () => {
      await within(this.opened, milliseconds, "the session does not open");
      await before;
      if (this.#isOverdue) throw new Failed("Unavailable", `${method}: an earlier write has no answer`);
      if (!["record", "compress"].includes(method) && !this.methods.has(method)) return;
      try {
        await this.#server.ask(method, params, Math.max(1, until - Date.now()));
      } catch (error) {
        this.#isOverdue ||= error.type === "Overdue";
        throw error;
      }
    };
    const done = write();
    this.#writes = done.catch(() => {});
    return done;
  }

  async call(tool, args) {
    await within(this.opened, this.settings.openMs, "the session does not open");
    return this.#server.ask("call_tool", { tool_name: tool, args }, TOOL_MS);
  }

  // Ends the provider; what was accepted is stored. Never rejects.
  async close() {
    if (!this.#isOverdue) {
      await within(this.#writes, this.settings.recordMs, "a write has no answer").catch(() => {});
    }
    await this.#server.close();
  }
}

// A promise for so long. Its timer keeps no process alive behind an answer.
async function within(promise, milliseconds, text) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Failed("Overdue", `${text} after ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
