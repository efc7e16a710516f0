// A server of the wire, written from 85-wire.md and the chapters alone. One text is one file.
import { createHash, randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";

const MOST = 16 * 1024 * 1024;
const CODES = { ParseError: -32700, InvalidRequest: -32600, MethodNotFound: -32601, InvalidParams: -32602,
  InternalError: -32603, UnsupportedVersion: -32001, NotOpen: -32002, Unavailable: -32011, Rejected: -32012,
  TooLarge: -32013, WriteRefused: -32014 };
const COMMON = new Set(("what which where when does this that with have from your they them there their about will " +
  "would could should been were into than then name named keep kept and the you for is it of").split(" "));
const words = (text) => new Set((text.toLowerCase().match(/[\p{L}\p{N}_]{3,}/gu) ?? []).filter((w) => !COMMON.has(w)));

class Refusal extends Error {
  constructor(type, message, more = {}) { super(message); this.data = { type, ...more }; }
}

// ---- output: the pool's thread waits for a reader, and this one goes on reading ----------------
let waiting = [], isWriting = false, isEnding = false;
const shaped = (value) => typeof value === "string" ? value.toWellFormed()
  : Array.isArray(value) ? value.map(shaped)
  : value && typeof value === "object" ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k.toWellFormed(), shaped(v)]))
  : value;
function send(message) { waiting.push(Buffer.from(JSON.stringify(shaped({ jsonrpc: "2.0", ...message })) + "\n")); flush(); }
function flush() {
  if (isWriting) return;
  if (!waiting.length) { if (isEnding) process.exit(0); return; }
  const data = Buffer.concat(waiting); waiting = []; isWriting = true;
  const go = (from) => fs.write(1, data, from, data.length - from, (error, n) => {
    if (error) { if (error.code === "EAGAIN") return setTimeout(go, 5, from); process.exit(0); }
    if (from + n < data.length) return go(from + n);
    isWriting = false; flush();
  });
  go(0);
}

// ---- the store ---------------------------------------------------------------------------------
let state = "new", folder = "", keeps = true, limit = Infinity, cache = new Map();
function texts() {
  let names = [];
  try { names = fs.readdirSync(folder); } catch { return []; }
  const found = [];
  for (const name of names.sort()) {
    if (!name.endsWith(".json")) continue;
    if (!cache.has(name)) {
      try { cache.set(name, JSON.parse(fs.readFileSync(path.join(folder, name), "utf8"))); } catch { continue; }
    }
    const one = cache.get(name);
    if (typeof one?.said === "string") found.push({ name, ...one });
  }
  return found;
}
function stored(act) {
  try { return act(); } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal("Unavailable", `the store does not take it: ${error.code}`, { retry_after_s: 1 });
  }
}
function add(kind, said) {
  stored(() => {
    fs.mkdirSync(folder, { recursive: true });
    const name = `${String(Date.now()).padStart(15, "0")}-${randomUUID()}`;
    const file = path.join(folder, name);
    const fd = fs.openSync(`${file}.new`, "wx");
    try { fs.writeFileSync(fd, JSON.stringify({ kind, said })); fs.fsyncSync(fd); } catch (error) {
      fs.closeSync(fd); try { fs.unlinkSync(`${file}.new`); } catch {} throw error;
    }
    fs.closeSync(fd);
    fs.renameSync(`${file}.new`, `${file}.json`);
    const place = fs.openSync(folder, "r"); try { fs.fsyncSync(place); } finally { fs.closeSync(place); }
  });
}
function recall(question) {
  const asked = words(question), ranked = texts().map((t) => [[...words(t.said)].filter((w) => asked.has(w)).length, t.said]);
  const best = Math.max(0, ...ranked.map(([n]) => n));
  let room = limit; const out = [];
  for (const [n, said] of ranked.reverse()) {
    if (!best || n !== best || room <= 0) continue;
    out.push(said.slice(0, room)); room -= said.length + 1;
  }
  return out.join("\n") || null;
}

// ---- methods -----------------------------------------------------------------------------------
const is = { string: (v) => typeof v === "string", object: (v) => v !== null && typeof v === "object" && !Array.isArray(v),
  array: Array.isArray, text: (v) => v === null || typeof v === "string", number: Number.isInteger };
function need(params, names) {
  for (const [name, kind] of Object.entries(names))
    if (!is[kind](params[name])) throw new Refusal("InvalidParams", `${name} is no ${kind}`);
}
const METHODS = {
  ping: () => null,
  available: () => true,
  open(params) {
    need(params, { session_key: "string", config: "object" });
    const { config } = params;
    if (!is.string(config.home)) throw new Refusal("InvalidParams", "config.home is no string");
    const user = config.user_id === undefined || config.user_id === null ? "nobody" : "u" + JSON.stringify(config.user_id);
    folder = path.join(config.home, "texts", createHash("sha256").update(user).digest("hex"));
    keeps = (config.protocol?.contexts ?? ["primary"]).includes(config.agent_context ?? "primary");
    limit = config.limits?.recall_chars ?? Infinity;
    state = "open"; return null;
  },
  declare() {
    const actions = ["add", "replace", "remove"];
    return { stores: ["turns", "writes"], isolates: ["profile", "user"], mirrors: { memory: actions, user: actions }, spec_version: "1.0" };
  },
  recall(params) { need(params, { user_message: "string" }); return recall(params.user_message); },
  record(params) {
    need(params, { user_message: "string", assistant_response: "string" });
    if (keeps) add("turn", params.user_message); return null;
  },
  mirror(params) {
    need(params, { action: "string", target: "string", content: "text" });
    const { action, target, content, old_text: old } = params;
    if (!["add", "replace", "remove"].includes(action) || !["memory", "user"].includes(target)) throw new Refusal("Rejected", "no such action or target");
    if (!keeps) return null;
    const fits = action === "add" ? [] : texts().filter((t) => t.kind === target && old && t.said.includes(old));
    if (action !== "add" && new Set(fits.map((t) => t.said)).size !== 1) throw new Refusal("WriteRefused", "old_text fits no entry, or several");
    if (action !== "remove") add(target, content ?? "");
    stored(() => { for (const one of fits) { fs.unlinkSync(path.join(folder, one.name)); cache.delete(one.name); } });
    return null;
  },
  compress(params) { need(params, { messages: "array", compression_count: "number" }); return null; },
  close() { state = "closed"; return null; },
};
const EARLY = new Set(["available", "open", "ping", "close"]);
function made(method, params) {
  if (method === "initialize") {
    if (state !== "new") throw new Refusal("InvalidRequest", "initialize came twice");
    if (!Array.isArray(params.wire) || !params.wire.includes(1)) throw new Refusal("UnsupportedVersion", "no common version", { wire: [1] });
    state = "greeted"; return { wire: 1, name: "beacon", methods: [] };
  }
  if (!Object.hasOwn(METHODS, method)) throw new Refusal("MethodNotFound", `no method ${method}`);
  const may = method === "ping" || (state === "greeted" && EARLY.has(method)) || (state === "open" && method !== "open") || (state === "closed" && method === "close");
  if (!may) throw new Refusal("NotOpen", `${method} is not allowed while the instance is ${state}`);
  return METHODS[method](params);
}
function take(line) {
  let message;
  try { message = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(line)); } catch { return fail(null, new Refusal("ParseError", "no JSON in UTF-8")); }
  const id = is.object(message) && Number.isSafeInteger(message.id) ? message.id : null;
  const isMessage = is.object(message) && message.jsonrpc === "2.0" && is.string(message.method) && (!("id" in message) || id !== null);
  if (!isMessage) return fail(id, new Refusal("InvalidRequest", "no message"));
  if (!("id" in message)) return;
  if (message.params !== undefined && !is.object(message.params)) return fail(id, new Refusal("InvalidParams", "params is no object"));
  try { send({ id, result: made(message.method, message.params ?? {}) }); } catch (error) { fail(id, error); }
}
function fail(id, error) {
  const data = error instanceof Refusal ? error.data : { type: "InternalError" };
  send({ id, error: { code: CODES[data.type], message: error.message, data } });
}

// ---- input -------------------------------------------------------------------------------------
let rest = [], size = 0, isTooLong = false;
process.stdin.on("data", (chunk) => {
  let from = 0;
  for (let at; (at = chunk.indexOf(10, from)) >= 0; from = at + 1) {
    const piece = chunk.subarray(from, at);
    if (isTooLong || size + piece.length + 1 > MOST) fail(null, new Refusal("TooLarge", "the line is over 16 MiB"));
    else { const line = Buffer.concat([...rest, piece]); if (line.toString("latin1").trim()) take(line); }
    rest = []; size = 0; isTooLong = false;
  }
  const tail = chunk.subarray(from); size += tail.length;
  if (size > MOST) { rest = []; isTooLong = true; } else rest.push(tail);
});
process.stdin.on("end", () => { isEnding = true; flush(); });
process.stdin.on("error", () => { isEnding = true; flush(); });
