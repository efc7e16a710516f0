// Messages of OpenClaw as those of a memory provider.

function textOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part) => (typeof part === "string" ? part : part?.type === "text" ? (part.text ?? "") : ""))
    .filter((text) => text !== "")
    .join("\n");
}

const ROLES = { user: "user", assistant: "assistant", toolResult: "tool", system: "system" };

export function translated(messages) {
  return messages
    .filter((message) => Object.hasOwn(ROLES, message?.role ?? ""))
    .map((message) => {
      const told = { role: ROLES[message.role], content: textOf(message.content) };
      return message.role === "toolResult" ? { ...told, tool_call_id: String(message.toolCallId ?? "") } : told;
    });
}

// The last thing that the user said and the answers behind it, or null where one of them is missing.
export function latestTurn(messages) {
  const at = messages.findLastIndex((message) => message?.role === "user");
  if (at < 0) return null;
  const answers = messages.slice(at + 1).filter((message) => message?.role === "assistant");
  return answers.length ? { said: textOf(messages[at].content), answers } : null;
}

// The answer of a turn: what was said behind the last tool, or all that was said if that is nothing.
export function assistantText(answers) {
  const last = textOf(answers.at(-1).content);
  return last || answers.map((answer) => textOf(answer.content)).filter(Boolean).join("\n");
}
