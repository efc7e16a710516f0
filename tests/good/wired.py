"""A journal behind the wire, whose server class can be changed for a broken one."""

import importlib
import os
import sys
import threading
from pathlib import Path
from typing import Any

from memproto.bindings import NATIVE
from memproto.serving import streams
from memproto.serving.server import Server
from memproto.wire import WireProvider
from tests.good.journal import Journal

ROOT = Path(__file__).parents[2]


class Wired(Server):
    """Called without arguments it gives a provider whose program serves this class."""

    #: The provider that is served.
    JOURNAL: type = Journal

    def __new__(cls, *given: Any) -> Any:
        if given:
            return super().__new__(cls)
        words = [sys.executable, "-m", "tests.good.wired", cls.__module__, cls.__name__]
        return WireProvider(words, cwd=ROOT, env=dict(os.environ))


class AnswersBadLinesLast(Wired):
    """Its error for a line that is no message comes behind the answer to a later ping."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._pinged = threading.Event()

    def _refuse(self, number: Any, name: str, text: str) -> None:
        threading.Thread(target=self._refuse_later, args=(number, name, text), daemon=True).start()

    def _refuse_later(self, number: Any, name: str, text: str) -> None:
        self._pinged.wait(1.0)
        self._pinged.clear()
        super()._refuse(number, name, text)

    def _answer(self, request: Any, **outcome: Any) -> None:
        super()._answer(request, **outcome)
        if request.method == "ping":
            self._pinged.set()


def main(module: str, name: str) -> None:
    """Serve the class of that name."""
    kind = getattr(importlib.import_module(module), name)
    given, taken = streams.take()
    kind(kind.JOURNAL(), NATIVE, given, taken).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
