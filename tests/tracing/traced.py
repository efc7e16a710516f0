"""Traces written by hand, for the tests of the checker."""

import itertools
import json
from pathlib import Path
from typing import Any

from memproto import bindings
from memproto.tracing import Finding, judge, read

ID = "9b1f6c2e7d504a83"

#: Values that a host of these tests tells a provider that it opens.
OPENED = {
    "context": "primary",
    "contexts": ["primary"],
    "keys": ["home", "protocol", "deadlines", "limits", "platform"],
    "hooks": [],
    "deadlines": {"enrich_s": 5.0, "compress_s": 120.0, "shutdown_s": 15.0},
}


def digest(text: str) -> str:
    """Stand-in for a text; equal for equal ones."""
    return text.encode().hex()[:32].ljust(32, "0")


def text(words: str) -> dict[str, Any]:
    """An argument or a result that is a text."""
    return {"type": "str", "size": len(words), "digest": digest(words)}


class Script:
    """The lines of one trace with one provider, call by call."""

    def __init__(self, binding: str = "native", trace: str = ID) -> None:
        self.rows: list[dict[str, Any]] = []
        self._calls = itertools.count(1)
        self._binding, self._trace = bindings.named(binding) or bindings.NATIVE, trace
        self.now_s = 10.0
        self.session = ""
        self.add(
            "start", format=1, spec="1.0", writer="hand 1", started_at="2026-03-14T09:26:53+00:00"
        )
        self.add("provider", instance=1, provider="harbour", binding=binding)

    def add(self, kind: str, **fields: Any) -> None:
        row = {"trace": self._trace, "seq": len(self.rows), "kind": kind, "at_s": self.now_s}
        self.rows.append(row | fields)

    def begin(self, operation: str, /, *, args: Any = None, **facts: Any) -> int:
        number = next(self._calls)
        self.now_s += 0.1
        self.add(
            "begin",
            call=number,
            instance=1,
            operation=operation,
            hook=self._binding.hook(operation),
            session=self.session,
            thread=7,
            args=args or {},
            facts=facts,
        )
        return number

    def end(self, number: int, result: Any = "null", *, took_s: float = 0.1, **found: Any) -> None:
        self.now_s += took_s
        shape = {"type": result} if isinstance(result, str) else result
        told = {"outcome": "returned", "result": shape, "facts": found}
        self.add("end", call=number, took_s=took_s, **told)

    def fail(self, number: int, error: str) -> None:
        self.add("end", call=number, took_s=0.1, outcome="raised", error=error, facts={})

    def call(
        self, operation: str, result: Any = "null", *, took_s: float = 0.1, **more: Any
    ) -> None:
        """A call that returned; `found` goes to its end, everything else to its beginning."""
        found = more.pop("found", {})
        self.end(self.begin(operation, **more), result, took_s=took_s, **found)

    def start(self, *extensions: str, tools: tuple[str, ...] = (), **facts: Any) -> "Script":
        """The start of a session; a native one declares what it serves."""
        self.call("available", "bool", found={"answer": True})
        self.session = digest("session-7")
        self.call("open", **(OPENED | facts))
        if self._binding.can_declare:
            names = [digest(name) for name in tools]
            found = {"extensions": list(extensions), "tool_names": names}
            self.call("declare", "object", found=found)
        return self

    def close(self) -> "Script":
        """The end of the session and of the trace."""
        self.call("close")
        self.stop()
        return self

    def stop(self, dropped: int = 0) -> None:
        self.add("stop", dropped=dropped)

    def lines(self) -> list[str]:
        return [json.dumps(row) + "\n" for row in self.rows]


def findings(path: Path, script: Script, **options: Any) -> list[Finding]:
    """Findings in a trace that is whole; fails if it is not."""
    path.write_text("".join(script.lines()))
    (trace,), damages = read(path)
    assert not damages
    return judge(trace, **options)
