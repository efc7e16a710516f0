"""
Takes leaked context blocks out of a stream of text, whatever the chunks that it comes in.

The stream is read one character at a time wherever a tag may have begun, and nowhere else, so no
chunk boundary can be seen in the result. The text that is held until a decision is bounded. Every
position is one of the stream itself, never of a copy in lower case.
"""

import functools
import re
from typing import Literal

from memproto.fence.block import checked_nonce
from memproto.fence.characters import HIDDEN, visible
from memproto.fence.sanitize import checked_text

#: Characters that are held at most until it is decided whether a block begins.
HELD_AT_MOST = 512

_NAME = "memorycontext"
#: The beginning of the note in every known wording; a model may go on in its own words.
_NOTE_BEGINS = "systemnotethefollowing"
_HIDDEN = frozenset(HIDDEN)
_GAP = _HIDDEN | set(" \n-")
_LEAD = _GAP | set("/!?\\")
_WORD = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")

_Verdict = Literal["no tag", "tag", "block"]


#: The beginning of a tag, as far as the next character tells.
_OPENER = re.compile(r"<(?=[\x00-\x20\x7f\-_~/!?\\]*+(?:[mMrR]|\Z))")


@functools.cache
def _any_opener() -> re.Pattern[str]:
    looks = "".join(chr(code) for code, fold in list(visible().items()) if fold == "<")
    return re.compile(f"[{looks}](?![a-ln-qs-zA-LN-QS-Z0-9<])")


class _Tag:
    """
    A tag that may have begun, and what was held of it.

    Attributes:
        held: The text since its first character.
        closing: True if it is a closing one.
        ends: Behind its name, or behind its `>` where nothing but white space stands before that.
        named: Behind its name; 0 while that is not complete.

    """

    def __init__(self, first: str) -> None:
        self.held = first
        self.closing = False
        self.ends = self.named = 0
        self._read = self._lead
        self._place = 0
        self._half = self._broken = False

    def step(self, character: str) -> _Verdict | None:
        """The verdict once `character` decides; for all but a block it is not a part of the tag."""
        self.held += character
        verdict = self._read(visible().of(ord(character)))
        if verdict is None and len(self.held) > HELD_AT_MOST:
            return self.at_end()
        return verdict

    def at_end(self) -> _Verdict:
        """The verdict where nothing follows."""
        return "tag" if self.named else "no tag"

    @property
    def closed(self) -> bool:
        """True if the last character read was its own `>`."""
        return self._read == self._gap and visible().of(ord(self.held[-1])) == ">"

    def _lead(self, seen: str) -> _Verdict | None:
        if seen not in _LEAD:
            self._read = self._name
            return self._name(seen)
        self.closing = self.closing or seen == "/"
        return None

    def _name(self, seen: str) -> _Verdict | None:
        wanted = "n" if self._half else _NAME[self._place]
        if seen == wanted or (wanted == "o" and seen == "0"):
            self._half = False
            self._place += 1
        elif wanted == "m" and seen == "r":
            self._half = True  # an r and an n look like an m
        elif seen not in (_HIDDEN if self._half else _GAP):
            return "no tag"
        if self._place == len(_NAME):
            self.named = self.ends = len(self.held)
            self._read = self._edge
        return None

    def _edge(self, seen: str) -> _Verdict | None:
        if seen == "-" or seen in _HIDDEN:
            return None
        if seen in _WORD:
            self.named = 0
            return "no tag"
        self._read = self._tail
        return self._tail(seen)

    def _tail(self, seen: str) -> _Verdict | None:
        if seen == ">":
            self.ends = len(self.held)
        if seen in (">", "["):
            return self._behind(seen)
        if seen in _GAP or seen == "/":
            self._broken = self._broken or seen == "\n"
            return None
        if self.closing and self._broken:
            return "tag"  # what stands on the next line is no attribute, and is to be shown
        self._read = self._attributes
        return self._attributes(seen)

    def _attributes(self, seen: str) -> _Verdict | None:
        if seen == ">":
            return self._behind(seen)
        return "tag" if seen in ("<", "\n") else None

    def _behind(self, seen: str) -> _Verdict | None:
        self._read = self._gap
        if self.closing:
            return "tag"
        return self._gap(seen) if seen == "[" else None

    def _gap(self, seen: str) -> _Verdict | None:
        if seen in _GAP:
            return None
        if seen != "[":
            return "tag"
        self._place = 0
        self._read = self._note
        return None

    def _note(self, seen: str) -> _Verdict | None:
        if seen in _GAP or seen == ":":
            return None
        wanted = _NOTE_BEGINS[self._place]
        if seen != wanted and (wanted, seen) != ("o", "0"):
            return "tag"
        self._place += 1
        return "block" if self._place == len(_NOTE_BEGINS) else None


class StreamingContextScrubber:
    """
    Removes leaked blocks from a stream; `feed` each chunk, then `flush`.

    An opening tag that the note follows begins a leaked block: it is removed up to its closing tag,
    or to the end of the stream; blocks inside it are counted. A tag that no note follows is only
    mentioned: it becomes `[fence]`, and the text is given back. For every split of a text the
    chunks given back are, joined, those of the text in one piece. Linear; holds at most
    `HELD_AT_MOST` characters and one more. For one stream, from one thread at a time.

    Args:
        nonce: The nonce of the block that may leak. A block that carries it ends only at a closing
            tag that carries it too.

    Raises:
        InvalidNonce: As `build_memory_context_block`.

    """

    def __init__(self, *, nonce: str | None = None) -> None:
        checked_nonce(nonce)
        self._nonce = nonce
        self.reset()

    def reset(self) -> None:
        """Forget the stream, as for a new one."""
        self._tag: _Tag | None = None
        self._depth = 0
        self._sealed = False

    def feed(self, text: str) -> str:
        """
        Returns what can be shown now that `text` has come.

        Raises:
            TextExpected: `text` is no str.

        """
        text = checked_text(text)
        shown: list[str] = []
        place = 0
        while place < len(text):
            if self._tag is None:
                place = self._up_to_a_tag(text, place, shown)
            else:
                place = self._through_it(self._tag, text, place, shown)
        return "".join(shown)

    def flush(self) -> str:
        """Returns what was held at the end of the stream, and forgets the stream."""
        tag, inside = self._tag, self._depth
        self.reset()
        if tag is None or inside:
            return ""
        return tag.held if tag.at_end() == "no tag" else f"[fence]{tag.held[tag.ends :]}"

    def _up_to_a_tag(self, text: str, place: int, shown: list[str]) -> int:
        match = (_OPENER if text.isascii() else _any_opener()).search(text, place)
        start = match.start() if match else len(text)
        if not self._depth:
            shown.append(text[place:start])
        if start < len(text):
            self._tag = _Tag(text[start])
        return start + 1

    def _through_it(self, tag: _Tag, text: str, place: int, shown: list[str]) -> int:
        """The place to go on from: a character that decided is read again if it is another's."""
        for at in range(place, len(text)):
            verdict = tag.step(text[at])
            if verdict is not None:
                self._tag = None
                own = verdict == "block" or (tag.closing and tag.closed)
                shown.append(self._decided(tag, verdict, tag.held if own else tag.held[:-1]))
                return at + 1 if own else at
        return len(text)

    def _decided(self, tag: _Tag, verdict: _Verdict, held: str) -> str:
        """The text that is shown of a tag that was decided."""
        if self._depth:
            return self._decided_inside(tag, verdict, held)
        if verdict == "no tag":
            return held
        if verdict == "tag":
            return f"[fence]{held[tag.ends :]}"
        self._depth = 1
        self._sealed = self._nonce is not None and self._nonce in held[tag.named :]
        return ""

    def _decided_inside(self, tag: _Tag, verdict: _Verdict, held: str) -> str:
        if verdict == "block":
            self._depth += 1
        elif verdict == "tag" and tag.closing and self._unseals(held[tag.named :]):
            self._depth -= 1
            return "" if self._depth or tag.closed else held[tag.ends :]
        return ""

    def _unseals(self, attributes: str) -> bool:
        return not self._sealed or (self._nonce is not None and self._nonce in attributes)
