// Prints the tools of a provider as JSON: a plugin registers what it offers before there is a session.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Session } from "./session.mjs";

const settings = JSON.parse(process.argv[2]);
const home = fs.mkdtempSync(path.join(os.tmpdir(), "memproto-"));
const config = {
  home,
  protocol: { version: "1.0", host: "openclaw", hooks: ["get_tool_schemas"], contexts: ["primary"] },
  deadlines: { enrich_s: 5, compress_s: 100, shutdown_s: 15 },
  limits: {},
  platform: "openclaw",
};
const session = new Session({ key: "probe", config, settings, log: () => {} });
try {
  await session.opened;
  process.stdout.write(JSON.stringify(session.tools));
} catch (error) {
  process.stderr.write(error.message);
  process.exitCode = 1;
} finally {
  await session.close();
  fs.rmSync(home, { recursive: true, force: true });
}
