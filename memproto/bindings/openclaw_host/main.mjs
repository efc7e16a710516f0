// Serves one OpenClaw plugin over the wire.

import fs from "node:fs";
import { Gateway } from "./gateway.mjs";
import { causes, Line, Refusal } from "./line.mjs";
import { lacking } from "./sdk.mjs";

// The wire moves to descriptors of its own, and what is opened next takes its place: so the standard
// streams that the plugin has, and that the programs it starts inherit, hold nothing of it.
function moved(descriptor, flags, instead) {
  const kept = fs.openSync(`/dev/fd/${descriptor}`, flags);
  fs.closeSync(descriptor);
  let given;
  try {
    given = fs.openSync(instead, flags);
  } catch {
    given = fs.openSync("/dev/null", flags);
  }
  if (given !== descriptor) throw new Error(`descriptor ${given} took the place of ${descriptor}`);
  return kept;
}

const OUTPUT = moved(1, "w", "/dev/fd/2");
const INPUT = moved(0, "r", "/dev/null");

// Milliseconds in which the process ends when its input has ended.
const WATCHDOG_MS = 15_000;

const plugin = JSON.parse(process.env.MEMPROTO_OPENCLAW_PLUGIN);
let isGreeted = false;
let isEnding = false;

const METHODS = ["tools", "call_tool", "end", "switch", "delegation", "prompt"];
const BEFORE_OPEN = ["available", "open", "close", "register"];

const line = new Line({ input: INPUT, output: OUTPUT, serve: whole, finish });
const gateway = new Gateway(plugin, (level, text) => line.log(level, text));

// OpenClaw writes what a plugin prints to its log.
for (const [name, level] of [["log", "info"], ["info", "info"], ["debug", "debug"]]) {
  console[name] = (...told) => gateway.log(level, told);
}
console.warn = (...told) => gateway.log("warning", told);
console.error = (...told) => gateway.log("error", told);

// As the gateway: a rejection that nobody handles ends it, unless the network or an abort did it.
process.on("unhandledRejection", (reason) => {
  const found = causes(reason);
  const isAbort = found.some((cause) => cause.name === "AbortError");
  const isNetwork = found.some((cause) => /^(E[A-Z]+|UND_ERR_\w+)$/.test(String(cause.code ?? "")));
  const isFetch = found.some((cause) => cause.message === "fetch failed");
  if (isAbort || isNetwork || isFetch) {
    gateway.log("warning", ["unhandled rejection:", reason]);
    return;
  }
  // The last line is the one that a host shows.
  const place = String(reason?.stack ?? "").split("\n")[1]?.trim() ?? "";
  process.stderr.write(`unhandled rejection ${place}: ${reason?.name ?? ""} ${reason?.message ?? reason}\n`);
  process.exit(1);
});

// An error of a plugin that lacks something of its host is no fault of its own.
async function whole(method, params) {
  try {
    return await serve(method, params);
  } catch (error) {
    throw lacking.size > 0 ? gateway.lack() : error;
  }
}

async function serve(method, params) {
  if (method === "ping") return null;
  if (method === "initialize") return greeting(params);
  if (!isGreeted) throw new Refusal("NotOpen", "nobody has greeted");
  if (method === "available") return true;
  if (method === "register") {
    await gateway.register(params.home, params.config ?? {});
    return gateway.shown();
  }
  if (method === "close") return gateway.close();
  const isKnown = ["open", "declare", "recall", "record", "mirror", "compress", ...METHODS].includes(method);
  if (!isKnown) throw new Refusal("MethodNotFound", `there is no method ${method}`);
  if (!BEFORE_OPEN.includes(method) && (!gateway.isOpen || gateway.isStopped)) {
    throw new Refusal("NotOpen", `${method} needs a session`);
  }
  // OpenClaw writes its memory files by itself, and tells no plugin of it.
  if (method === "mirror") return null;
  return gateway[method](params);
}

function greeting(params) {
  if (isGreeted) throw new Refusal("InvalidRequest", "initialize came twice");
  if (!Array.isArray(params.wire) || !params.wire.includes(1)) {
    throw new Refusal("UnsupportedVersion", "no version in common", { wire: [1] });
  }
  isGreeted = true;
  return { wire: 1, name: plugin.id, methods: [...METHODS, "register"] };
}

async function finish() {
  if (isEnding) return;
  isEnding = true;
  setTimeout(() => process.exit(0), WATCHDOG_MS).unref();
  try {
    await gateway.close();
  } catch (error) {
    process.stderr.write(`${error?.stack ?? error}\n`);
  }
  // As the gateway: it does not wait for what nobody awaited.
  process.exit(0);
}
