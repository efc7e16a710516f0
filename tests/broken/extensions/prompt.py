"""Broken blocks of the system prompt."""

import os
import time
from typing import Any, ClassVar

from tests.broken.marks import mutant
from tests.good.plugged import Plugged
from tests.good.telling import Telling
from tests.good.tenants import HermesPromptedByUser
from tests.good.tooled import Tooled


@mutant(kills="MP-PROMPT-001", says="None", report="J1")
class AnEmptyStoreGivesNoBlock(Telling):
    def system_prompt_block(self) -> str:
        block = super().system_prompt_block()
        return block if self._entries else None  # type: ignore[return-value]


@mutant(kills="MP-PROMPT-001", says="raised KeyError: 'turn'", report="B2")
class TheBlockNeedsATurn(Telling):
    def system_prompt_block(self) -> str:
        newest = {entry["kind"]: entry["text"] for entry in self._entries}["turn"]
        return f"{super().system_prompt_block()}\nThe newest turn has {len(newest)} characters."


@mutant(kills="MP-PROMPT-002", says="after on_turn_complete it is another one", report="F7")
class TheBlockFollowsTheTurns(Telling):
    def system_prompt_block(self) -> str:
        turns = sum(1 for entry in self._entries if entry["kind"] == "turn")
        return f"{super().system_prompt_block()}\n{turns} turns are stored."


@mutant(kills="MP-PROMPT-003", says="at most 32,000 characters", report="D6")
class TheBlockHoldsTheWholeStore(Telling):
    def _snapshot(self) -> str:
        return "\n".join(entry["text"] for entry in self._entries)


@mutant(kills="MP-PROMPT-004", says="which was stored below another one", report="E3")
class TheBlockIsOfAllOpenHomes(Telling):
    _open: ClassVar[list[Telling]] = []

    def initialize(self, session_key: str, config: dict[str, Any]) -> None:
        super().initialize(session_key, config)
        self._open.append(self)
        own, self._entries = self._entries, [e for one in self._open for e in one._entries]
        self._block, self._entries = self._snapshot(), own

    def shutdown(self) -> None:
        super().shutdown()
        if self in self._open:
            self._open.remove(self)


@mutant(kills="MP-PROMPT-005", says="they differ", report="F7")
class TheBlockHoldsItsTime(Telling):
    def _snapshot(self) -> str:
        return f"{super()._snapshot()}\nAs of {time.monotonic_ns()}."


@mutant(kills="MP-PROMPT-005", says="each in a process of its own", report="F7")
class TheBlockHoldsItsProcess(Telling):
    def _snapshot(self) -> str:
        return f"{super()._snapshot()}\nServed by {os.getpid()}."


@mutant(kills="MP-PROMPT-006", says="1 turns are kept", report="F7")
class TheBlockCounts(Plugged):
    def system_prompt_block(self) -> str:
        return f"{len(self._journal._entries)} turns are kept."


@mutant(kills="MP-PROMPT-006", says="at another hour of the day it is another one", report="F7")
class TheBlockTellsTheHour(Plugged):
    def system_prompt_block(self) -> str:
        return f"It is past {time.strftime('%H')} o'clock."


@mutant(kills="MP-PROMPT-007", says="it holds", report="E4")
class TheBlockOfAPluginIsOfTheProcess(HermesPromptedByUser):
    _blocks: ClassVar[dict[str, str]] = {}

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        super().initialize(session_id, **kwargs)
        self._block = self._blocks.get(str(self.home), "") or self._block
        self._blocks[str(self.home)] = self._block


@mutant(kills="MP-PROMPT-007", says="it holds", report="E4")
class TheBlockOfAPluginIsOfTheHome(HermesPromptedByUser):
    def initialize(self, session_id: str, **kwargs: Any) -> None:
        super().initialize(session_id, **kwargs)
        for journal in self.home.glob("*/journal.jsonl"):
            other = Tooled()
            other.initialize("", {"home": str(journal.parent)})
            self._block += "".join(f"\n- {entry['text'][:200]}" for entry in other.entries()[-5:])


@mutant(kills="MP-PROMPT-002", says="after an add to user", report="F7")
class TheBlockFollowsTheProfile(Telling):
    def on_memory_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        super().on_memory_write(action, target, content, old_text)
        if target == "user":
            self._block = self._snapshot()
