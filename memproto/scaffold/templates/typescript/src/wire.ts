/**
 * A provider behind the wire: one JSON-RPC 2.0 object for each line of the standard streams.
 *
 * This file is the whole protocol, and needs nothing but Node. `serve` reads all the time, makes the
 * calls of one lane of writes one after another and everything else beside them, and ends the
 * process within 15 s after its input.
 */

import { write } from "node:fs";

export const VERSION = 1;

/** Bytes of the longest line, line feed included. */
export const MAX_LINE = 16 * 1024 * 1024;

/** Milliseconds that the process has to end when its input does. */
const END_MS = 14_000;

/** Milliseconds that the last answers may take to be read. */
const FLUSH_MS = 1_000;

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Message {
  role: string;
  content?: Json;
  [key: string]: Json | undefined;
}

/** The keys of `config` that this package reads; a host sends more. */
export interface Config {
  home: string;
  user_id?: string;
  agent_context?: string;
  protocol?: { contexts?: string[]; [key: string]: Json | undefined };
  limits?: { recall_chars?: number; [key: string]: Json | undefined };
  [key: string]: unknown;
}

type Maybe<T> = T | Promise<T>;

/** A hook that works for more than a moment returns a promise: the loop answers `ping` meanwhile. */
export interface Provider {
  /** Small letters, digits, `-` and `_`. */
  readonly name: string;
  /** True if a session could start, from settings alone. */
  available(): Maybe<boolean>;
  open(sessionKey: string, config: Config): Maybe<void>;
  declare(): Maybe<{ [key: string]: Json }>;
  recall(userMessage: string, messages: Message[], deadlineMs?: number): Maybe<string | null>;
  record(userMessage: string, assistantResponse: string): Maybe<void>;
  mirror(action: string, target: string, content: string | null, oldText: string | null): Maybe<void>;
  compress(messages: Message[], compressionCount: number): Maybe<void>;
  close(): Maybe<void>;
  /** Methods of extensions, by the names of the wire: `tools`, `call_tool`, `prewarm` and others. */
  extensions?: { [method: string]: (params: { [key: string]: Json }) => Maybe<Json> };
}

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
  Rejected: -32012,
  TooLarge: -32013,
  WriteRefused: -32014,
} as const;

type Code = keyof typeof CODES;

/** The errors by which a hook reports that it did not do what it was asked. */
export type ReportKind = "Misconfigured" | "Unavailable" | "Rejected" | "TooLarge" | "WriteRefused";

export class Report extends Error {
  constructor(
    readonly kind: ReportKind,
    message: string,
    readonly data: { [key: string]: Json } = {},
  ) {
    super(message);
  }
}

class Refusal extends Error {
  constructor(
    readonly kind: Code,
    message: string,
    readonly data: { [key: string]: Json } = {},
  ) {
    super(message);
  }
}

type Params = { [key: string]: Json };
type Call = (provider: Provider, params: Params) => Maybe<unknown>;

const CALLS: { [method: string]: Call } = {
  available: (provider) => provider.available(),
  open: (provider, params) => provider.open(text(params, "session_key"), object(params, "config") as unknown as Config),
  declare: (provider) => provider.declare(),
  recall: (provider, params) =>
    provider.recall(text(params, "user_message"), list(params, "messages"), number(params, "deadline_ms")),
  record: (provider, params) => provider.record(text(params, "user_message"), text(params, "assistant_response")),
  mirror: (provider, params) =>
    provider.mirror(
      text(params, "action"),
      text(params, "target"),
      nullable(params, "content"),
      nullable(params, "old_text"),
    ),
  compress: (provider, params) => provider.compress(list(params, "messages"), number(params, "compression_count") ?? 0),
  close: (provider) => provider.close(),
};

/** The methods of which a client sends the next when the one before was answered. */
const WRITES = new Set(["record", "mirror", "record_turn", "end", "switch", "delegation"]);

/** The methods that need no session. */
const EARLY = new Set(["available", "open", "close", "config_schema", "save_config", "post_setup", "backup"]);
EARLY.add("unavailable_reason");

interface Request {
  id: number;
  method: string;
  params: Params;
  hasBegun: boolean;
}

class Server {
  private readonly output = new Output();
  private readonly pending = new Map<number, Request>();
  private readonly running = new Set<Promise<void>>();
  private lane: Promise<void> = Promise.resolve();
  private isGreeted = false;
  private isOpen = false;
  private isClosing = false;
  private isEnding = false;

  constructor(private readonly provider: Provider) {}

  take(line: Buffer): void {
    let message: unknown;
    try {
      // With `fatal`, bytes that are no UTF-8 are an error and no U+FFFD.
      message = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line));
    } catch (error) {
      this.refuse(null, "ParseError", `the line is no JSON: ${String(error).slice(0, 200)}`);
      return;
    }
    if (typeof message !== "object" || message === null || Array.isArray(message)) {
      this.refuse(null, "InvalidRequest", "the line is no object");
      return;
    }
    const { id, method, params = {} } = message as { id?: unknown; method?: unknown; params?: unknown };
    const known = typeof id === "number" && Number.isSafeInteger(id) ? id : null;
    if (typeof method !== "string" || ("id" in message && known === null)) {
      this.refuse(known, "InvalidRequest", "it is no request");
    } else if (known === null) {
      this.notified(method, params);
    } else if (typeof params !== "object" || params === null || Array.isArray(params)) {
      this.refuse(known, "InvalidParams", "params are no object");
    } else if (this.pending.has(known)) {
      this.refuse(known, "InvalidRequest", "the id is that of an open request");
    } else {
      this.requested({ id: known, method, params: params as Params, hasBegun: false });
    }
  }

  refuse(id: number | null, kind: Code, message: string): void {
    this.output.send({ jsonrpc: "2.0", id, error: { code: CODES[kind], message, data: { type: kind } } });
  }

  /** Close what nobody closed and end the process, whatever hangs in it. */
  async end(): Promise<void> {
    if (this.isEnding) return;
    this.isEnding = true;
    setTimeout(() => process.kill(process.pid, "SIGKILL"), END_MS);
    await Promise.allSettled([...this.running]);
    if (!this.isClosing) {
      try {
        await this.provider.close();
      } catch (error) {
        console.error(error);
      }
    }
    // A write that nobody reads holds a thread, which an orderly exit would wait for.
    if (await this.output.flushed(FLUSH_MS)) process.exit(0);
    else process.kill(process.pid, "SIGKILL");
  }

  private notified(method: string, params: unknown): void {
    if (method !== "$/cancel" || typeof params !== "object" || params === null) return;
    const request = this.pending.get((params as { id: number }).id);
    // A write that has begun is answered by the truth, when it is known.
    if (request && !(request.hasBegun && WRITES.has(request.method))) {
      this.fail(request, new Refusal("Cancelled", "cancelled"));
    }
  }

  private requested(request: Request): void {
    this.pending.set(request.id, request);
    if (request.method === "ping") {
      this.answer(request, null);
      return;
    }
    const refusal = this.refusal(request);
    if (refusal) {
      this.fail(request, refusal);
      return;
    }
    if (request.method === "close") this.isClosing = true;
    const work = WRITES.has(request.method) ? this.lane.then(() => this.serve(request)) : this.serve(request);
    if (WRITES.has(request.method)) this.lane = work;
    this.running.add(work);
    void work.finally(() => this.running.delete(work));
  }

  /** The error of a request that is not allowed now. */
  private refusal({ method, params }: Request): Refusal | null {
    if (method === "initialize") {
      if (this.isGreeted) return new Refusal("InvalidRequest", "the server was greeted before");
      if (Array.isArray(params.wire) && params.wire.includes(VERSION)) return null;
      return new Refusal("UnsupportedVersion", `this server speaks version ${VERSION}`, { wire: [VERSION] });
    }
    const isKnown = Object.hasOwn(CALLS, method) || Object.hasOwn(this.provider.extensions ?? {}, method);
    if (!isKnown) return new Refusal("MethodNotFound", `there is no method ${method.slice(0, 100)}`);
    if (!this.isGreeted) return new Refusal("NotOpen", "the server was not greeted");
    if (method === "close") return null;
    if (this.isClosing) return new Refusal("NotOpen", "the instance is closed");
    if (!this.isOpen && !EARLY.has(method)) return new Refusal("NotOpen", `${method} needs a session`);
    return null;
  }

  private async serve(request: Request): Promise<void> {
    if (!this.pending.has(request.id)) return; // cancelled before its turn came
    request.hasBegun = true;
    const { method, params } = request;
    try {
      if (method === "initialize") {
        this.isGreeted = true;
        const methods = Object.keys(this.provider.extensions ?? {});
        this.answer(request, { wire: VERSION, name: this.provider.name, methods });
        return;
      }
      const extension = this.provider.extensions?.[method];
      const result = await (CALLS[method]?.(this.provider, params) ?? extension?.(params));
      if (method === "open") this.isOpen = true;
      this.answer(request, result === undefined ? null : result);
    } catch (error) {
      this.fail(request, error);
    }
  }

  private answer(request: Request, result: unknown): void {
    if (!this.pending.delete(request.id)) return;
    if (!this.output.send({ jsonrpc: "2.0", id: request.id, result })) {
      this.refuse(request.id, "TooLarge", `the result takes more than ${MAX_LINE} bytes`);
    }
  }

  private fail(request: Request, error: unknown): void {
    if (!this.pending.delete(request.id)) return;
    const isTold = error instanceof Report || error instanceof Refusal;
    const kind: Code = isTold ? error.kind : "InternalError";
    const data = { type: isTold ? kind : error instanceof Error ? error.name : typeof error };
    const message = (error instanceof Error ? error.message : String(error)).slice(0, 2000);
    const more = isTold ? error.data : {};
    this.output.send({
      jsonrpc: "2.0",
      id: request.id,
      error: { code: CODES[kind], message, data: { ...data, ...more } },
    });
  }
}

/** Writes lines in order, off the loop: a host that does not read stops nothing but its answers. */
class Output {
  private readonly waiting: Buffer[] = [];
  private isWriting = false;
  private isBroken = false;
  private whenEmpty: (() => void) | null = null;

  /** False if the message is too long for a line. */
  send(message: object): boolean {
    const line = Buffer.from(`${JSON.stringify(message, wellFormed)}\n`);
    if (line.length > MAX_LINE) return false;
    this.waiting.push(line);
    if (!this.isWriting) this.writeOn();
    return true;
  }

  flushed(patienceMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      if (!this.isWriting) return resolve(true);
      const timer = setTimeout(() => resolve(false), patienceMs);
      this.whenEmpty = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  private writeOn(): void {
    const data = this.isBroken ? undefined : this.waiting.length > 1 ? Buffer.concat(this.waiting) : this.waiting[0];
    this.waiting.length = 0;
    this.isWriting = data !== undefined;
    if (data === undefined) this.whenEmpty?.();
    else this.put(data);
  }

  private put(data: Buffer): void {
    write(1, data, 0, data.length, null, (error, written) => {
      if (error?.code === "EAGAIN") {
        setTimeout(() => this.put(data), 5);
      } else if (error) {
        this.isBroken = true; // the host is gone, and the end of the input follows
        this.writeOn();
      } else if (written < data.length) {
        this.put(data.subarray(written));
      } else {
        this.writeOn();
      }
    });
  }
}

/** Half a surrogate pair becomes U+FFFD, in keys as in values. */
function wellFormed(_: string, value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), item]));
}

/** Lines without their line feed; null for one that was too long. */
function splitter(heard: (line: Buffer | null) => void): (part: Buffer) => void {
  let parts: Buffer[] = [];
  let length = 0;
  return (part) => {
    for (let begin = 0; begin <= part.length; ) {
      const end = part.indexOf(10, begin);
      const piece = part.subarray(begin, end < 0 ? part.length : end);
      length += piece.length;
      if (length < MAX_LINE) parts.push(piece);
      else parts = [];
      if (end < 0) return;
      heard(length < MAX_LINE ? Buffer.concat(parts) : null);
      parts = [];
      length = 0;
      begin = end + 1;
    }
  };
}

/** Serve a provider on the standard streams until the input ends; call it once, first of all. */
export function serve(provider: Provider): void {
  // The standard output belongs to the protocol: what anything prints goes to the standard error.
  // `process.stdout` itself is never touched, since that would make the descriptor non-blocking.
  Object.defineProperty(process, "stdout", { get: () => process.stderr });
  console.log = console.info = console.debug = console.error;
  process.stderr.on("error", () => {}); // a host may have closed it
  const server = new Server(provider);
  const take = splitter((line) => {
    if (line === null) server.refuse(null, "TooLarge", `a line has more than ${MAX_LINE} bytes`);
    else if (line.toString("latin1").trim() !== "") server.take(line);
  });
  const end = (): void => void server.end();
  process.on("SIGTERM", end).on("SIGINT", end);
  process.on("uncaughtException", (error) => console.error(error));
  process.stdin.on("data", take).on("end", end).on("error", end);
}

// -- arguments -------------------------------------------------------------------------------------

function unfit(name: string, kind: string): Refusal {
  return new Refusal("InvalidParams", `the argument ${name} is no ${kind}`);
}

function text(params: Params, name: string): string {
  const found = params[name];
  if (typeof found !== "string") throw unfit(name, "string");
  return found;
}

function nullable(params: Params, name: string): string | null {
  const found = params[name] ?? null;
  if (found !== null && typeof found !== "string") throw unfit(name, "string or null");
  return found;
}

function list(params: Params, name: string): Message[] {
  const found = params[name] ?? [];
  if (!Array.isArray(found)) throw unfit(name, "array");
  return found as unknown as Message[];
}

function object(params: Params, name: string): Params {
  const found = params[name];
  if (typeof found !== "object" || found === null || Array.isArray(found)) throw unfit(name, "object");
  return found;
}

function number(params: Params, name: string): number | undefined {
  const found = params[name];
  if (found !== undefined && typeof found !== "number") throw unfit(name, "number");
  return found;
}
