// The client's end of the wire: one program that serves one session of a memory provider.

import { spawn } from "node:child_process";

const MAX_LINE = 16 * 1024 * 1024;

// Bytes of the standard error that are kept for messages, and of requests that wait to be read.
const MOST_SAID = 64 * 1024;
const MOST_UNREAD = 64 * 1024 * 1024;

// Milliseconds for the greeting, for `close`, and for each step of the end behind it.
const GREETING_MS = 20_000;
const CLOSE_MS = 15_000;
const STEP_MS = 2_000;

// Variables that a program gets of this process; the rest is the operator's to name.
const ALLOWED = [
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "TEMP", "TMP"],
  ...["LANG", "LC_ALL", "LC_CTYPE", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"],
  ...["XDG_STATE_HOME", "XDG_RUNTIME_DIR"],
];

// An answer that is an error, or a call that got none; `type` is its name in wire-errors.toml.
export class Failed extends Error {
  constructor(type, message) {
    super(message);
    this.name = "Failed";
    this.type = type;
  }
}

export class Server {
  #child;
  #next = 1;
  #waiting = new Map();
  #rest = [];
  #restBytes = 0;
  #skips = false;
  #said = "";
  #ended = null;
  #hasEnded;

  // `log(level, text)` gets what the program tells.
  constructor({ command, env = {}, log }) {
    this.log = log;
    this.shown = command.join(" ");
    const mine = Object.fromEntries(
      ALLOWED.filter((name) => process.env[name] !== undefined).map((name) => [name, process.env[name]]),
    );
    // A process group of its own, so that the end reaches what the program starts.
    const options = { detached: true, env: { ...mine, ...env }, stdio: ["pipe", "pipe", "pipe"] };
    const [program, ...words] = command;
    this.#child = spawn(program, words, options);
    const { stdin, stdout, stderr } = this.#child;
    this.#hasEnded = new Promise((done) => {
      this.#child.on("error", (error) => done(this.#end(`${program} does not start: ${error.message}`)));
      this.#child.on("exit", (code, signal) => done(this.#end(`${program} ended with ${signal ?? code}`)));
    });
    stdin.on("error", () => {});
    stdout.on("data", (part) => this.#read(part));
    stderr.setEncoding("utf8");
    stderr.on("data", (text) => {
      this.#said = (this.#said + text).slice(-MOST_SAID);
    });
    // A host that runs once ends although the program waits: the end of its input ends it too.
    for (const handle of [this.#child, stdin, stdout, stderr]) handle.unref?.();
  }

  #end(reason) {
    const last = this.#said.trim().split("\n").at(-1);
    this.#ended ??= last ? `${reason}: ${last}` : reason;
    for (const call of this.#waiting.values()) call.fail(new Failed("Unavailable", this.#ended));
    this.#waiting.clear();
  }

  // The answer to `initialize`.
  greet(host) {
    const params = { wire: [1], spec_version: "1.0", host, max_line: MAX_LINE };
    return this.ask("initialize", params, GREETING_MS);
  }

  // The result of a request. Rejects with `Failed` for an error, at the deadline, and without a program.
  // While it is open the process goes on, unless `holds` is false.
  ask(method, params, milliseconds, { holds = true } = {}) {
    if (this.#ended !== null) return Promise.reject(new Failed("Unavailable", this.#ended));
    if (this.#child.stdin.writableLength > MOST_UNREAD) {
      return Promise.reject(new Failed("Unavailable", "the provider reads no requests"));
    }
    const id = this.#next++;
    return new Promise((done, fail) => {
      const late = () => {
        this.#waiting.delete(id);
        this.#send({ method: "$/cancel", params: { id } });
        fail(new Failed("Overdue", `${method} took longer than ${milliseconds} ms`));
      };
      const timer = setTimeout(late, milliseconds);
      if (!holds) timer.unref();
      const settled = (settle) => (value) => {
        clearTimeout(timer);
        settle(value);
      };
      this.#waiting.set(id, { done: settled(done), fail: settled(fail) });
      this.#send({ id, method, params: { ...params, deadline_ms: milliseconds } });
    });
  }

  #send(message) {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message }, (key, value) =>
      typeof value === "string" ? value.toWellFormed() : value,
    );
    this.#child.stdin.write(`${text}\n`);
  }

  #read(part) {
    let begin = 0;
    for (let end = part.indexOf(10); end >= 0; end = part.indexOf(10, begin)) {
      this.#keep(part.subarray(begin, end));
      begin = end + 1;
      const line = this.#skips ? "" : Buffer.concat(this.#rest).toString("utf8");
      this.#rest = [];
      this.#restBytes = 0;
      this.#skips = false;
      if (line.trim()) this.#hear(line);
    }
    this.#keep(part.subarray(begin));
  }

  #keep(part) {
    this.#restBytes += part.length;
    this.#skips ||= this.#restBytes >= MAX_LINE;
    if (this.#skips) this.#rest = [];
    else this.#rest.push(part);
  }

  #hear(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      this.log("warn", `${this.shown} wrote a line that is no message: ${line.slice(0, 100)}`);
      return;
    }
    if (message?.method === "log") {
      const { level, message: text } = message.params ?? {};
      this.log(level === "error" ? "error" : level === "warning" ? "warn" : "debug", String(text));
      return;
    }
    // An answer that nobody waits for any more is dropped by its id.
    const call = this.#waiting.get(message?.id);
    if (call === undefined) return;
    this.#waiting.delete(message.id);
    const { error, result } = message;
    if (error === undefined) call.done(result ?? null);
    else call.fail(new Failed(error?.data?.type ?? "InternalError", String(error?.message ?? "an error")));
  }

  // Close the provider and end its processes; takes 21 s at most, and never rejects.
  async close() {
    if (this.#ended === null) await this.ask("close", {}, CLOSE_MS).catch((error) => this.log("warn", error.message));
    this.#child.stdin.end();
    for (const signal of ["SIGTERM", "SIGKILL"]) {
      if (await this.#endsWithin(STEP_MS)) break;
      this.#signal(signal);
    }
    // A program that it started may have outlived it.
    this.#signal("SIGKILL");
  }

  async #endsWithin(milliseconds) {
    let timer;
    const late = new Promise((done) => {
      timer = setTimeout(() => done(false), milliseconds);
    });
    const found = await Promise.race([this.#hasEnded.then(() => true), late]);
    clearTimeout(timer);
    return found;
  }

  #signal(name) {
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, name);
    } catch {
      // Nobody is left in the group.
    }
  }
}
