"""
Records the examples of requirements: `python -P scripts/record_examples.py [AREA ...]`.

Each broken provider of `tests/broken` is judged by the requirement that it violates. The calls that
show it are kept, and played on it and on a good provider (`scripts/example_calls.py`), whose
answers are kept as well. If calls alone do not show a violation, the calls of the check on both
are kept as they were, with the kit's observation. Nothing is made up.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

ROOT = Path(__file__).parents[1]
for place in (str(ROOT), str(ROOT / "tests")):
    if place not in sys.path:
        sys.path.append(place)

from memproto import spec  # noqa: E402 - needs the path above
from memproto.errors import KitUsageError  # noqa: E402 - as above
from memproto.testing.judging import replay_story, replays  # noqa: E402 - as above
from memproto.testing.judging.judge import Judge  # noqa: E402 - as above
from memproto.testing.outcomes import Outcome, Result, merge  # noqa: E402 - as above
from memproto.testing.processes import roots  # noqa: E402 - as above
from memproto.testing.processes.answer import Answer  # noqa: E402 - as above
from memproto.testing.settings import settings  # noqa: E402 - as above
from memproto.testing.settings.order import Order  # noqa: E402 - as above
from scripts import example_calls, example_files  # noqa: E402 - as above
from tests import matrix  # noqa: E402 - as above
from tests.broken.marks import Mutant, load_all  # noqa: E402 - as above

#: Calls of a check that are kept if calls alone do not show the violation.
_MOST_CALLS = 12

#: Good providers that are tried beside those that a broken one was made of.
_FALLBACK = (
    "tests.good.journal:Journal",
    "tests.good.worded:Undeclared",
    "tests.good.registering:register",
    "tests.good.telling:Telling",
    "tests.good.configured:Configured",
    "tests.good.telling:Absent",
    "tests.good.asking:Asking",
    "tests.good.asking:Prompted",
)

_RED = (Outcome.FAIL, Outcome.WARN)


class Listener(replays.Scripts):
    """Keeps the calls that show a violation, in place of a script."""

    found: tuple[list[replay_story.Call], replay_story.Sight, str] | None = None
    stories: dict[str, replay_story.Story]

    def attached(self, results: list[Result], answer: Answer) -> list[Result]:
        """Keep the calls for the requirement that is recorded; the results are as they were."""
        for result in results:
            self.stories[result.id] = replay_story.told(answer.told)
            if result.id == self.wanted and result.outcome in _RED and self.found is None:
                self._listen(result, answer)
        return results

    wanted = ""

    def _listen(self, result: Result, answer: Answer) -> None:
        heard = replay_story.told(answer.told)
        seen = self._sight(heard, result, answer)
        if seen is None:
            return
        path = self._root / "example.py"
        calls = replays._Shortening(self, heard, result, seen, path).shortest()  # noqa: SLF001
        if calls is not None:
            self.found = (calls, seen, heard.root)


class Recording:
    """One target, judged by one requirement, with the calls of its check."""

    def __init__(self, target: str, wanted: str, scale: float = 1.0) -> None:
        order = Order(
            target,
            side=spec.requirement(wanted).side,
            settings=settings.read(target, ROOT),
            directory=ROOT,
            scale=scale,
            # An absolute place, so that a script imports from where it is run.
            replay=str(root := roots.new_root()),
        )
        judge = Judge(order, root)
        listener = Listener(order, judge.contact, root, judge.hide)
        listener.wanted, listener.stories = wanted, {}
        judge._scripts = listener  # noqa: SLF001 - the calls are heard where scripts are made
        try:
            found = [*judge.meet().results, *judge.run(spec.requirement(wanted)), *judge.finish()]
        finally:
            judge.close()
            roots.remove(root)
        self.result = merge(found, [wanted, *(one.id for one in found)])[wanted]
        self.found, self.stories = listener.found, listener.stories


def as_calls(calls: list[replay_story.Call], root: str) -> list[dict[str, Any]]:
    """Calls as data; a path below the root of the run becomes one below the mark."""
    told = json.dumps(
        [
            {
                "instance": call.who,
                "operation": call.operation,
                "hook": call.hook,
                "arguments": call.arguments,
                "keywords": call.keywords or {},
            }
            for call in calls
        ]
    )
    found: list[dict[str, Any]] = json.loads(example_calls.marked(told, root))
    for row in found:
        if not row["keywords"]:
            del row["keywords"]
        if row["operation"] == "open" and isinstance(config := (row["arguments"] or [0])[-1], dict):
            row["arguments"][-1] = {
                key: config[key] for key in config if key not in example_calls.LEFT_OUT
            }
    return found


def record(mutant: Mutant) -> str:
    """Record the example of the requirement that a mutant violates; one line for the log."""
    wanted = mutant.kills
    broken = Recording(mutant.target, wanted, mutant.scale)
    if broken.result.outcome not in _RED:
        return f"{wanted} {mutant.target}: {broken.result.outcome}"
    example: dict[str, Any] = {"id": wanted, "violates": mutant.target}
    if broken.found is not None:
        calls, seen, root = broken.found
        place = [call.number for call in calls].index(seen.number)
        example["calls"] = as_calls(calls, root)
        example["seen"] = {"kind": seen.kind, "call": place, "value": seen.value}
        if _is_played(example, mutant.target):
            example_files.write(example)
            return f"{wanted} {mutant.target}: {seen.kind}"
    # A check that finds only violations gives the good ones no pass: it does not concern them.
    for wished in (Outcome.PASS, Outcome.NOT_APPLICABLE):
        for good in goods(mutant.target):
            held = Recording(good, wanted)
            if held.result.outcome is wished:
                example_files.write(_told(wanted, mutant.target, broken, good, held))
                return f"{wanted} {mutant.target}: told"
    return f"{wanted} {mutant.target}: no good provider passed"


def _is_played(example: dict[str, Any], broken: str) -> bool:
    """True if the calls show it on the broken provider, and not on a good one; fills in both."""
    try:
        played = example_calls.play(example, broken)
    except (RuntimeError, OSError, ValueError):
        return False
    if not played["seen"]:
        return False
    example["violates"] = {"provider": broken, "answers": played["answers"]}
    for good in goods(broken):
        try:
            other = example_calls.play(example, good)
        except (RuntimeError, OSError, ValueError):
            continue
        if not other["seen"] and len(other["answers"]) == len(example["calls"]):
            example["conforms"] = {"provider": good, "answers": other["answers"]}
            return True
    return False


def goods(broken: str) -> list[str]:
    """Good providers that may stand beside a broken one, the one that it was made of first."""
    made = matrix._attribute(broken)  # noqa: SLF001 - as the matrix finds it
    bases = made.__mro__ if isinstance(made, type) else ()
    named = [f"{base.__module__}:{base.__name__}" for base in bases if "name" in dir(base)]
    near = [name for name in named if name in matrix.GOOD or name.startswith("tests.good.")]
    packages = [name.partition(":")[0] for name in near if "plugged" in name]
    return list(dict.fromkeys([*packages, *near, *_FALLBACK]))


def record_host(mutant: Mutant) -> str:
    """Record the example of a requirement on hosts; one line for the log."""
    wanted = mutant.kills
    broken = example_calls.hear(mutant.target, wanted, mutant.scale)
    if broken["outcome"] != "violated":
        return f"{wanted} {mutant.target}: {broken['outcome']}"
    for good in good_hosts(mutant.target):
        held = example_calls.hear(good, wanted)
        if held["outcome"] == "held":
            example = {
                "id": wanted,
                "conforms": {"host": good, **_last(held)},
                "violates": {
                    "host": mutant.target,
                    **_last(broken),
                    "expected": broken["expected"],
                    "observed": broken["observed"],
                },
            }
            example_files.write(example)
            return f"{wanted} {mutant.target}: heard"
    return f"{wanted} {mutant.target}: no good host passed"


def good_hosts(broken: str) -> list[str]:
    """Good hosts that may stand beside a broken one: an agent beside a driver."""
    made = matrix._attribute(broken)  # noqa: SLF001 - as the matrix finds it
    names = {base.__name__ for base in made.__mro__} if isinstance(made, type) else set()
    found = [
        "memproto:MemoryProviderRegistry",
        "memproto.testing.agent:Agent",
        "memproto:AsyncMemoryProviderRegistry",
        "tests.good.joining:JoinsParts",
    ]
    return found[1:] + found[:1] if names & {"Agent", "RegistryDriver"} else found


def _last(heard: dict[str, Any]) -> dict[str, Any]:
    """The last calls that were heard, and the number of all."""
    return {"calls": heard["calls"][-_MOST_CALLS:], "of": len(heard["calls"])}


def _told(
    wanted: str, target: str, broken: Recording, good: str, held: Recording
) -> dict[str, Any]:
    """An example of a requirement that calls alone do not show."""
    return {
        "id": wanted,
        "conforms": {"provider": good, **_heard(held, wanted)},
        "violates": {
            "provider": target,
            **_heard(broken, wanted),
            "expected": broken.result.expected,
            "observed": broken.result.observed,
        },
    }


def _heard(one: Recording, wanted: str) -> dict[str, Any]:
    story = one.stories.get(wanted)
    if story is None:
        return {"calls": []}
    calls = [call for call in story.calls if call.hook]
    rows = as_calls(calls[-_MOST_CALLS:], story.root)
    for row in rows:
        # A play needs each argument whole, and this is none.
        row["arguments"] = [example_calls.as_data(one, ROOT) for one in row["arguments"] or []]
    for row, call in zip(rows, calls[-_MOST_CALLS:], strict=True):
        if call.error:
            row["answer"] = {"raises": call.error}
        elif call.shown is None:
            row["answer"] = {"late": True}
        else:
            row["answer"] = {"shows": example_calls.marked(call.shown, story.root)}
    return {"calls": rows, "of": len(calls)}


def main(areas: list[str]) -> int:
    """Record what is missing, or the areas that are named; 1 if one has no example."""
    wanted: dict[str, list[Mutant]] = {}
    for mutant in load_all().values():
        item = spec.requirement(mutant.kills)
        if item.area == "WIRE":
            # Their lines are written by hand; see `scripts/wire_lines.py`.
            continue
        is_asked = item.area in areas if areas else item.id not in example_files.names()
        if is_asked:
            wanted.setdefault(item.id, []).append(mutant)
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(_recorded, wanted.values()))
    return 0 if all(done) else 1


def _recorded(mutants: list[Mutant]) -> bool:
    """Record by the first mutant that gives an example, those without consequences first."""
    for mutant in sorted(mutants, key=lambda one: len(one.also)):
        try:
            is_host = spec.requirement(mutant.kills).side == "host"
            line = record_host(mutant) if is_host else record(mutant)
        except (KitUsageError, OSError, ValueError, RuntimeError, TimeoutExpired) as error:
            line = f"{mutant.kills} {mutant.target}: {error!r}"
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
        if mutant.kills in example_files.names():
            return True
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
