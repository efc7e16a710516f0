"""When what a check stored can be recalled: once the user's `settle` returned, or after a time."""

from time import monotonic
from typing import Any

from memproto.testing.provider.subject import Watch
from memproto.testing.settings.functions import Functions


class Freshness:
    """
    Has all that was planted waited for once, before it is read.

    Attributes:
        functions: The user's own, `settle` and `read_back` among them.
        config: The config of the instance that was opened last, with its session key.

    """

    def __init__(self, watch: Watch) -> None:
        self.functions = Functions()
        self.config: dict[str, Any] = {}
        self._watch = watch
        self._settled_at: float | None = None

    def settle(self) -> None:
        """Call the user's `settle`, where there is one and something was stored since."""
        if "settle" in self.functions and self._watch.stored_at != self._settled_at:
            self.functions.settle(self.config)
            self._settled_at = self._watch.stored_at

    def wait_s(self, declared_s: float) -> float:
        """Seconds for which a recall that lacks something is repeated, of the declared ones."""
        if "settle" in self.functions or self._watch.stored_at is None:
            return 0.0
        return max(0.0, self._watch.stored_at + declared_s - monotonic())
