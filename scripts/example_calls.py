"""
Plays the calls of a recorded example on one provider: `python -P scripts/example_calls.py`.

`spec/v1/examples/requirements/ID.json` holds the calls. Each play has a process and a fresh home of
its own, as a replay script has. The text `$ROOT` in an argument stands for the directory that
holds the homes.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from memproto import loading, replay  # noqa: E402 - as above

#: Stands in an argument for the directory of the homes.
MARK = "$ROOT"

#: Keys of a config that each session of the kit has, and that no example is about.
LEFT_OUT = ("protocol", "deadlines")

#: Characters of an answer that are kept.
_KEPT = 400

#: Seconds that a process of one play may take beyond the budget that it waits for.
_MOST_S = 60.0

#: Names of exceptions that a later Python has changed, to those of the oldest that is served.
_RENAMED = {"PatternError": "error"}


def play(example: dict[str, Any], target: str) -> dict[str, Any]:
    """
    Play the calls on a provider in a process of its own.

    Returns:
        `answers`, one for each call that was made, and `seen`: true if the violation shows.

    Raises:
        RuntimeError: The process said nothing; the text holds its last words.

    """
    return _run([__file__, target], json.dumps(example))


def hear(target: str, requirement: str, scale: float = 1.0) -> dict[str, Any]:
    """
    Run the check of a requirement on a host, in a process of its own; see `host_calls`.

    Raises:
        RuntimeError: As `play` does.

    """
    return _run([str(Path(__file__).with_name("host_calls.py")), target, requirement, str(scale)])


def _run(words: list[str], said: str = "") -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-P", *words],
        input=said,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=_MOST_S,
        check=False,
    )
    try:
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise RuntimeError(f"{words}: exit code {done.returncode}: {done.stderr[-800:]}") from None
    return found


def main(target: str) -> None:
    """Read an example from the standard input, play it, and print what was found."""
    example = json.load(sys.stdin)
    root = Path(tempfile.mkdtemp(prefix="memproto-example-")).resolve()
    sys.path[:0] = [str(ROOT)]
    try:
        loaded = loading.load(target)
        found = _played(example, loaded, root)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    sys.stdout.write("\n" + json.dumps(found, ensure_ascii=True) + "\n")
    sys.stdout.flush()


def _played(example: dict[str, Any], loaded: Any, root: Path) -> dict[str, Any]:
    instances: dict[int, Any] = {}
    answers: list[dict[str, Any]] = []
    seen = example["seen"]
    is_seen = False
    for number, call in enumerate(example["calls"]):
        who = call["instance"]
        if who not in instances:
            instances[who] = loaded.build()
        budget_s = float(seen["value"]) if seen["kind"] == "late" else _MOST_S
        answer, value = _made(instances[who], call, root, budget_s)
        answers.append(answer)
        if number == seen["call"]:
            is_seen = _shows(seen, answer, value)
        if "late" in answer:
            break
    return {"answers": answers, "seen": is_seen}


def _made(provider: Any, call: dict[str, Any], root: Path, budget_s: float) -> tuple[Any, Any]:
    """The answer of one call as data, and the value that it returned."""
    found: list[Any] = []

    def make() -> None:
        try:
            arguments, keywords = _placed([call["arguments"], call.get("keywords") or {}], root)
            if call["hook"] == "name":
                found.append(provider.name)
            else:
                found.append(getattr(provider, call["hook"])(*arguments, **keywords))
        except BaseException as error:
            found.extend((None, error))

    if call["hook"] == "name" or budget_s >= _MOST_S:
        make()
    else:
        thread = threading.Thread(target=make, daemon=True)
        thread.start()
        thread.join(budget_s)
    if not found:
        return {"late": budget_s}, None
    if len(found) > 1:
        name = type(found[1]).__name__
        return {"raises": _RENAMED.get(name, name)}, None
    shown = as_data(found[0], root)
    return {"returns": shown}, found[0]


def _placed(value: Any, root: Path) -> Any:
    if isinstance(value, str):
        return value.replace(MARK, str(root))
    if isinstance(value, list):
        return [_placed(item, root) for item in value]
    if isinstance(value, dict):
        return {key: _placed(item, root) for key, item in value.items()}
    return value


def marked(text: str, root: str) -> str:
    """
    A text without the place of the run, so that each machine writes the same.

    A path below `root` becomes one below the mark. A name that was made of such a path, with a
    hyphen for each other character, and a path that was cut for a message lose it too.
    """
    text = text.replace(root, MARK)
    text = text.replace("".join(sign if sign.isalnum() else "-" for sign in root), "-root")
    for length in range(len(root), 1, -1):
        text = text.replace(f"{root[:length]} ... (", f"{MARK} ... (")
    return text


def as_data(value: Any, root: Path) -> Any:
    """A value as JSON, or as Python shows it if it is none; a long one is cut."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):
        return {"python": marked(repr(value)[:_KEPT], str(root))}
    if len(text) > _KEPT:
        return {"cut": marked(text[:_KEPT], str(root)), "characters": len(text)}
    return json.loads(marked(text, str(root)))


def _shows(seen: dict[str, Any], answer: dict[str, Any], value: Any) -> bool:
    kind, wanted = seen["kind"], seen["value"]
    if kind == "late":
        return "late" in answer
    if kind == "raises":
        return bool(answer.get("raises") == wanted)
    if "returns" not in answer:
        return False
    looks = {"holds": replay.holds, "lacks": replay.lacks, "shows": replay.shows}
    return bool(looks[kind](value, wanted))


if __name__ == "__main__":
    main(*sys.argv[1:])
