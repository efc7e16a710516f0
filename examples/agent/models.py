"""Two models for the agent: a scripted one, and any behind an OpenAI-compatible URL."""

import json
import re
import urllib.request

#: Words that say nothing of what a line is about.
SMALL = frozenset(("and", "are", "does", "for", "how", "that", "the", "was"))
SMALL |= {"what", "when", "where", "which", "who", "with", "you", "your"}


class Scripted:
    """A model that notes what it is told to remember, and answers from what it can read."""

    def __call__(self, messages, tools):
        asked = [message for message in messages if message["role"] == "user"][-1]["content"]
        if messages[-1]["role"] == "tool":
            done = json.loads(messages[-1]["content"]).get("success")
            yield from self._words("I have noted it." if done else "I could not note it.")
            return
        order = re.match(r"(?i)\s*(?:please )?remember (?:that )?(.+)", asked)
        if order and any(tool["name"] == "memory" for tool in tools):
            text = order[1].partition("\n\n<memory-context")[0].strip()
            noted = {"action": "add", "target": "memory", "content": text}
            yield {"id": f"call-{len(messages)}", "name": "memory", "arguments": noted}
            return
        yield from self._words(self._answer(asked, messages))

    def _answer(self, asked, messages):
        question, _, recalled = asked.partition("\n\n<memory-context")
        question = set(self._terms(question))
        told = [message["content"] for message in messages[:-1] if message["role"] != "assistant"]
        lines = [
            line for text in [*told, recalled] for line in text.splitlines() if "?" not in line
        ]
        best = max(lines, key=lambda line: len(question & set(self._terms(line))), default="")
        shared = question & set(self._terms(best))
        return f"You told me: {best}" if shared else "I do not know that."

    def _terms(self, text):
        words = re.findall(r"\w+", text.casefold())
        return [word for word in words if len(word) > 2 and word not in SMALL]

    def _words(self, text):
        yield from re.findall(r"\S+\s*", text)


class OpenAICompatible:
    """A model behind `POST <url>/chat/completions`, streamed; `key` goes along, if there is one."""

    def __init__(self, url, name, key="", timeout_s=60.0):
        self.url = url.rstrip("/") + "/chat/completions"
        self.name, self.key, self.timeout_s = name, key, timeout_s

    def __call__(self, messages, tools):
        body = {"model": self.name, "messages": [*map(self._sent, messages)], "stream": True}
        if tools:
            body["tools"] = [{"type": "function", "function": tool} for tool in tools]
        head = {"Content-Type": "application/json"}
        if self.key:
            head["Authorization"] = f"Bearer {self.key}"
        request = urllib.request.Request(self.url, json.dumps(body).encode(), head)  # noqa: S310
        with urllib.request.urlopen(request, timeout=self.timeout_s) as answer:  # noqa: S310
            yield from self._pieces(answer)

    def _sent(self, message):
        calls = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
            }
            for call in message.get("tool_calls", ())
        ]
        return message | {"tool_calls": calls} if calls else message

    def _pieces(self, lines):
        """Texts as they come; calls of tools, which come in parts, once they are whole."""
        calls = {}
        for line in lines:
            field, _, data = line.decode().strip().partition(":")
            if field != "data" or data.strip() == "[DONE]":
                continue
            for choice in json.loads(data).get("choices", ()):
                delta = choice.get("delta", {})
                if delta.get("content"):
                    yield delta["content"]
                for part in delta.get("tool_calls") or ():
                    call = calls.setdefault(
                        part.get("index", 0), {"id": "", "name": "", "args": ""}
                    )
                    function = part.get("function") or {}
                    call["id"] = part.get("id") or call["id"]
                    call["name"] = function.get("name") or call["name"]
                    call["args"] += function.get("arguments") or ""
        for call in calls.values():
            yield {"id": call["id"], "name": call["name"], "arguments": self._parsed(call["args"])}

    def _parsed(self, text):
        try:
            return json.loads(text or "{}")
        except ValueError:
            return text  # no object: the memory answers that it is none
