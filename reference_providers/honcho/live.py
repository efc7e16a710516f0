"""One session while it lasts: what is accepted goes out, what is recalled comes back."""

import atexit
import contextlib
import dataclasses
import datetime as dt
import functools
import os
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memproto.errors import Rejected, Unavailable, WriteRefused

from . import migration, names, places
from .manager import HonchoManager
from .outbox import Item, Outbox
from .recall import Recall
from .sender import Sender
from .settings import Settings
from .values import Observation

#: Seconds that a hook waits for the server: to store, to end a session, to end everything. Items
#: that are not stored then stay in the outbox.
STORE_S, END_S, CLOSE_S = 6.0, 5.0, 6.0

#: For the threads, after their connections were ended.
_JOIN_S = 2.0


class Live:
    """
    The session that `initialize` opened.

    Attributes:
        place: The place to which texts go now.
        manager: The connection.
        sender: The sender of the items.
        recall: The recalled texts.
        owner: The process whose threads they are.

    """

    def __init__(
        self,
        settings: Settings,
        config: Mapping[str, Any],
        session_key: str,
        home: Path,
        manager: HonchoManager,
    ) -> None:
        self.settings = settings
        self.manager = manager
        self._config = dict(config)
        self._workspace = manager.workspace
        self.place = places.of(settings, config, session_key, self._workspace)
        self.outbox = Outbox(home, self._workspace)
        self.sender = Sender(self.outbox, manager, settings.observation)
        self.recall = Recall(settings, manager, self.place, self.sender)
        self._held = 0
        self.owner = os.getpid()

    def open(self, *, migrates: bool = True) -> None:
        """
        Take over what was left, start the threads, and fetch what the first turn gets.

        `migrates`: the files of a bounded memory go along into a session that is empty.
        """
        self.outbox.open()
        if migrates:
            self._migrate()
        _ends_threads_at_exit()
        _RUNNING.add(self)
        self.sender.start()
        self.recall.start()
        if self.outbox.count():
            self.sender.kick()
        if self.settings.injects or self.settings.eager:
            self.recall.warm()

    def _migrate(self) -> None:
        texts = migration.texts(self.settings, self._config, self.place)
        if texts:
            body = {"texts": texts, "if_empty": True, "about": {"source": "local_memory"}}
            name = f"files-{names.digest(self.place.session)}"
            with contextlib.suppress(WriteRefused):
                self.outbox.add(self._item(name, "turn", body))

    def _item(self, name: str, kind: str, body: dict[str, Any], place: Any = None) -> Item:
        place = place or self.place
        return Item(name, kind, place.session, dataclasses.asdict(place), body)

    # -- turns ------------------------------------------------------------------------------------

    def store_turn(self, texts: list[tuple[str, str, str | None]]) -> None:
        """
        Accept a turn: peer, text and time of each message.

        Raises:
            Unavailable: It could be kept neither here nor on the server.
            WriteRefused: Too many wait for the server.

        """
        name = f"t-{uuid.uuid4().hex}"
        self._accept(self._item(name, "turn", {"texts": texts, "most": self._most()}))

    def store_recorded(
        self, turn: Mapping[str, Any], said: list[tuple[str, str, str | None]]
    ) -> None:
        """Accept a turn that the host has an id for; one that is there already is no second one."""
        name = names.safe(turn["turn_id"])
        if self.outbox.knows(name):
            return
        about = {key: turn[key] for key in ("author",) if turn.get(key)}
        place = places.of(self.settings, self._config, turn["session_id"], self._workspace)
        body = {"texts": said, "most": self._most(), "about": about, "is_checked": True}
        item = self._item(name, "turn", body, place)
        item.is_doubtful = True
        self._accept(item)

    def _most(self) -> int:
        return self.settings.message_chars

    def _accept(self, item: Item) -> None:
        every = self.settings.every
        item.is_ready = every in (0, 1)
        try:
            is_kept = self.outbox.add(item)
        except WriteRefused:
            # Those that wait for the end of the session make room for the next one.
            self.release()
            self.sender.kick("turn")
            raise
        self._held += 1
        if not is_kept or every == 1:
            item.is_ready = True
            self.sender.flush(STORE_S, "turn")
            self._settled(item, is_kept=is_kept)
        elif every == 0:
            self.sender.kick("turn")
        elif every is not None and self._held >= every:
            self.release()
            self.sender.kick("turn")

    def _settled(self, item: Item, *, is_kept: bool) -> None:
        if item.state == "refused":
            raise Rejected("the server refuses the text; it is kept below the home")
        if item.state == "waiting" and not is_kept:
            self.outbox.done([item])
            raise Unavailable("the text could be kept neither below the home nor on the server")

    def release(self) -> None:
        """Let everything be sent that waits for the end of a session, or for more turns."""
        self._held = 0
        self.outbox.release()

    # -- conclusions ------------------------------------------------------------------------------

    @property
    def is_of_one(self) -> bool:
        """True if every peer of the workspace may be asked about."""
        return places.is_of_one(self.settings, self._config)

    def pair(self, about: str, seen: Observation) -> tuple[str, str]:
        """
        Observer and observed: who is asked, and about whom; another name is that of a peer.

        `seen` says who watches whom in this session, by the server.
        """
        place = self.place
        if about == "ai":
            return place.ai, place.ai
        observed = place.user if about == "user" else names.safe(about)
        return (place.ai if seen.ai_others else observed), observed

    def conclude(self, text: str, about: str = "user") -> Item:
        """
        Accept a conclusion, and wait a little until the server has it.

        Raises:
            Rejected: The server refuses it.
            Unavailable: It could be kept nowhere.
            WriteRefused: Too many wait for the server.

        """
        body = {"about": about, "text": text}
        item = self._item(f"c-{uuid.uuid4().hex}", "conclusion", body)
        is_kept = self.outbox.add(item)
        self.sender.flush(STORE_S, "conclusion")
        self._settled(item, is_kept=is_kept)
        if self.settings.injects:
            self.recall.refresh()
        return item

    # -- the end of a session, and of all ---------------------------------------------------------

    def end(self, budget_s: float = END_S) -> None:
        """Send everything that was accepted, as far as the time goes."""
        self.release()
        if self.outbox.count():
            self.sender.flush(budget_s)

    def switch(self, session_key: str, changed: Mapping[str, Any]) -> None:
        """Go on in another session."""
        self.release()
        self.sender.kick()
        self._config.update(changed)
        self.place = places.of(self.settings, self._config, session_key, self._workspace)
        self.recall.go_to(self.place)
        if self.settings.injects:
            self.recall.warm()

    def close(self, *, ends_manager: bool) -> None:
        """Send what is left, end the threads and let go of the outbox."""
        self.recall.stop()
        self.end(CLOSE_S)
        self.halt(ends_manager=ends_manager)
        self.outbox.close()
        _RUNNING.discard(self)

    def halt(self, *, ends_manager: bool = True) -> None:
        """End the threads, and what they wait for where the connection is this session's own."""
        self.recall.stop()
        self.sender.stop()
        if ends_manager:
            self.manager.close()
        until = time.monotonic() + _JOIN_S
        self.sender.join(until - time.monotonic())
        self.recall.join(until)


#: The sessions whose threads run, also where nobody holds the provider any more.
_RUNNING: set[Live] = set()


@functools.cache
def _ends_threads_at_exit() -> None:
    """
    Have the threads of sessions that nobody shuts down end before the interpreter does; once.

    A thread that comes back from the SDK's compiled parts after that aborts the whole process.
    Accepted texts are below the home and are sent by the next session.
    """
    atexit.register(_halt_all)


def _halt_all() -> None:
    for live in list(_RUNNING):
        # A copy of the process has the connections and none of the threads.
        if live.owner == os.getpid():
            with contextlib.suppress(Exception):
                live.halt()


def now() -> str:
    """This moment, in UTC."""
    return dt.datetime.now(dt.UTC).isoformat()
