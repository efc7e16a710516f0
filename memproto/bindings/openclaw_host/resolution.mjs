// Hooks of Node's module loader: imports of OpenClaw's SDK lead to the stand-in, and TypeScript is
// read as it lies in a package. They run on a thread of their own, beside the plugin's.

import fs from "node:fs";
import * as module from "node:module";
import { fileURLToPath } from "node:url";

const SCHEME = "openclaw-stand-in:";
const STAND_IN = new URL("./sdk.mjs", import.meta.url).href;
const SDK = /^openclaw(\/plugin-sdk(\/.*)?|\/extension-api)?$/;

// `import a, {b, c as d} from "..."`, `export {b} from "..."`, `const {b} = await import("...")`.
const CLAUSES = [
  /(?:import|export)\s*([^;'"()]*?)\s*from\s*["']([^"']+)["']/g,
  /\{([^{}]*)\}\s*=\s*await\s+import\(\s*["']([^"']+)["']\s*\)/g,
];

function source(url) {
  try {
    return fs.readFileSync(fileURLToPath(url), "utf8");
  } catch {
    return "";
  }
}

// The parts of a namespace that a module uses.
function member(space) {
  return new RegExp(`(?<![\\w$.])${space.replaceAll("$", "\\$")}\\.([A-Za-z_$][\\w$]*)`, "g");
}

// The names that a module asks another one for. One too many does no harm.
function asked(parent, specifier) {
  const names = new Set();
  const text = source(parent);
  for (const clause of CLAUSES) {
    for (const [, list, from] of text.matchAll(clause)) {
      if (from !== specifier) continue;
      const space = /\*\s*as\s+([A-Za-z_$][\w$]*)/.exec(list)?.[1];
      if (space) for (const [, name] of text.matchAll(member(space))) names.add(name);
      const braces = /\{([^}]*)\}/.exec(list)?.[1] ?? "";
      for (const item of braces.split(",")) {
        const name = /^\s*(?:type\s+)?([A-Za-z_$][\w$]*)/.exec(item)?.[1];
        if (name && name !== "default" && name !== "import" && name !== "type") names.add(name);
      }
    }
  }
  return [...names];
}

function standIn(specifier, names, known) {
  const all = new Set([...names, ...known]);
  const lines = [`import { named, whole } from ${JSON.stringify(STAND_IN)};`];
  for (const name of all) {
    lines.push(`export const ${name} = named(${JSON.stringify(specifier)}, ${JSON.stringify(name)});`);
  }
  lines.push(`export default whole(${JSON.stringify(specifier)});`);
  return lines.join("\n");
}

let known = [];

export function initialize(data) {
  known = data.known;
}

export async function resolve(specifier, context, next) {
  if (SDK.test(specifier)) {
    const query = new URLSearchParams({ from: context.parentURL ?? "" });
    return { url: `${SCHEME}${specifier}?${query}`, shortCircuit: true, format: "module" };
  }
  try {
    return await next(specifier, context);
  } catch (error) {
    // TypeScript names the file that a compiler would make of another one, or none at all.
    const parent = context.parentURL ?? "";
    if (!/\.[mc]?tsx?(\?|$)/.test(parent) || !specifier.startsWith(".")) throw error;
    const bare = specifier.replace(/\.([mc]?)js$/, ".$1ts");
    for (const attempt of [bare, `${specifier}.ts`, `${specifier}/index.ts`]) {
      if (fs.existsSync(fileURLToPath(new URL(attempt, parent)))) return next(attempt, context);
    }
    throw error;
  }
}

export async function load(url, context, next) {
  if (url.startsWith(SCHEME)) {
    const [specifier, query] = url.slice(SCHEME.length).split("?");
    const names = asked(new URLSearchParams(query).get("from"), specifier);
    return { format: "module", shortCircuit: true, source: standIn(specifier, names, known) };
  }
  if (url.startsWith("file:") && /\.m?ts(\?|$)/.test(url) && module.stripTypeScriptTypes) {
    const text = source(url);
    let plain;
    try {
      plain = module.stripTypeScriptTypes(text, { mode: "strip" });
    } catch {
      plain = module.stripTypeScriptTypes(text, { mode: "transform" });
    }
    return { format: "module", shortCircuit: true, source: plain };
  }
  return next(url, context);
}
