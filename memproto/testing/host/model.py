"""The model of an agent that is judged: it says what a check tells it to."""

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from memproto.fence import OPEN_TAG
from memproto.testing.driver import ModelFailed


class ScriptedModel:
    """
    A model that says what it is told to, and notes what it was sent.

    Attributes:
        requests: The messages of each request, copies.
        answer: Gives the pieces of the answer to a request.

    """

    def __init__(self) -> None:
        self.requests: list[list[dict[str, Any]]] = []
        self.answer: Callable[[list[dict[str, Any]]], Iterable[str]] = saying("Noted.")

    def __call__(self, messages: list[dict[str, Any]]) -> Iterator[str]:
        """Note the request; the answer comes piece by piece."""
        self.requests.append(copy.deepcopy(messages))
        return iter(self.answer(messages))

    def sent(self) -> str:
        """The text of the last request's last message; parts joined."""
        return plain(self.requests[-1][-1]["content"]) if self.requests else ""

    def was_sent(self, text: str) -> bool:
        """True if a text stood in any message of any request; a host may ask beside its turns."""
        sent = (message for request in self.requests for message in request)
        return any(text in plain(message.get("content")) for message in sent)


def plain(content: Any) -> str:
    """The text of a message's content, of whichever shape."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def repeated(request: list[dict[str, Any]]) -> str:
    """The answer of a model that repeats its context: the block, or else the last message."""
    for message in reversed(request):
        _, tag, rest = plain(message.get("content")).partition(OPEN_TAG)
        if tag:
            return tag + rest
    return plain(request[-1].get("content"))


def saying(*pieces: str) -> Callable[[list[dict[str, Any]]], Iterable[str]]:
    """An answer in given pieces."""
    return lambda messages: pieces


def failing_model(messages: list[dict[str, Any]]) -> Iterable[str]:
    """An answer that never comes."""
    raise ModelFailed("the kit's model gives no answer to this turn")
