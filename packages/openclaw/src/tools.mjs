// The tools of a provider, which are known before it has a session: asked for once, and kept.

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const PROBE = fileURLToPath(new URL("./probe.mjs", import.meta.url));

// Milliseconds that the start of a gateway waits for a provider whose tools nobody has seen.
const PROBE_MS = 20_000;

export class Tools {
  // `file` keeps them from one start to the next.
  constructor(settings, file, log) {
    const { program, target, env } = settings;
    this.key = JSON.stringify([program, target, env]);
    this.file = file;
    this.log = log;
    this.known = this.#kept() ?? this.#asked(settings);
  }

  #kept() {
    try {
      const { key, tools } = JSON.parse(fs.readFileSync(this.file, "utf8"));
      return key === this.key && Array.isArray(tools) ? tools : null;
    } catch {
      return null;
    }
  }

  #asked(settings) {
    const options = { encoding: "utf8", timeout: PROBE_MS, maxBuffer: 16 * 1024 * 1024 };
    const ran = spawnSync(process.execPath, [PROBE, JSON.stringify(settings)], options);
    if (ran.status !== 0) {
      const reason = ran.error?.message ?? (ran.stderr || `it ended with ${ran.signal ?? ran.status}`);
      this.log("warn", `no tools are offered: ${reason}`);
      return [];
    }
    const tools = JSON.parse(ran.stdout);
    this.#keep(tools);
    return tools;
  }

  #keep(tools) {
    try {
      fs.mkdirSync(path.dirname(this.file), { recursive: true, mode: 0o700 });
      fs.writeFileSync(this.file, JSON.stringify({ key: this.key, tools }), { mode: 0o600 });
    } catch (error) {
      this.log("debug", `the tools are not kept: ${error.message}`);
    }
  }

  // A session knows them better.
  learn(tools) {
    if (JSON.stringify(tools) === JSON.stringify(this.known)) return;
    this.known = tools;
    this.#keep(tools);
  }
}
