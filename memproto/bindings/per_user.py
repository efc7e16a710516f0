"""A store or a provider for each user, where a framework leaves it to the application to build."""

from collections.abc import Callable
from typing import Any


class PerUser:
    """
    A factory gives it if an application builds a store or a provider for each of its users.

    Several frameworks tell a memory no user: an application builds one for each. `build` does so
    here: it is called when a session opens, with the `user_id` of the session, or None if it has
    none; and once before, with None, for a first look. It is called on any thread.

    Attributes:
        build: Gives a new store or provider for a user.
        first: The one of the first look.

    """

    def __init__(self, build: Callable[[str | None], Any]) -> None:
        self.build = build
        self.first = build(None)
