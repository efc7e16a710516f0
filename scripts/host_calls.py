"""
Hears the calls of one check on a host: `python -P scripts/host_calls.py TARGET ID`.

The check runs as it is, in this process. Noted are the steps that it has the host take, the
functions of the fence that it calls, and the hooks that the host calls on the kit's providers.
"""

import dataclasses
import functools
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from memproto import spec  # noqa: E402 - needs the path above
from memproto.testing import clauses, wording  # noqa: E402 - as above
from memproto.testing.clauses import Violation  # noqa: E402 - as above
from memproto.testing.context import Context  # noqa: E402 - as above
from memproto.testing.host import loading  # noqa: E402 - as above
from memproto.testing.host.host import Host  # noqa: E402 - as above
from memproto.testing.host.probes import Probe  # noqa: E402 - as above
from memproto.testing.host.programs import Note, Program  # noqa: E402 - as above
from memproto.testing.host.run import HostRun  # noqa: E402 - as above
from memproto.testing.provider.subject import Watch  # noqa: E402 - as above
from memproto.testing.wire import Wire  # noqa: E402 - as above
from scripts.example_calls import LEFT_OUT, MARK, as_data  # noqa: E402 - as above


class Ear:
    """Notes calls in the order in which they begin; any thread."""

    def __init__(self, root: str) -> None:
        self.calls: list[dict[str, Any]] = []
        self._root = root
        self._lock = threading.Lock()

    def hear(self, who: str, what: str, arguments: Any, made: Callable[[], Any]) -> Any:
        """Make a call, and note it with what came of it."""
        noted: dict[str, Any] = {"on": who, "call": what}
        noted["arguments"] = [as_data(item, Path(self._root)) for item in arguments]
        noted["at_s"] = time.monotonic()
        with self._lock:
            self.calls.append(noted)
        try:
            answer = made()
        except BaseException as error:
            noted["answer"] = {"raises": type(error).__name__}
            raise
        noted["answer"] = {"returns": as_data(answer, Path(self._root))}
        return answer


def listening(ear: Ear) -> None:
    """Have all hosts and providers of this process heard."""
    step, called = Host._future, Probe._called  # noqa: SLF001 - where each call comes by

    def future(self: Host, step_name: str, operation: str, deadline_s: float, *args: Any) -> Any:
        made: list[Any] = []

        def make() -> Any:
            made.append(step(self, step_name, operation, deadline_s, *args))
            return made[0].result()

        # The command of a program is one of this machine's.
        given = () if step_name == "register_program" else args
        try:
            ear.hear("host", step_name, [_named(item) for item in given], make)
        except BaseException:
            if not made:
                raise
        return made[0]

    def heard(self: Probe, hook: str, *args: Any, default: Any = None, **keywords: Any) -> Any:
        def make() -> Any:
            return called(self, hook, *args, default=default, **keywords)

        said = [_named(item) for item in [*args, *([keywords] if keywords else [])]]
        return ear.hear(f"provider {self.name}", hook, said, make)

    Host._future = future  # type: ignore[assignment]  # noqa: SLF001 - as above
    Probe._called = heard  # type: ignore[assignment]  # noqa: SLF001 - as above


def heard_by(programs: list[Program], root: str) -> list[dict[str, Any]]:
    """The requests and notifications that servers heard, as calls, and what became of servers."""
    calls = []
    for program in programs:
        for note in program.notes():
            if note.event == "heard":
                found = [item for item in program.heard() if item == _message(note)]
                what = str(found[0].get("method")) if found else "a line that is no message"
                told = [found[0].get("params", {})] if found else [note.more["line"][:200]]
            elif note.event in ("started", "exits", "terminated", "input ended"):
                what, told = note.event, []
            else:
                continue
            given = [as_data(_named(item), Path(root)) for item in told]
            calls.append(
                {
                    "on": f"server {program.name}",
                    "call": what,
                    "arguments": given,
                    "at_s": note.at_s,
                }
            )
    return calls


def _message(note: Note) -> Any:
    try:
        return json.loads(note.more["line"])
    except ValueError:
        return None


def _named(value: Any) -> Any:
    """An argument as an example shows it: no objects of the kit, no words of a host on itself."""
    if isinstance(value, Probe):
        return {"provider": value.name}
    if dataclasses.is_dataclass(value):
        shown = {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
        return _named({key: one for key, one in shown.items() if key != "model"})
    if isinstance(value, dict):
        return {key: _named(one) for key, one in value.items() if key not in LEFT_OUT}
    return sorted(value) if isinstance(value, frozenset) else value


def main(target: str, wanted: str, scale: str = "1") -> None:
    """Run the check of a requirement on a host, and print what was heard as JSON."""
    root = tempfile.mkdtemp(prefix="memproto-example-")
    os.chdir(root)
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    ear = Ear(root)
    listening(ear)
    loaded = loading.load(target)
    fence = {
        name: function if isinstance(function, type) else _fenced(ear, name, function)
        for name, function in loaded.fence.items()
    }
    watch = Watch(Wire(os.open(os.devnull, os.O_WRONLY)), scale=float(scale))
    context = Context(scale=float(scale), config={"home": f"{root}/memory"})
    run = HostRun(dataclasses.replace(loaded, fence=fence), watch, context, salt=1)
    found: dict[str, Any] = {"outcome": "held"}
    spec.requirement(wanted)
    try:
        clauses.checks("host")[wanted].decide(run)
    except Violation as violation:
        found["outcome"] = "violated"
        found["expected"] = wording.expected(violation.evidence)
        found["observed"] = wording.observed(violation.evidence)
    except (clauses.NotApplicable, clauses.Untestable, clauses.Inconclusive) as open_:
        found["outcome"] = f"open: {open_}"
    programs = run._programs  # noqa: SLF001 - what the check had started
    calls = sorted([*ear.calls, *heard_by(programs, root)], key=lambda call: call["at_s"])
    found["calls"] = [{key: call[key] for key in call if key != "at_s"} for call in calls]
    for program in programs:
        program.kill()
    sys.stdout.write("\n" + json.dumps(found).replace(root, MARK) + "\n")
    sys.stdout.flush()
    shutil.rmtree(root, ignore_errors=True)
    # A provider of the check may hang for a minute more.
    os._exit(0)


def _fenced(ear: Ear, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def heard(*args: Any) -> Any:
        return ear.hear("fence", name, args, lambda: function(*args))

    return heard


if __name__ == "__main__":
    main(*sys.argv[1:])
