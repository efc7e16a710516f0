"""The model of an agent that is judged: it says what a check tells it to."""

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

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


def plain(content: Any) -> str:
    """The text of a message's content, of whichever shape."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def saying(*pieces: str) -> Callable[[list[dict[str, Any]]], Iterable[str]]:
    """An answer in given pieces."""
    return lambda messages: pieces


def failing_model(messages: list[dict[str, Any]]) -> Iterable[str]:
    """An answer that never comes."""
    raise ModelFailed("the kit's model gives no answer to this turn")
