"""Providers' answers beside recall: for the prompt, a summary, a list, at a user's wish."""

from collections.abc import Container, Mapping, Sequence
from typing import Any

from memproto.adapters.texts import cut_at_line
from memproto.fence import build_memory_context_block
from memproto.fence.sanitize import sanitize_context
from memproto.registry.answers import Answer
from memproto.registry.calls.lanes import ProviderLane
from memproto.registry.calls.questions import Asked, UnfitAnswer, as_document, as_text, ask
from memproto.registry.core import Core
from memproto.registry.messages import copied, copier, normalised
from memproto.registry.parts.status import answers
from memproto.registry.parts.tools import Tools
from memproto.types import Message

_PROMPT = "system_prompt_block"
_NOTES = "compress_notes"
_ITEMS = "recall_items"
_NO_TOOLS = "\n[None of the tools of this memory can be called in this session.]"
_STATUSES = ("ok", "partial", "unavailable")


class Contributions:
    """The part of a registry that asks all providers and puts their answers together."""

    def __init__(self, core: Core, tools: Tools) -> None:
        self._core = core
        self._tools = tools
        #: A session key, and the block that the providers gave in that session.
        self._prompt: tuple[str | None, str] = None, ""

    def system_prompt_block(self) -> str:
        """
        Returns a section for each provider that serves `prompt` and says something, in order.

        Asked once in a session, all at once, for `Deadlines.ask_s` at most; the text is the same,
        byte for byte, until a switch to another session. Each block is made harmless for the
        fence, cut to `Limits.prompt_chars`, and headed by its provider's name. A provider that
        failed is left out for the session. If none of a provider's tools is offered, its
        section says so: the block may speak of them, and may hold what is remembered as well.
        """
        key, kept = self._core.session.key, self._prompt
        if kept[0] == key:
            return kept[1]
        lanes = self._core.serving("prompt")
        if not lanes:
            return ""
        calls = ask(lanes, _PROMPT, self._core.gather(self._core.deadlines.ask_s), as_text)
        texts = _texts(calls, self._core.limits.prompt_chars)
        block = _sections(texts, {lane.label for lane in lanes if self._is_toolless(lane)})
        # The providers were asked without the lock, which is held for no hook. Another thread may
        # have asked them as well, and been first: its block is the one that the model saw, and so
        # it is returned here. Or the host is in the next session, whose block is not replaced.
        with self._core.lock:
            if self._core.session.key == key != self._prompt[0]:
                self._prompt = key, block
            return self._prompt[1] if self._prompt[0] == key else block

    def _is_toolless(self, lane: ProviderLane) -> bool:
        """True if the provider has tools, and the model is offered none of them."""
        named = lane.capabilities.get("tool_names") if "tools" in lane.extensions else ()
        return bool(named) and not any(tool.lane is lane for tool in self._tools.offered())

    def compress_notes(self, messages: Sequence[Message]) -> str:
        """Returns what a summary of `messages` should hold, framed as data."""
        lanes = self._core.serving("compress_notes")
        if not lanes:
            return ""
        copy = copier(normalised(messages))
        gather = self._core.gather(self._core.deadlines.compress_s)
        calls = ask(lanes, _NOTES, gather, as_text, lambda: (copy(),))
        return build_memory_context_block(_texts(calls, self._core.limits.notes_chars))

    def recall_items(self, request: Mapping[str, Any]) -> list[Answer]:
        """Returns the items of each provider that serves `items`, in order."""
        session, lanes = self._core.session, self._core.serving("items")
        if not lanes:
            return []
        gather = self._core.gather(self._core.deadlines.enrich_s)
        calls = ask(lanes, _ITEMS, gather, _as_items, lambda: (copied(request),))
        return answers(lanes, "items", calls) if session is self._core.session else []

    def export(self, scope: Mapping[str, Any]) -> list[Answer]:
        """Returns what each provider has stored in a scope."""
        return self._private("export", scope, _as_export)

    def forget(self, scope: Mapping[str, Any]) -> list[Answer]:
        """Have each provider remove what is stored in a scope; returns how much that was."""
        return self._private("forget", scope, _as_forgotten)

    def _private(self, hook: str, scope: Mapping[str, Any], fits: Any) -> list[Answer]:
        if self._core.is_elsewhere():
            return []
        lanes, asked = self._core.lanes, self._core.serving("privacy")
        gather = self._core.gather(self._core.deadlines.privacy_s)
        calls = ask(asked, hook, gather, fits, lambda: (copied(scope),), after_writes=True)
        return answers(lanes, "privacy", calls)


def _sections(texts: Sequence[tuple[str, str]], toolless: Container[str]) -> str:
    harmless = [(label, sanitize_context(text).strip()) for label, text in texts]
    return "\n\n".join(
        f"### {label} memory\n{text}{_NO_TOOLS if label in toolless else ''}"
        for label, text in harmless
        if text
    )


def _texts(calls: Sequence[Asked], most: int) -> list[tuple[str, str]]:
    return [(call.lane.label, _cut(call, most)) for call in calls if call.outcome == "ok"]


def _cut(call: Asked, most: int) -> str:
    """The text of an answer, up to the last line that has room."""
    text: str = call.found
    if len(text) > most:
        call.lane.tell(call.hook, "wrong_type", detail=f"cut to {most} characters")
    return cut_at_line(text, most)


def _as_items(answer: Any) -> dict[str, Any]:
    document = _with_items(answer)
    if document.get("status") not in _STATUSES:
        raise UnfitAnswer("no status that there is")
    return document


def _as_export(answer: Any) -> dict[str, Any]:
    return _with_items(answer)


def _with_items(answer: Any) -> dict[str, Any]:
    document = as_document(answer)
    items = document.get("items")
    if not isinstance(items, list) or not all(map(_is_item, items)):
        raise UnfitAnswer("items without id or text")
    return document


def _is_item(item: object) -> bool:
    return isinstance(item, dict) and all(isinstance(item.get(key), str) for key in ("id", "text"))


def _as_forgotten(answer: Any) -> dict[str, Any]:
    document = as_document(answer)
    numbers = [document.get(key) for key in ("removed", "pending")]
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise UnfitAnswer("no number of what is removed or pending")
    return document
