"""
Messages between the parent, which holds the verdict, and a kit child, which holds the provider.

One JSON object a line, of a type of `memproto.testing.messages`. The child's end is used in a
process in which a provider may have replaced, closed or forked anything: it holds what it needs
from the moment of its import on.
"""

import contextlib
import itertools
import json
import os
import threading
from collections.abc import Callable, Iterator
from os import _exit, fstat, getpid, write
from typing import Any

from memproto.testing import messages, noise
from memproto.testing.credential_forms import cut
from memproto.testing.integrity import SEAL_CHARS
from memproto.testing.messages import Done, Enter, Forged, Leave, Message
from memproto.testing.untrusted_text import printable

#: Texts longer than this are cut before they travel: a 100 MB recall is described, not copied.
LONGEST = 2_000

#: A text as long as this is shown whole where it is named.
_SHORT = 60

#: Deeper than this, or beyond so many items, an answer is described, not copied.
_DEEPEST, _MOST_ITEMS = 12, 500

#: A line longer than this is no message of the kit's.
_LONGEST_LINE = 4_000_000

#: The exit code of a child whose end of the wire was closed or replaced under it.
CUT_OFF = 97

_encode = json.JSONEncoder().encode


#: The function that takes credentials out of texts; it takes none before `hide_by`. A list, since
#: names of the kit that become other functions count as meddling; see `integrity`.
_hiders: list[Callable[[str], str]] = [str]


def hide_by(hiding: Callable[[str], str]) -> None:
    """Take credentials out of every text from now on, before any of it is cut."""
    _hiders[0] = hiding


def hidden(text: str) -> str:
    """`text` without credentials; for what is cut afterwards by other means than `shorten`."""
    return _hiders[0](text)


def shorten(text: str, limit: int = LONGEST) -> str:
    """`text` without credentials, its middle taken out where it is longer than `limit`."""
    if len(text) <= limit:
        return hidden(text)
    head, tail = cut(text, limit // 2, _hiders[0])
    return f"{head} ... ({len(text)} characters) ... {tail}"


def describe(error: BaseException) -> str:
    """`Type: message` in one line; never raises."""
    try:
        text = " ".join(str(error).split())
    except BaseException:
        text = "<its message raises>"
    shown = cut(text, 300, hidden)[0]
    return f"{type(error).__name__}: {shown}" if text else type(error).__name__


def show(value: object, limit: int = 160) -> str:
    """A one-line description of any value; never raises, whatever the value's repr does."""
    try:
        if isinstance(value, str) and len(value) > limit:
            return f"{cut(str.__str__(value), limit, _hiders[0])[0]!r}... ({len(value)} long)"
        if isinstance(value, bytes | bytearray) and len(value) > limit:
            text = bytes(value).decode("latin-1")
            head = cut(text, limit, _hiders[0])[0].encode("latin-1", "replace")
            return f"{head!r}... ({len(value)} long)"
        return shorten(repr(value), limit)
    except BaseException as error:
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"


def longest_text(value: Any, depth: int = 0) -> str:
    """The longest of the texts in some arguments of the kit's own; "" for none."""
    if isinstance(value, str):
        return value
    if depth >= _DEEPEST or not isinstance(value, dict | list | tuple):
        return ""
    items = value.values() if isinstance(value, dict) else value
    found = (longest_text(item, depth + 1) for item in itertools.islice(items, _MOST_ITEMS))
    return max(found, key=len, default="")


def beginning(text: str) -> str:
    """A text as a message names it: all of a short one, else its length and how it begins."""
    if len(text) <= _SHORT:
        return f"the text {text!r}"
    return f"a text of {len(text)} characters that begins with {text[:24]!r}"


def plain(value: Any, depth: int = 0) -> Any:
    """
    `value` as JSON of bounded size: sets as sorted lists, long texts cut, other objects shown.

    Characters that would disturb a terminal or a document (controls, half surrogates) are escaped.
    """
    try:
        return _plain(value, depth)
    except BaseException:
        # An object that lies about its type, or raises when it is read.
        return show(value)


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else show(value)
    if isinstance(value, str):
        return printable(shorten(str.__str__(value)))
    if depth >= _DEEPEST:
        return show(value)
    if isinstance(value, dict):
        rows = itertools.islice(dict.items(value), _MOST_ITEMS)
        return {str(plain(key, _DEEPEST)): plain(item, depth + 1) for key, item in rows}
    if isinstance(value, set | frozenset):
        return sorted((plain(item, depth + 1) for item in value), key=str)[:_MOST_ITEMS]
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value[:_MOST_ITEMS]]
    return show(value)


class Disguised:
    """Stands for an object that says it is of another class than it is: nothing can rely on it."""

    def __init__(self, value: object) -> None:
        self._name = type(value).__name__

    def __repr__(self) -> str:
        return f"<{self._name} that claims another class>"


def honest(value: Any) -> Any:
    """`value` where it can be examined safely: a text as a bare str, no object in disguise."""
    kind = type(value)
    if issubclass(kind, str):
        return str.__str__(value)
    try:
        return value if value.__class__ is kind else Disguised(value)
    except BaseException:
        return Disguised(value)


def _unsealed(_: bytes) -> bytes:
    """The seal of a message whose reader looks for none."""
    return b"-" * SEAL_CHARS


class Wire:
    """
    The child's end: writes messages, whole lines at a time, from any thread.

    Guarantees:
        A forked copy of the process writes nothing and ends where it would: if each went on with
        the check, each recall of a provider that forks there would double their number.
        If the descriptor is closed, or has become another file, the process ends with CUT_OFF:
        nobody would hear it any more, and nothing of the kit's gets into a file of the provider.
    """

    def __init__(self, descriptor: int, seal: Callable[[bytes], bytes] = _unsealed) -> None:
        """`seal` gives the seal of a message, which the reader looks for; see `integrity`."""
        self._descriptor = descriptor
        self._seal = seal
        self._identity = _identity(descriptor)
        self._pid = getpid()
        self._lock = threading.Lock()
        self._calls = itertools.count(1)

    def send(self, message: Message) -> None:
        """Write one message."""
        if getpid() != self._pid:
            _exit(0)
        # The line end in front keeps a message whole when somebody else wrote a part of a line.
        line = messages.encoded(message, self._pid)
        self._put(b"\n%s%s\n" % (self._seal(line), line))

    def reporter(
        self, seal: Callable[[bytes], bytes]
    ) -> Callable[[Done, Callable[[], list[str]]], None]:
        """
        Answers a command, under a seal of its own that no attribute holds.

        Make it before the target is loaded: what it calls it keeps. It is given the answer, and
        what lists the names of the kit that were replaced by then.
        """
        put, encode, pid, is_done = self._put, _encode, self._pid, Done
        fields, shown, failed = messages.fields, plain, messages.CommandFailed

        def answer(done: Done, changed: Callable[[], list[str]]) -> None:
            if getpid() != pid:
                _exit(0)
            if type(done) is not is_done:
                done = is_done(failed("the child answered something that is no answer"))
            told = {**fields(done, shown), "pid": pid}
            message = encode({**told, "changed_kit": changed()}).encode("ascii")
            put(b"\n%s%s\n" % (seal(message), message))

        return answer

    def _put(self, data: bytes) -> None:
        with self._lock:
            try:
                while data:
                    data = data[self._write(data) :]
            except OSError:
                _exit(CUT_OFF)

    def _write(self, data: bytes) -> int:
        if _identity(self._descriptor) != self._identity:
            raise OSError
        return write(self._descriptor, data)

    @contextlib.contextmanager
    def hook(
        self, operation: str, budget_s: float, given: str = "", number: int = 0, chars: int = 0
    ) -> Iterator[float]:
        """
        Tell the parent that a hook is running, until when it may, and the text it was given.

        `number` counts the calls of the operation on one instance, and `chars` are those of the
        text.

        The body gets how long its thread had been starved when that was told.
        """
        call, starved_s = next(self._calls), noise.starved_s()
        thread = threading.get_native_id()
        self.send(Enter(call, operation, budget_s, given, thread, starved_s, number, chars))
        try:
            yield starved_s
        finally:
            self.send(Leave(call))


def _identity(descriptor: int) -> tuple[int, int]:
    found = fstat(descriptor)
    return found.st_dev, found.st_ino


def lines(
    descriptor: int,
    pending: bytearray,
    is_sealed: Callable[[bytes, bytes, str], bool] = lambda *_: True,
) -> Iterator[tuple[Any, Any]]:
    """
    Read what is there and yield whole messages, each with its pid; a torn line stays in `pending`.

    `is_sealed` is given a seal, the message and its kind. A message without one is `Forged`, and
    so is one that the kit does not send; it has no pid.

    Raises:
        EOFError: The other end is closed, and everything was read.

    """
    data = os.read(descriptor, 1 << 20)
    if not data:
        raise EOFError
    if b"\n" not in data:
        # Bytes without a line end for that long are no message; their rest will be none either.
        pending += data if len(pending) < _LONGEST_LINE else b""
        return
    whole, _, rest = data.rpartition(b"\n")
    whole_lines = bytes(pending + whole).split(b"\n")
    pending[:] = rest
    parsed, read, forged = messages.parsed, messages.read, (None, Forged())
    for line in whole_lines:
        if not line:
            continue
        seal, text = line[:SEAL_CHARS], line[SEAL_CHARS:]
        if line.startswith(b"{"):
            seal, text = b"", line
        try:
            found = parsed(text)
            is_told = is_sealed(seal, text, str(found["kind"]))
        except (ValueError, RecursionError):
            continue
        try:
            yield (found.get("pid"), read(found, len(text))) if is_told else forged
        except messages.Unreadable:
            yield forged
