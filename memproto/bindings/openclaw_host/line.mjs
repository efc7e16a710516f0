// The server's end of the wire (spec/v1/85-wire.md): lines in, lines out, each request answered once.

import fs from "node:fs";
import net from "node:net";

const MAX_LINE = 16 * 1024 * 1024;

const CODES = {
  ParseError: -32700,
  InvalidRequest: -32600,
  MethodNotFound: -32601,
  InvalidParams: -32602,
  InternalError: -32603,
  Cancelled: -32800,
  UnsupportedVersion: -32001,
  NotOpen: -32002,
  Misconfigured: -32010,
  Unavailable: -32011,
  TooLarge: -32013,
};

// An answer that is an error of the protocol, by its name in wire-errors.toml.
export class Refusal extends Error {
  constructor(name, message, data = {}) {
    super(message);
    this.name = name;
    this.data = data;
  }
}

// Errors of a connection to a backend that is away, as hosts of other languages name them.
const AWAY = {
  ECONNREFUSED: "ConnectionRefusedError",
  ECONNRESET: "ConnectionResetError",
  ECONNABORTED: "ConnectionAbortedError",
  EPIPE: "BrokenPipeError",
  EHOSTUNREACH: "ConnectionError",
  ENETUNREACH: "ConnectionError",
  UND_ERR_SOCKET: "ConnectionResetError",
  ETIMEDOUT: "TimeoutError",
  UND_ERR_CONNECT_TIMEOUT: "TimeoutError",
  UND_ERR_HEADERS_TIMEOUT: "TimeoutError",
  UND_ERR_BODY_TIMEOUT: "TimeoutError",
  ENOTFOUND: "gaierror",
  EAI_AGAIN: "gaierror",
};

// The causes of an error, itself first.
export function causes(error) {
  const found = [];
  for (let next = error; next && typeof next === "object" && found.length < 10; ) {
    found.push(next);
    next = next.cause ?? next.errors?.[0];
  }
  return found;
}

function kindOf(error) {
  for (const cause of causes(error)) {
    if (typeof cause.code === "string" && Object.hasOwn(AWAY, cause.code)) return AWAY[cause.code];
    if (cause.name === "TimeoutError") return "TimeoutError";
  }
  const name = error?.name ?? error?.constructor?.name;
  return typeof name === "string" && name ? name : "Error";
}

function textOf(error) {
  if (!(error instanceof Error)) return String(error);
  const code = causes(error).map((cause) => cause.code).find((item) => typeof item === "string");
  return code && !error.message.includes(code) ? `${error.message} (${code})` : error.message;
}

function asError(error) {
  if (error instanceof Refusal) {
    const data = { type: error.name, ...error.data };
    return { code: CODES[error.name], message: error.message, data };
  }
  const data = { type: kindOf(error) };
  return { code: CODES.InternalError, message: textOf(error), data };
}

// Only scalar values and plain numbers cross; a plugin may hand over anything.
function plain(value, depth = 0) {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "bigint") return value.toString();
  if (value === undefined || typeof value === "function" || typeof value === "symbol") return null;
  if (value === null || typeof value !== "object") return value;
  if (depth > 200) return null;
  if (typeof value.toJSON === "function") return plain(value.toJSON(), depth + 1);
  if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1));
  const found = {};
  for (const [key, item] of Object.entries(value)) {
    if (item !== undefined && typeof item !== "function") {
      found[key.toWellFormed()] = plain(item, depth + 1);
    }
  }
  return found;
}

export class Line {
  // `serve(method, params)` gives the result of a request, or throws; `finish()` ends the process.
  constructor({ input, output, serve, finish }) {
    this.output = output;
    this.serve = serve;
    this.finish = finish;
    this.waiting = new Map();
    this.rest = [];
    this.restBytes = 0;
    this.skips = false;
    this.stream = new net.Socket({ fd: input, readable: true, writable: false });
    this.stream.on("data", (part) => this.#read(part));
    this.stream.on("end", () => this.finish());
    this.stream.on("error", () => this.finish());
  }

  log(level, message) {
    this.#send({ jsonrpc: "2.0", method: "log", params: { level, message: String(message) } });
  }

  #send(message) {
    const bytes = Buffer.from(`${JSON.stringify(plain(message))}\n`);
    for (let sent = 0; sent < bytes.length; ) {
      try {
        sent += fs.writeSync(this.output, bytes, sent);
      } catch (error) {
        if (error.code !== "EAGAIN") return; // Nobody hears any more; the end of the input follows.
      }
    }
  }

  #read(part) {
    let begin = 0;
    for (let end = part.indexOf(10); end >= 0; end = part.indexOf(10, begin)) {
      this.#keep(part.subarray(begin, end));
      begin = end + 1;
      const whole = Buffer.concat(this.rest);
      const isSkipped = this.skips;
      this.rest = [];
      this.restBytes = 0;
      this.skips = false;
      if (!isSkipped && whole.length > 0) this.#hear(whole);
    }
    this.#keep(part.subarray(begin));
  }

  #keep(part) {
    if (this.skips) return;
    this.restBytes += part.length;
    if (this.restBytes < MAX_LINE) {
      this.rest.push(part);
      return;
    }
    this.skips = true;
    this.rest = [];
    this.#answer(null, null, new Refusal("TooLarge", `a line is over ${MAX_LINE} bytes`));
  }

  #hear(line) {
    let message;
    try {
      message = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(line));
    } catch (error) {
      this.#answer(null, null, new Refusal("ParseError", error.message));
      return;
    }
    if (message === null || typeof message !== "object" || Array.isArray(message)) {
      this.#answer(null, null, new Refusal("InvalidRequest", "the message is no object"));
      return;
    }
    const { id, method, params = {} } = message;
    if (id === undefined) {
      if (method === "$/cancel") this.#cancel(params?.id);
      return;
    }
    if (typeof method !== "string" || !Number.isInteger(id)) {
      const known = Number.isInteger(id) ? id : null;
      this.#answer(known, null, new Refusal("InvalidRequest", "the message is no request"));
      return;
    }
    if (params === null || typeof params !== "object" || Array.isArray(params)) {
      this.#answer(id, null, new Refusal("InvalidParams", "params is no object"));
      return;
    }
    this.#call(id, method, params);
  }

  async #call(id, method, params) {
    const call = { method, isAnswered: false };
    this.waiting.set(id, call);
    let result = null;
    let error;
    try {
      result = (await this.serve(method, params)) ?? null;
    } catch (raised) {
      error = raised ?? new Error("it threw nothing");
    }
    this.waiting.delete(id);
    if (!call.isAnswered) this.#answer(id, result, error);
  }

  // A write is answered when it is done, by the truth.
  #cancel(id) {
    const call = this.waiting.get(id);
    if (call === undefined || !["recall", "prompt", "call_tool", "ping"].includes(call.method)) return;
    call.isAnswered = true;
    this.#answer(id, null, new Refusal("Cancelled", "cancelled"));
  }

  #answer(id, result, error) {
    const rest = error === undefined ? { result } : { error: asError(error) };
    this.#send({ jsonrpc: "2.0", id, ...rest });
  }
}
