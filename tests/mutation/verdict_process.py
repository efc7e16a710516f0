"""
A process that judges copies of subjects: one JSON object a line in, one out.

It asks the kit's judge for one requirement after the other, in the order that it is told, and stops
at the first that is red. The kit's children and their confinement are those of every run. The
environment has the time limit of a whole verdict in seconds, MEMPROTO_MUTATION_LIMIT_S.
"""

import importlib
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from memproto import spec
from memproto.errors import KitUsageError
from memproto.testing import noise, patience
from memproto.testing.judging.children import Abandoned
from memproto.testing.judging.judge import Judge
from memproto.testing.needs import DependsOn
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.processes import roots
from memproto.testing.settings import settings
from memproto.testing.settings.order import Order

LIMIT = "MEMPROTO_MUTATION_LIMIT_S"

_RED = (Outcome.FAIL, Outcome.WARN)
_QUIET = (Outcome.PASS, Outcome.NOT_APPLICABLE, Outcome.NOT_SCORED)


def told(asked: dict[str, Any], limit_s: float) -> dict[str, Any]:
    """
    The verdict on one copy.

    `red`, `open` and `kit` hold requirements with what was seen, `took_s` the seconds of each
    check. `all` in `asked` has every requirement judged, whatever is red. A module of `loads` that
    cannot be imported is red as `load`, and nothing is judged.
    """
    answer: dict[str, Any] = {"red": {}, "open": {}, "kit": {}, "took_s": {}, "is_late": False}
    for name in asked["loads"]:
        try:
            importlib.import_module(name)
        except Exception as error:
            answer["red"]["load"] = f"{type(error).__name__}: {error}"[:300]
            return answer
    folder = Path(asked["directory"])
    root = roots.new_root()
    judging = timer = None
    try:
        order = Order(
            asked["target"],
            asked["side"],
            settings.read(asked["target"], folder),
            directory=folder,
            scale=patience.time_scale(),
            slowdown=noise.slowdown(),
        )
        judging = Judge(order, root)
        timer = threading.Timer(limit_s, judging.abandon)
        timer.daemon = True
        timer.start()
        _judge(judging, asked, answer)
    except KitUsageError as error:
        answer["red"]["load"] = str(error)[:300]
    except Abandoned:
        answer["is_late"] = True
    finally:
        if timer is not None:
            timer.cancel()
        if judging is not None:
            judging.close()
        roots.remove(root)
    return answer


def _judge(judging: Judge, asked: dict[str, Any], answer: dict[str, Any]) -> None:
    is_whole = asked["all"]
    _note(judging.meet().results, answer)
    wanted = {item.id: item for item in spec.select([], asked["side"])}
    first = [name for name in asked["first"] if name in wanted]
    pending = [*dict.fromkeys([*first, *wanted])]
    while pending:
        if answer["red"] and not is_whole:
            return
        name, began_s = pending.pop(0), time.monotonic()
        found = judging.run(wanted[name])
        answer["took_s"][name] = round(time.monotonic() - began_s, 3)
        _note(found, answer)
        for other in _in_the_way(found):
            if other in pending and not is_whole:
                # Most likely it is the one that is red.
                pending.remove(other)
                pending.insert(0, other)
    _note(judging.finish(), answer)


def _in_the_way(results: list[Result]) -> list[str]:
    """The requirements of which open results say that they depend on them."""
    needs = [need for result in results for need in result.needs]
    return [need.requirement for need in needs if isinstance(need, DependsOn)]


def _note(results: list[Result], answer: dict[str, Any]) -> None:
    for result in results:
        if result.outcome in _QUIET:
            continue
        kind = "red" if result.outcome in _RED else "open"
        kind = "kit" if result.outcome is Outcome.KIT_ERROR else kind
        seen = " | ".join(filter(None, (result.expected, result.observed, result.reason)))
        answer[kind].setdefault(result.id, f"{result.outcome}: {seen}"[:600])


def main() -> None:
    """Answer until there are no more questions."""
    limit_s = float(os.environ[LIMIT])
    for line in sys.stdin:
        sys.stdout.write(json.dumps(told(json.loads(line), limit_s)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
