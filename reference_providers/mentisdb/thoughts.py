"""The hooks' texts as thoughts: each with tags by which it is known again."""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from memproto.fence import strip_memory_context
from memproto.reference_providers.halves import joined

from .delivery import Parcel
from .keys import digest, plain
from .retracting import ENTRY, MARK, OVER

#: A daemon takes requests of 2 MB; a character is up to four bytes, and a control character six.
_LONGEST = 250_000

#: Characters of a task, of its result and of a topic that are kept.
_TASK, _RESULT, _TOPIC, _TOPICS = 4_000, 16_000, 80, 5


#: The tag of what the user said.
USER = "role:user"


class Maker:
    """
    Makes the thoughts of one session.

    Attributes:
        session: The session to which what comes belongs; it may be switched.

    """

    def __init__(self, chain: str, session: str, platform: str) -> None:
        self.session = session
        self._chain = chain
        self._every = ["memproto", *([f"platform:{plain(platform)}"] if platform else [])]

    def turn(
        self,
        said: str,
        answer: str,
        *,
        turn_id: str | None = None,
        session: str | None = None,
        more: Iterable[str] = (),
    ) -> list[Parcel]:
        """Both sides of a turn, each once for a `turn_id`."""
        # A host may have left its context block at the end of the message.
        sides = {"user": strip_memory_context(said), "assistant": answer}
        session = self.session if session is None else session
        found: list[Parcel] = []
        for role, text in sides.items():
            uid = None if turn_id is None else digest("turn", session, turn_id, role)
            tags = [f"role:{role}", *more]
            found += self._parcels(text, "Finding", tags, uid=uid, session=session)
        return found

    def write(self, target: str, content: str) -> list[Parcel]:
        """A write of the host's memory tool."""
        kind = "UserTrait" if target == "user" else "LessonLearned"
        return self._parcels(content, kind, [f"{ENTRY}{plain(target)}"])

    def retraction(self, entries: Iterable[str]) -> list[Parcel]:
        """Thoughts that say that entries are over, and not what was in them."""
        over = [MARK, *(f"{OVER}{entry}" for entry in sorted(entries))]
        return self._parcels("An entry of the memory is over.", "Correction", over)

    def lesson(self, content: str, kind: str, tags: Sequence[str]) -> list[Parcel]:
        """The thought that the model keeps by the tool."""
        return self._parcels(content, kind, ["tool", *map(joined, tags)])

    def delegated(self, task: str, result: str, child: str) -> list[Parcel]:
        """A subagent's task and its result."""
        text = f"Delegated task: {task[:_TASK]}\nResult: {result[:_RESULT]}"
        tags = ["delegation", *([f"child:{plain(child)}"] if child else [])]
        return self._parcels(text, "TaskComplete", tags)

    def extracted(self, messages: Sequence[Any]) -> list[Parcel]:
        """The user's words in messages that are about to go, unless they are stored already."""
        found: list[Parcel] = []
        for text in _said(messages):
            uid = digest("extract", self.session, text)
            parcels = self._parcels(text, "Finding", [USER, "pre-compress"], uid=uid)
            found += [Parcel(p.thought, (*p.unless, text_tag(p)), is_new=False) for p in parcels]
        return found

    def summary(self, messages: Sequence[Any]) -> list[Parcel]:
        """The topics of a session, once for the same messages."""
        said = _said(messages)
        if not said:
            return []
        topics = "; ".join(" ".join(text.split())[:_TOPIC] for text in said[:_TOPICS])
        text = f"Session {plain(self.session)}: {len(said)} turns. Topics: {topics}"
        uid = digest("end", self.session, *said)
        return self._parcels(text, "Summary", ["session-end"], uid=uid)

    def _parcels(
        self,
        text: str,
        kind: str,
        tags: Iterable[str],
        *,
        uid: str | None = None,
        session: str | None = None,
    ) -> list[Parcel]:
        if not text.strip():
            return []
        parts = list(_parts(joined(text)))
        name = uid or uuid.uuid4().hex
        origin = f"session:{plain(self.session if session is None else session)}"
        found = []
        for number, part in enumerate(parts):
            own = [f"mp:{name}-{number}", f"text:{digest(part)}", origin, *self._every, *tags]
            if len(parts) > 1:
                own.append(f"part:{number + 1}/{len(parts)}")
            thought = {
                "chain_key": self._chain,
                "thought_type": kind,
                "content": part,
                "tags": own,
            }
            found.append(Parcel(thought, (own[0],), is_new=uid is None))
        return found


def text_tag(parcel: Parcel) -> str:
    """The tag by which texts are known to be the same."""
    tag: str = parcel.thought["tags"][1]
    return tag


def _parts(text: str) -> Iterator[str]:
    for start in range(0, len(text), _LONGEST):
        yield text[start : start + _LONGEST]


def _said(messages: Sequence[Any]) -> list[str]:
    """The user's words, without the host's context blocks; a part without text is passed over."""
    texts = [
        strip_memory_context(message["content"])
        for message in messages
        if isinstance(message, dict)
        and message.get("role") == "user"
        and isinstance(message.get("content"), str)
    ]
    return [text for text in texts if text.strip()]
