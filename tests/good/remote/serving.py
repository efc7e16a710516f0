"""A good provider behind HTTP that serves an outage from the answers it gave before."""

from typing import Any, ClassVar

from memproto.errors import Unavailable
from tests.good.remote import Remote


class Serving(Remote):
    """Keeps the newest answers in the process, each under its home and its question."""

    name = "serving"
    recall_s = 1.0
    write_s = 0.5
    most = 64

    _answers: ClassVar[dict[tuple[str, ...], str | None]] = {}

    def enrich_turn(self, user_message: str, messages: list[dict[str, Any]]) -> str | None:
        key = self._key(user_message)
        try:
            self._entries()
        except Unavailable:
            return self._answers.get(key)
        self._answers.pop(key, None)
        self._answers[key] = answer = super().enrich_turn(user_message, messages)
        while len(self._answers) > self.most:
            self._answers.pop(next(iter(self._answers)), None)
        return answer

    def _key(self, asked: str) -> tuple[str, ...]:
        return (self._space, asked)
