// Messages as OpenClaw's hooks get them: parts in lists, tool calls and tool results of their own.

const USAGE = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

export const MODEL = { provider: "memproto", model: "kit", api: "openai-completions" };

function parts(content) {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.map((part) => (typeof part === "string" ? { type: "text", text: part } : part));
}

function argumentsOf(call) {
  const given = call?.function?.arguments ?? call?.arguments ?? {};
  if (typeof given !== "string") return given;
  try {
    return JSON.parse(given);
  } catch {
    return { text: given };
  }
}

export function user(text) {
  return { role: "user", content: parts(text), timestamp: Date.now() };
}

export function assistant(content, calls = []) {
  const made = calls.map((call) => ({
    type: "toolCall",
    id: String(call?.id ?? "call"),
    name: String(call?.function?.name ?? call?.name ?? ""),
    arguments: argumentsOf(call),
  }));
  const stopReason = made.length ? "toolUse" : "stop";
  const rest = { usage: structuredClone(USAGE), stopReason, timestamp: Date.now() };
  return { role: "assistant", content: [...parts(content), ...made], ...MODEL, ...rest };
}

// The messages of another host. A system prompt is none of a transcript's.
export function translated(messages) {
  const found = [];
  for (const message of messages) {
    if (message === null || typeof message !== "object") continue;
    const { role, content } = message;
    if (role === "user") found.push({ ...user(""), content: parts(content) });
    else if (role === "assistant") found.push(assistant(content, message.tool_calls ?? []));
    else if (role === "tool") {
      found.push({
        role: "toolResult",
        toolCallId: String(message.tool_call_id ?? "call"),
        toolName: String(message.name ?? ""),
        content: parts(content),
        isError: false,
        timestamp: Date.now(),
      });
    }
  }
  return found;
}
