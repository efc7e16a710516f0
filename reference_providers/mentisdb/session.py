"""One session on its chain: what it keeps and finds, and how that fares."""

import contextlib
from collections.abc import Sequence
from typing import Any

from memproto.errors import Rejected, Unavailable, WriteRefused
from memproto.reference_providers.halves import joined
from memproto.reference_providers.outbox import Outbox

from .daemon import Daemon, Thought
from .delivery import Delivery, Parcel
from .recall import Recall
from .retracting import current, quoted
from .settings import OUTBOX, Settings
from .standing import Standing
from .thoughts import USER, Maker, text_tag

#: Wall-clock seconds for everything that a hook does over the network.
RECALL_S, WRITE_S, TOOL_S, COMPRESS_S = 3.0, 5.0, 10.0, 60.0

#: Seconds for which waiting thoughts are sent at the start of a session, and at its end.
OPEN_S, CLOSE_S = 3.0, 6.0

#: Number of tags in one look-up.
_LOOKED_UP = 50

#: More of one text are not counted.
_COUNTED = 1_000


class Session:
    """
    One session on its chain. Safe on any thread; what asks the daemon blocks for a budget.

    Attributes:
        recalled: Number of thoughts that the last recall brought.
        standing: The state of the daemon.
        delivery: Thoughts on their way to it.
        recall: Finds thoughts on the chain.
        maker: Makes thoughts of this session.

    """

    def __init__(self, chosen: Settings, key: str) -> None:
        self.recalled = 0
        self.standing = Standing()
        self._daemon = Daemon(chosen)
        self.delivery = Delivery(self._daemon, Outbox(chosen.home / OUTBOX), self.standing)
        self.recall = Recall(self._daemon, self.standing, chosen.recall_count)
        self.maker = Maker(chosen.chain, key, chosen.platform)
        #: Tags of the user's texts that a compression brought, and no turn so far.
        self._shown: set[str] = set()

    def question(self, text: str) -> str:
        """A message as it is asked for; "" where there is nothing to ask."""
        return " ".join(joined(text).split())

    def keep(self, parcels: Sequence[Parcel], budget_s: float | None = None) -> bool:
        """Accept thoughts; whether the daemon has them. Raises as `Delivery.keep`."""
        is_stored = True
        if parcels:
            is_stored = self.delivery.keep(parcels, WRITE_S if budget_s is None else budget_s)
        # Thoughts that were prepared before do not hold it.
        self.recall.drop()
        return is_stored

    def extract(self, parcels: Sequence[Parcel]) -> None:
        """Accept those that are not stored yet. Raises as `Delivery.keep`."""
        known: set[str] = set()
        tags = [tag for parcel in parcels for tag in parcel.unless]
        with contextlib.suppress(Unavailable, Rejected):
            for start in range(0, len(tags), _LOOKED_UP):
                known |= self.delivery.stored(tags[start : start + _LOOKED_UP], WRITE_S)
        fresh = [p for p in parcels if known.isdisjoint(p.unless)]
        self.keep(fresh, COMPRESS_S)
        self._shown.update(map(text_tag, fresh))

    def unshown(self, turn: Sequence[Parcel]) -> list[Parcel]:
        """Those of a turn but for the user's words that a compression brought before it."""
        said = {text_tag(p) for p in turn if USER in p.thought["tags"]} & self._shown
        self._shown -= said
        return [p for p in turn if text_tag(p) not in said or USER not in p.thought["tags"]]

    def switch(self, key: str, *, is_other: bool) -> None:
        """Go on under another key; in another conversation the user's words are new ones."""
        self.maker.session = key
        self.recall.drop()
        if is_other:
            self._shown.clear()

    def search(self, query: str, limit: int) -> list[Thought]:
        """Thoughts found for a question. Raises `Unavailable`."""
        return self.recall.found(self.question(query), limit, budget_s=TOOL_S)

    def times_stored(self, text: str) -> int:
        """Copies of a text on the chain, summaries aside. Raises `Unavailable`."""
        found = self._daemon.containing(joined(text), _COUNTED, TOOL_S)
        shown = current(self._daemon, found, TOOL_S)
        return sum(one.get("thought_type") != "Summary" for one in shown)

    def retraction(self, target: str, old_text: str | None) -> list[Parcel]:
        """
        Thoughts that say that the entry which a text quotes is over.

        Raises:
            WriteRefused: It quotes no entry of the target, or several different ones.
            Unavailable: The daemon is away, or what is quoted may still wait.

        """
        self.delivery.flush(WRITE_S)
        if self.standing.is_resting():
            raise Unavailable(self.standing.fault)
        try:
            return self.maker.retraction(quoted(self._daemon, target, old_text, WRITE_S))
        except Unavailable as away:
            self.standing.failed(away)
            raise
        except WriteRefused:
            if self.delivery.waiting():
                raise Unavailable("the entry that is meant may wait for the daemon") from None
            raise

    def learn(self, content: str, kind: str, tags: list[str]) -> bool:
        """Accept what a tool keeps; whether the daemon has it. Raises as `Delivery.keep`."""
        return self.keep(self.maker.lesson(content, kind, tags))

    def status(self) -> dict[str, Any]:
        """As in `schemas/recall-status.schema.json`."""
        waiting, fault = self.delivery.waiting(), self.standing.fault
        found: dict[str, Any] = {
            "state": "down" if fault else "degraded" if waiting or self.delivery.lost else "ok",
            "recalled": self.recalled,
            "pending_writes": waiting,
            "lost_writes": self.delivery.lost,
        }
        if fault:
            found |= {"message": fault, "since": self.standing.since}
        return found

    def close(self) -> None:
        """Send what waits, and let go of everything."""
        self.recall.drop()
        self.delivery.flush(CLOSE_S)
        with contextlib.suppress(Exception):
            self._daemon.close()
