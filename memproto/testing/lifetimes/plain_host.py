"""
A host in a process that has nothing of the kit: no module, no name, no word of it.

The behaviour of a provider that looks for its judge proves nothing. So one small life
is led where there is none: a program that imports the public runtime as an embedding host does,
asks for one text that the kit stored, and stores others that the kit asks for afterwards. The same
life, led by a host of the kit, tells a provider that looks for the judge from one that would not
have served this life anywhere.
"""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memproto.operations import OPERATIONS
from memproto.testing.clauses import Untestable
from memproto.testing.facts import Fact
from memproto.testing.lifetimes.ends import Ended, HostProcess, not_lived, turn_numbers
from memproto.testing.needs import NO_REFUSAL
from memproto.testing.processes import sandbox
from memproto.testing.provider import routes, write_action
from memproto.testing.provider.run import Run
from memproto.testing.wire import hidden

#: For loading, opening, a few hooks and shutdown, each within its own budget.
_LIFE_S = 60.0

#: Number of turns that fill a batch, as those of other hosts of the kit.
_BATCH = 12

#: The calls come from the check, so that the program knows no route and no manner.
_PROGRAM = """
import contextlib, importlib, json, os, sys, tempfile, time
from memproto import loading
from memproto.errors import ProviderError
told = json.loads(sys.stdin.read())
for name in told["ahead"]:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
# Behind the imports: a checkout's own memproto, which holds no providers, may stand there.
sys.path[:0] = told["path"]
loading.import_ahead(told["target"])
provider = loading.load(told["target"], told["factory"])
# The target was imported in the places in which the kit had imported it; here the session lives.
os.environ.clear()
os.environ.update(told["environment"])
tempfile.tempdir = None
os.chdir(told["directory"])
provider = provider.build()
provider.is_available()
provider.initialize(told["session_key"], told["config"])
provider.capabilities()
answers = [provider.enrich_turn(question, []) for question in told["questions"]]
heard = {"answers": [answer if isinstance(answer, str) else None for answer in answers]}
try:
    for call in told["calls"]:
        with contextlib.suppress(Exception) if call["in_passing"] else contextlib.nullcontext():
            getattr(provider, call["hook"])(*call["arguments"], **call["keywords"])
except ProviderError as error:
    heard["refused"] = f"{type(error).__name__}: {error}"
time.sleep(told["rest_s"])
provider.shutdown()
with open(told["heard"], "w", encoding="utf-8", errors="surrogatepass") as file:
    json.dump(heard, file)
"""


@dataclasses.dataclass(frozen=True)
class Life:
    """
    One session of such a host.

    Attributes:
        asked: The fact that it asks for first.
        stored: Route to the fact that it stores by it then.
        calls: The calls by which it does, in plain JSON values.

    """

    asked: Fact
    stored: Mapping[str, Fact]
    calls: list[dict[str, Any]]

    @property
    def questions(self) -> list[str]:
        """Its questions: another rule judges what the first recall of a session lacks."""
        return [self.asked.query, self.asked.text, self.asked.query]


def planned(run: Run, asked: Fact, stored: Mapping[str, Fact]) -> Life:
    """
    The life of a host that stores each fact by its route, in the way in which the kit stores.

    Raises:
        Untestable: No tool looks like one that stores.

    """
    if "writes" in stored:
        run.learn_writing()
    schemas: Any = []
    if "tools" in stored:
        with run.session() as subject:
            schemas = subject.tools()
    manner, said = run.told_in, []
    calls: list[dict[str, Any]] = []
    for route, fact in stored.items():
        made = _call(run, route, fact, schemas)
        calls += [made] * (1 if route == "tools" else manner.times)
        said += [_message("user", fact.text), _message("assistant", routes.reply_to(fact))]
    if manner.goes_on:
        calls += [
            _told("record", f"Is lamp {number} on the quay lit?", f"Lamp {number} is lit.")
            for number in range(1, _BATCH + 1)
        ]
    if manner.ends and "sessions" in run.declared("extensions", ()):
        calls.append(_told("end", said))
    return Life(asked, stored, calls)


def _call(run: Run, route: str, fact: Fact, schemas: Any) -> dict[str, Any]:
    if route == "turns":
        return _told("record", fact.text, routes.reply_to(fact))
    if route == "writes":
        return _told("mirror", *write_action.arguments(run.writing.first, fact.text))
    call = routes.storing_call(schemas, fact.text)
    if call is None:
        raise Untestable("no tool has a storing name and an argument for a text")
    return _told("call_tool", *call)


def _told(operation: str, *arguments: Any) -> dict[str, Any]:
    hook = OPERATIONS[operation].native
    return {"hook": hook, "arguments": list(arguments), "keywords": {}}


def _with_turns(run: Run, key: str, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls with one before each turn by which it begins, as `HostSession.make` has them."""
    begin = turn_numbers(run, key)
    made: list[dict[str, Any]] = []
    for call in calls:
        if begin is not None and call["hook"] == OPERATIONS["record"].native:
            begin += 1
            said = _told("turn_start", begin, call["arguments"][0])
            made.append({**said, "in_passing": True})
        made.append({**call, "in_passing": False})
    return made


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def lead(run: Run, life: Life, *, rest_s: float = 0.0) -> list[str | None]:
    """
    Lead a life in a process that has nothing of the kit; gives what recall answered in it.

    The host rests for `rest_s` before it shuts the provider down. Blocks until it has ended, 60 s
    and the rest at most.

    Raises:
        Behind: The host crashed, which a rule of its own forbids.
        Untestable: The host did not come to its end, or the provider refused a text.

    """
    key, config = run.session_key(), run.config()
    # The kit calls itself by its name everywhere else.
    config["protocol"] = {**config["protocol"], "host": "agent"}
    run.freshness.config = {**config, "session_key": key}
    descriptor, said = tempfile.mkstemp(dir=run.root)
    os.close(descriptor)
    root, named = Path(run.loading["root"]), run.loading["env"]
    told: dict[str, Any] = {
        **{name: run.loading[name] for name in ("target", "factory", "path")},
        "session_key": key,
        "config": config,
        "questions": life.questions,
        "calls": _with_turns(run, key, life.calls),
        "heard": said,
        "rest_s": rest_s,
        "ahead": _hidden_by(run.loading["path"]),
        "environment": _without_words_of_the_kit(dict(os.environ), named),
        "directory": str(Path.cwd()),
    }
    budget_s = _LIFE_S * run.context.scale * run.context.slowdown + rest_s
    with run.watch.wire.hook("close", budget_s + 5.0):
        try:
            ended = subprocess.run(
                [sandbox.interpreter(), "-P", "-c", _PROGRAM],
                input=json.dumps(told).encode("ascii"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=budget_s,
                check=False,
                env=_without_words_of_the_kit(sandbox.environment(root, named), named),
                cwd=sandbox.places(root)["work"],
            )
        except subprocess.TimeoutExpired:
            reason = f"a host in a process of its own had not ended after {budget_s:g} s"
            raise Untestable(reason) from None
    with open(said, encoding="utf-8", errors="surrogatepass") as file:  # noqa: PTH123 - errors
        heard = file.read()
    if not heard:
        errors = hidden(ended.stderr.decode("utf-8", "replace"))
        end = Ended(ended.returncode, [], errors, ())
        not_lived(end, f"a host in a process of its own did not come to its end: {end.ending}")
    found: dict[str, Any] = json.loads(heard)
    if refused := found.get("refused"):
        reason = f"a host in a process of its own was refused a plain fact: {hidden(refused)[:200]}"
        raise Untestable(reason, NO_REFUSAL)
    answers: list[str | None] = found["answers"]
    return answers


def _hidden_by(path: Sequence[str]) -> list[str]:
    """
    Modules that this process had before files of the same names came before them on its path.

    A `secrets.py` of the author's hides that of Python's library from nothing that was imported
    before the target, here as there.
    """
    folders = [Path(name).resolve() for name in path if Path(name).is_dir()]
    found: list[str] = []
    for name in {entry.name.partition(".")[0] for folder in folders for entry in folder.iterdir()}:
        spec = getattr(sys.modules.get(name), "__spec__", None)
        if spec is None or not (spec.has_location or name in sys.stdlib_module_names):
            continue
        if not any(Path(spec.origin or "").is_relative_to(folder) for folder in folders):
            found.append(name)
    return sorted(found)


def _without_words_of_the_kit(
    environment: dict[str, str], named: Mapping[str, str]
) -> dict[str, str]:
    """An environment without the kit's own variables, save those that the settings name."""
    return {
        name: value
        for name, value in environment.items()
        if name in named or not name.upper().startswith("MEMPROTO")
    }


def lead_with_the_kit(run: Run, life: Life) -> list[str | None]:
    """
    Lead the same life in a process that has the kit in it; gives what recall answered.

    An answer that it did not come to is missing.
    """
    words = {"questions": life.questions, "calls": life.calls}
    marks = HostProcess(run, "alike", [], **words).end().marks
    told = [mark.partition(" ") for mark in marks]
    answers = [json.loads(said) for word, _, said in told if word == "answered"]
    return [answer if isinstance(answer, str) else None for answer in answers]
