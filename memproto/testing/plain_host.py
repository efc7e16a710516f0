"""
A host in a process that has nothing of the kit: no module, no name, no word of it.

What a provider does while it is judged proves nothing if it looks for the judge. So one small life
is led where there is none: a program that imports the public runtime as an embedding host does,
asks for one text that the kit stored, and stores one that the kit asks for afterwards.
"""

import json
import os
import subprocess
import tempfile
from typing import Any

from memproto.testing import sandbox
from memproto.testing.clauses import Untestable
from memproto.testing.facts import Fact
from memproto.testing.run import Run

#: For loading, opening, two hooks and shutdown, each within its own budget.
_LIFE_S = 60.0

_PROGRAM = """
import json, os, sys
from memproto import loading
told = json.loads(sys.stdin.read())
# Behind the import: a checkout's own memproto, which holds no providers, may stand there.
sys.path[:0] = told["path"]
loading.import_ahead(told["target"])
provider = loading.load(told["target"], told["factory"]).build()
provider.is_available()
provider.initialize(told["session_key"], told["config"])
provider.capabilities()
answers = [provider.enrich_turn(question, []) for question in told["questions"]]
if told["route"] == "turns":
    provider.on_turn_complete(told["text"], "Noted.")
else:
    provider.on_memory_write("add", "memory", told["text"])
provider.shutdown()
with open(told["answers"], "w", encoding="utf-8", errors="surrogatepass") as file:
    json.dump([answer if isinstance(answer, str) else None for answer in answers], file)
"""


def answers(run: Run, route: str, asked: Fact, told: Fact) -> list[str | None]:
    """
    What recall gave when such a host asked for one fact, before it stored another by `route`.

    Blocks until the host has ended, 60 s at most.

    Raises:
        Untestable: The host did not come to its end.

    """
    key, config = run.session_key(), run.config()
    # The kit calls itself by its name everywhere else.
    config["protocol"] = {**config["protocol"], "host": "agent"}
    run.freshness.config = {**config, "session_key": key}
    descriptor, said = tempfile.mkstemp(dir=run.root)
    os.close(descriptor)
    life: dict[str, Any] = {
        **run.loading,
        "session_key": key,
        "config": config,
        "questions": [asked.query, asked.text, asked.query],
        "route": route,
        "text": told.text,
        "answers": said,
    }
    budget_s = _LIFE_S * run.context.scale * run.context.slowdown
    with run.watch.wire.hook("close", budget_s + 5.0):
        try:
            ended = subprocess.run(
                [sandbox.interpreter(), "-P", "-c", _PROGRAM],
                input=json.dumps(life).encode(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=budget_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            reason = f"a host in a process of its own had not ended after {budget_s:g} s"
            raise Untestable(reason) from None
    with open(said, encoding="utf-8", errors="surrogatepass") as file:  # noqa: PTH123 - errors
        heard = file.read()
    if not heard:
        last = ended.stderr.decode("utf-8", "replace").strip()[-300:]
        raise Untestable(f"a host in a process of its own did not come to its end: {last}")
    found: list[str | None] = json.loads(heard)
    return found
