// The stand-in of OpenClaw's plugin SDK: the few helpers that memory plugins call, and for every
// other name something that can be imported and, once it is used, says that it is not there.

import os from "node:os";
import path from "node:path";

// Names of the SDK, or of `api.runtime`, that the plugin used and nobody stands in for.
export const lacking = new Set();

export class NotStoodInFor extends Error {
  constructor(name) {
    super(`memproto's stand-in of OpenClaw has no ${name}`);
    this.name = "NotStoodInFor";
  }
}

// A value that may be handed around and asked for its parts; a use of it is noted, and throws.
export function absent(name) {
  const use = () => {
    lacking.add(name);
    throw new NotStoodInFor(name);
  };
  return new Proxy(function () {}, {
    apply: use,
    construct: use,
    get(target, key) {
      if (key === "prototype") return target.prototype;
      if (key === "then" || typeof key === "symbol") return undefined;
      return absent(`${name}.${key}`);
    },
  });
}

function asText(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function read(params, key) {
  return params?.[key] ?? params?.[key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
}

function required(key, options) {
  if (options.required) throw new Error(`${options.label ?? key} required`);
  return undefined;
}

export function stateDir() {
  return process.env.OPENCLAW_STATE_DIR || path.join(os.homedir(), ".openclaw");
}

export function resolvePath(given) {
  const text = String(given).trim();
  const isHome = text === "~" || text.startsWith("~/");
  return path.resolve(isHome ? path.join(os.homedir(), text.slice(1)) : text);
}

const emptySchema = { type: "object", additionalProperties: false, properties: {} };

// Name to value. Names are unique over the SDK's modules, so that the module is not asked for.
export const known = {
  definePluginEntry: (entry) => ({
    ...entry,
    configSchema: typeof entry.configSchema === "function" ? entry.configSchema() : entry.configSchema,
  }),
  emptyPluginConfigSchema: () => ({
    safeParse: (value) => ({ success: true, data: value ?? {} }),
    jsonSchema: emptySchema,
  }),
  buildPluginConfigSchema: (schema) => ({
    safeParse: (value) => schema.safeParse(value),
    jsonSchema: emptySchema,
  }),
  buildJsonPluginConfigSchema: (jsonSchema) => ({
    safeParse: (value) => ({ success: true, data: value ?? {} }),
    jsonSchema,
  }),
  jsonResult: (payload) => ({
    content: [{ type: "text", text: asText(payload) }],
    details: payload,
  }),
  textResult: (text, details) => ({ content: [{ type: "text", text }], details }),
  readStringParam(params, key, options = {}) {
    const found = read(params, key);
    if (typeof found !== "string") return required(key, options);
    const text = options.trim === false ? found : found.trim();
    return text || options.allowEmpty ? text : required(key, options);
  },
  readNumberParam(params, key, options = {}) {
    const found = read(params, key);
    const number = typeof found === "string" && found.trim() ? Number(found) : found;
    if (typeof number !== "number" || !Number.isFinite(number)) return required(key, options);
    return options.integer ? Math.trunc(number) : number;
  },
  readStringArrayParam(params, key, options = {}) {
    const found = read(params, key);
    const list = Array.isArray(found) ? found : typeof found === "string" ? [found] : [];
    const texts = list.filter((item) => typeof item === "string" && item.trim());
    return texts.length ? texts.map((item) => item.trim()) : required(key, options);
  },
  stringEnum: (values, options = {}) => ({ type: "string", enum: [...values], ...options }),
  optionalStringEnum: (values, options = {}) => ({ type: "string", enum: [...values], ...options }),
  resolveStateDir: stateDir,
  resolveUserPath: resolvePath,
  resolveDefaultAgentId: () => "main",
  DEFAULT_AGENT_ID: "main",
  normalizeAgentId: (given) => String(given ?? "").trim().toLowerCase() || "main",
  escapeRegExp: (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"),
  sleep: (milliseconds) => new Promise((done) => setTimeout(done, milliseconds)),
};

// The value for an import of `name` from `module` of the SDK.
export function named(module, name) {
  return Object.hasOwn(known, name) ? known[name] : absent(`${name} of ${module}`);
}

// The value of `require` for a module of the SDK, and of a dynamic import.
export function whole(module) {
  const found = { __esModule: true };
  const parts = new Proxy(found, {
    get(target, key) {
      if (key === "default") return parts;
      if (key === "then" || typeof key === "symbol" || key in target) return target[key];
      return named(module, key);
    },
    has: (target, key) => typeof key === "string" && key !== "then",
  });
  return parts;
}
