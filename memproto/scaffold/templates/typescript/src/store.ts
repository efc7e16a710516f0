/**
 * The entries of a memory, in one file of JSON lines.
 *
 * Each entry is appended by one write, which begins with a line feed: a line that a full disk or a
 * kill cut short spoils no later one, and is ignored. An entry that is removed is overwritten with
 * spaces where it stands, so lines never move. So any number of processes may have the file open,
 * without a lock. Each write is on disk before the call returns.
 */

import * as fs from "node:fs";
import { dirname } from "node:path";

interface Entry {
  owner: string | null;
  kind: string;
  text: string;
  /** Where the entry stands that this one replaced. */
  instead?: number;
}

interface Held extends Entry {
  begin: number;
  end: number;
}

const MOST = 20;

export class Store {
  /** Makes the file, if it is not there. Every method throws what the file system throws. */
  constructor(private readonly path: string) {
    fs.mkdirSync(dirname(path), { recursive: true });
    fs.closeSync(fs.openSync(path, "a", 0o600));
  }

  add(entry: Entry): void {
    const line = Buffer.from(`\n${JSON.stringify(entry)}`);
    const file = fs.openSync(this.path, "a", 0o600);
    try {
      if (fs.writeSync(file, line) < line.length) throw new Error("the disk is full");
      fs.fsyncSync(file);
    } finally {
      fs.closeSync(file);
    }
  }

  /** Removes the entry that is `old`, or else the one that holds it; false if it fits none or several. */
  remove(owner: string | null, kind: string, old: string): boolean {
    const found = this.find(owner, kind, old);
    this.blank(found);
    return found.length > 0;
  }

  /** As `remove`, with a text in its place. The new line is what counts: it names the old one. */
  replace(owner: string | null, kind: string, old: string, text: string): boolean {
    const found = this.find(owner, kind, old);
    if (found[0] === undefined) return false;
    this.add({ owner, kind, text, instead: found[0].begin });
    this.blank(found);
    return true;
  }

  /** The texts that share the most words with the query, as many as `room` characters hold. */
  search(owner: string | null, query: string, room: number | null): string[] {
    const wanted = words(query);
    const ranked = this.held()
      .filter((entry) => entry.owner === owner)
      .reverse()
      .map((entry) => ({ text: entry.text, score: [...words(entry.text)].filter((word) => wanted.has(word)).length }))
      .filter(({ score }) => score > 0)
      .sort((one, other) => other.score - one.score);
    return fitting(
      ranked.slice(0, MOST).map(({ text }) => text),
      room,
    );
  }

  private find(owner: string | null, kind: string, old: string): Held[] {
    if (old === "") return [];
    const mine = this.held().filter((entry) => entry.owner === owner && entry.kind === kind);
    const exact = mine.filter((entry) => entry.text === old);
    const chosen = exact.length > 0 ? exact : mine.filter((entry) => entry.text.includes(old));
    return new Set(chosen.map((entry) => entry.text)).size === 1 ? chosen : [];
  }

  private blank(entries: Held[]): void {
    const file = fs.openSync(this.path, "r+");
    try {
      for (const { begin, end } of entries) fs.writeSync(file, " ".repeat(end - begin), begin);
      fs.fsyncSync(file);
    } finally {
      fs.closeSync(file);
    }
  }

  private held(): Held[] {
    const data = fs.readFileSync(this.path);
    const entries: Held[] = [];
    for (let begin = 0; begin < data.length; ) {
      const found = data.indexOf(10, begin);
      const end = found < 0 ? data.length : found;
      const entry = parsed(data.toString("utf8", begin, end));
      if (entry) entries.push({ ...entry, begin, end });
      begin = end + 1;
    }
    const replaced = new Set(entries.map((entry) => entry.instead));
    return entries.filter((entry) => !replaced.has(entry.begin));
  }
}

/** The entry of a line; null for a line that is cut short, damaged or blank. */
function parsed(line: string): Entry | null {
  try {
    const found = JSON.parse(line) as Entry;
    return typeof found.text === "string" && typeof found.kind === "string" ? found : null;
  } catch {
    return null;
  }
}

function words(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}_]{3,}/gu) ?? []);
}

/** Whole texts as long as they fit; the best one shortened if not even it does. */
function fitting(texts: string[], room: number | null): string[] {
  const best = texts[0];
  if (room === null || best === undefined) return texts;
  const kept: string[] = [];
  let used = -1;
  for (const text of texts) {
    const length = [...text].length + 1;
    if (used + length > room) continue;
    kept.push(text);
    used += length;
  }
  return kept.length > 0 ? kept : [[...best].slice(0, room).join("")];
}
