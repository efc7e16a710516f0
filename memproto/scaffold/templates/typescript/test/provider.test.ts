/** Tests of what no specification asks; the conformance kit does the rest. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ExampleMemory } from "../src/provider.js";
import { Store } from "../src/store.js";

const HERE = import.meta.dirname ?? new URL(".", import.meta.url).pathname;

const HOMES: string[] = [];

function home(): string {
  const folder = mkdtempSync(join(tmpdir(), "example-memory-"));
  HOMES.push(folder);
  return folder;
}

after(() => {
  for (const folder of HOMES) rmSync(folder, { recursive: true, force: true });
});

function opened(folder: string): ExampleMemory {
  const memory = new ExampleMemory();
  memory.open("s1", { home: folder });
  return memory;
}

test("the text that fits best comes first", () => {
  const memory = opened(home());
  memory.record("The boat is in Velbellogren.", "Noted.");
  memory.record("The boat is blue and old.", "Noted.");
  const found = memory.recall("Is the boat blue?") ?? "";
  assert.ok(found.indexOf("blue") < found.indexOf("Velbellogren"), found);
});

test("a line that was cut short costs no later one", () => {
  const path = join(home(), "entries.jsonl");
  writeFileSync(path, '\n{"owner":null,"kind":"turn","te');
  const store = new Store(path);
  store.add({ owner: null, kind: "turn", text: "The key is under the mat." });
  assert.deepEqual(store.search(null, "Which key?", null), ["The key is under the mat."]);
});

test("what is removed is on the disk no more", () => {
  const path = join(home(), "entries.jsonl");
  const store = new Store(path);
  store.add({ owner: null, kind: "memory", text: "The code is 4711." });
  assert.ok(store.remove(null, "memory", "code"));
  assert.ok(!readFileSync(path, "utf8").includes("4711"));
});

test("prints are no messages", () => {
  const words = `
    import { serve } from "${HERE}/../src/wire.js";
    import { ExampleMemory } from "${HERE}/../src/provider.js";
    serve(new ExampleMemory());
    console.log("printed");
    process.stdout.write("written\\n");
  `;
  const input = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n';
  const done = spawnSync(process.execPath, ["--input-type=module", "-e", words], { input, encoding: "utf8" });
  assert.equal(done.stdout, '{"jsonrpc":"2.0","id":1,"result":null}\n');
  assert.match(done.stderr, /printed[\s\S]*written/);
  assert.equal(done.status, 0);
});
