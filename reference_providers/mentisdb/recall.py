"""Thoughts for a question: asked for, prepared ahead, and cut to the room that there is."""

import re
import threading
import time
from collections import Counter
from collections.abc import Iterable
from itertools import islice

from memproto.errors import Misconfigured, ProviderError, Unavailable

from .daemon import Daemon, NoRoute, Thought
from .retracting import current
from .standing import Standing

#: Characters of a message that are asked for: its beginning and its end.
_ASKED = 2_000

#: A longer thought is shown by its part that bears on the question.
_SHOWN = 1_500

#: Seconds for which prepared thoughts are given.
_FRESH_S = 30.0

#: Number of words that are looked for in a long thought, and of their places that are compared.
_SOUGHT, _PLACES = 12, 5_000

#: An older daemon finds one word at a time.
_MOST_WORDS, _SHORTEST = 4, 4

_WORD = re.compile(r"\w+")


class Recall:
    """
    Recall from one chain, with room for one answer that was prepared.

    Safe on any thread. A preparation runs on a thread of its own, one at a time.
    """

    def __init__(self, daemon: Daemon, standing: Standing, count: int) -> None:
        self._daemon = daemon
        self._standing = standing
        self._count = count
        self._has_ranks = True
        self._changed = threading.Condition()
        self._wanted = ""
        self._running = ""
        self._ready: tuple[str, float, list[Thought]] | None = None
        self._drops = 0

    def found(self, question: str, limit: int | None = None, *, budget_s: float) -> list[Thought]:
        """
        Thoughts that the daemon finds, the best first.

        Raises:
            Unavailable: It does not answer, or did not a moment ago.

        """
        if self._standing.is_resting():
            raise Unavailable(self._standing.fault)
        ends = time.monotonic() + budget_s
        try:
            found = self._asked(_part(question), limit or self._count, budget_s)
            found = current(self._daemon, found, ends - time.monotonic())
        except Unavailable as away:
            self._standing.failed(away)
            raise
        self._standing.served()
        return _once(found)

    def _asked(self, question: str, limit: int, budget_s: float) -> list[Thought]:
        ends = time.monotonic() + budget_s
        if self._has_ranks:
            try:
                return self._daemon.ranked(question, limit, budget_s)
            except NoRoute:
                found = self._by_words(question, limit, ends)
                # Something answers, and has found a thing: an older daemon, and no other port.
                self._has_ranks = not found
                return found
        return self._by_words(question, limit, ends)

    def _by_words(self, question: str, limit: int, ends: float) -> list[Thought]:
        """An older daemon looks for a text as it stands; so its longest words are asked for."""
        hits: dict[str, tuple[int, Thought]] = {}
        for word in _telling(question, _MOST_WORDS):
            budget_s = max(0.0, ends - time.monotonic())
            for thought in self._daemon.containing(word, limit, budget_s, question=question):
                times, _ = hits.get(thought["content"], (0, thought))
                hits[thought["content"]] = (times + 1, thought)
        ranked = sorted(hits.values(), key=lambda hit: -hit[0])
        return [thought for _, thought in ranked[:limit]]

    # -- preparing ---------------------------------------------------------------------------------

    def prepared(self, question: str, *, budget_s: float) -> list[Thought]:
        """Thoughts prepared for this very question, else those found now. Raises as `found`."""
        ends = time.monotonic() + budget_s
        with self._changed:
            self._changed.wait_for(lambda: self._running != question or not question, budget_s)
            ready, self._ready = self._ready, None
        if ready is not None and ready[0] == question and time.monotonic() - ready[1] < _FRESH_S:
            return ready[2]
        left_s = ends - time.monotonic()
        if left_s <= 0:
            raise Unavailable("the answer that was being prepared did not come in time")
        return self.found(question, budget_s=left_s)

    def prepare(self, question: str, *, budget_s: float) -> None:
        """Begin to look for a question's answer, and return; a question in line gives way."""
        with self._changed:
            self._wanted = question
            if self._running or not question:
                return
            self._running = question
        work = threading.Thread(target=self._work, args=(budget_s,), daemon=True)
        try:
            work.start()
        except RuntimeError:
            # The interpreter ends: there is no next turn.
            self.drop()
            self._end()

    def drop(self) -> None:
        """Forget what was prepared, and what is under way."""
        with self._changed:
            self._wanted, self._ready = "", None
            self._drops += 1

    def _work(self, budget_s: float) -> None:
        while self._next():
            question, drops = self._running, self._drops
            try:
                found = self.found(question, budget_s=budget_s)
            except (ProviderError, Misconfigured):
                continue
            with self._changed:
                if drops == self._drops:
                    self._ready = (question, time.monotonic(), found)

    def _next(self) -> bool:
        with self._changed:
            self._running, self._wanted = self._wanted, ""
            self._changed.notify_all()
            return bool(self._running)

    def _end(self) -> None:
        with self._changed:
            self._running = ""
            self._changed.notify_all()


# -- texts -----------------------------------------------------------------------------------------


def _part(question: str) -> str:
    if len(question) <= _ASKED:
        return question
    return f"{question[: _ASKED // 2]} {question[-_ASKED // 2 :]}"


def _telling(question: str, most: int) -> list[str]:
    words = _WORD.findall(question.casefold())
    telling = dict.fromkeys(word for word in words if len(word) >= _SHORTEST)
    return sorted(telling, key=len, reverse=True)[:most]


def _once(thoughts: Iterable[Thought]) -> list[Thought]:
    """Each text once: a daemon may have got one twice, and a transcript repeats others."""
    return list({thought["content"]: thought for thought in thoughts}.values())


def rendered(question: str, thoughts: Iterable[Thought], room: int) -> str:
    """Each thought with its type, as many as there is room for; of the first at least a part."""
    lines: list[str] = []
    for thought in thoughts:
        line = f"[{label(thought)}] {excerpt(thought['content'], question, _SHOWN)}"
        left = room - sum(map(len, lines)) - 2 * len(lines)
        if len(line) <= left or not lines:
            lines.append(line[: max(0, left)])
    return "\n\n".join(lines)


def label(thought: Thought) -> str:
    """The type of a thought, where it is a word."""
    kind = thought.get("thought_type")
    return kind if isinstance(kind, str) and kind.isidentifier() else "Memory"


def excerpt(text: str, question: str, room: int) -> str:
    """The whole text, or the part of it in which most words of a question stand."""
    if len(text) <= room:
        return text
    at = _best(text, _telling(question, _SOUGHT), room // 2)
    start = max(0, min(at - room // 4, len(text) - room))
    return f"…{text[start : start + room]}…" if start else f"{text[:room]}…"


def _best(text: str, wanted: list[str], width: int) -> int:
    """Beginning of the stretch with the most of the wanted words, each counted once."""
    if not wanted:
        return 0
    places = re.finditer("|".join(map(re.escape, wanted)), text, re.IGNORECASE)
    hits = [(hit.start(), hit[0].casefold()) for hit in islice(places, _PLACES)]
    inside: Counter[str] = Counter()
    best, most, end = 0, 0, 0
    for at, word in hits:
        while end < len(hits) and hits[end][0] < at + width:
            inside[hits[end][1]] += 1
            end += 1
        if len(inside) > most:
            best, most = at, len(inside)
        inside[word] -= 1
        if not inside[word]:
            del inside[word]
    return best
