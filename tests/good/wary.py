"""A small good provider that refuses a turn in which a context block still stands, and says so."""

from memproto import fence
from memproto.errors import Rejected
from tests.good.journal import Journal


class Wary(Journal):
    """A journal that leaves it to its host to take the block out and to hand the turn in again."""

    name = "wary"

    def on_turn_complete(self, user_message: str, assistant_response: str) -> None:
        if fence.strip_memory_context(user_message) != user_message:
            raise Rejected("a context block stands in the turn")
        super().on_turn_complete(user_message, assistant_response)
