/** The hooks: when a host calls them, and what they do, is in the specification's chapters. */

import { join } from "node:path";
import { Store } from "./store.js";
import { type Config, type Json, type Provider, Report } from "./wire.js";

const ACTIONS = ["add", "replace", "remove"];

/** The block in which a host shows what was recalled; it is not the user's. */
const BLOCK =
  /<memory-context( nonce="[A-Za-z0-9_-]{8,64}")?>\n\[System note: [^\]]*\]\n[\s\S]*?\n<\/memory-context\1>\s*/g;

/** Keeps turns and memory writes, and recalls them by their words. */
export class ExampleMemory implements Provider {
  readonly name: string = "example-memory";
  private store: Store | null = null;
  private user: string | null = null;
  private room: number | null = null;
  private isKept = true;

  available(): boolean {
    return true;
  }

  /** Start a session; the home, the user and the limits come from `config`. */
  open(_sessionKey: string, config: Config): void {
    this.user = config.user_id ?? null;
    this.room = config.limits?.recall_chars ?? null;
    const kept = config.protocol?.contexts ?? ["primary"];
    // A job or a subagent: what it says is not the user's.
    this.isKept = kept.includes(config.agent_context ?? "primary");
    try {
      this.store = new Store(join(config.home, "example-memory.jsonl"));
    } catch (error) {
      throw new Report("Misconfigured", `the home cannot be used: ${String(error)}`);
    }
  }

  /** The provider's promises. They are judged, and what is left out is not. */
  declare(): { [key: string]: Json } {
    return {
      stores: ["turns", "writes"],
      recall_basis: "query",
      isolates: ["profile", "user"],
      mirrors: { memory: ACTIONS, user: ACTIONS },
      spec_version: "1.0",
    };
  }

  /** Finds what is known about the message, or null; at most 5 s. */
  recall(userMessage: string): string | null {
    try {
      return this.opened().search(this.user, userMessage, this.room).join("\n") || null;
    } catch {
      return null;
    }
  }

  record(userMessage: string, assistantResponse: string): void {
    if (!this.isKept) return;
    const said = userMessage.replace(BLOCK, "");
    reported(() => this.opened().add({ owner: this.user, kind: "turn", text: `${said}\n${assistantResponse}` }));
  }

  /** Do what the built-in memory tool did, or throw; never neither. */
  mirror(action: string, target: string, content: string | null, oldText: string | null): void {
    if (!this.isKept) return;
    const [store, owner, text, old] = [this.opened(), this.user, content ?? "", oldText ?? ""];
    if (!ACTIONS.includes(action)) throw new Report("Rejected", `the actions are ${ACTIONS.join(", ")}`);
    reported(() => {
      if (action === "add") store.add({ owner, kind: target, text });
      else if (!(action === "remove" ? store.remove(owner, target, old) : store.replace(owner, target, old, text))) {
        throw new Report("WriteRefused", "the old text fits no entry, or several");
      }
    });
  }

  compress(): void {
    // Every turn is stored already.
  }

  close(): void {
    // Every hook wrote before it returned, and nothing is open.
  }

  private opened(): Store {
    if (this.store === null) throw new Report("Unavailable", "no session is open");
    return this.store;
  }
}

/** A write that fails says so by an error that the host knows. */
function reported(write: () => void): void {
  try {
    write();
  } catch (error) {
    if (error instanceof Report) throw error;
    throw new Report("Unavailable", `example-memory.jsonl cannot be used: ${String(error)}`);
  }
}
