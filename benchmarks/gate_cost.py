"""
The cost of the gate in a quick verdict of the builtin provider.

    python benchmarks/gate_cost.py [ROUNDS]
    python benchmarks/gate_cost.py comparison

Two copies of the installed kit judge in turn. In one the gate is left out: namespaces, comparison
of the loaded kit after each command, seals of messages, comparison of installed files. Counted is
processor time of all processes of a run, as in verdict_cost.py. The checks MP-ISO-010 and
MP-ISO-011 and the outer process that keeps credentials from the inner one run in both.

`comparison` prints what the first comparison of the kit and a later one take in a child, by the
look at memory and by objects, and the pages that each copies.
"""

import gc
import importlib
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from verdict_cost import adopt_orphans, used_s

import memproto
from memproto.testing import addresses, clauses, integrity
from memproto.testing.processes import template_process

#: Module to what stands at its end in the copy without the gate.
_WITHOUT = {
    "testing/integrity.py": """
def watcher():
    return list
def sealer(key):
    return lambda message: b"0" * SEAL_CHARS
""",
    "testing/installation.py": """
def stamps():
    return {}
def changed(before):
    return []
def assert_published():
    pass
""",
    "testing/processes/confinement.py": """
def confine():
    return "left out by a benchmark"
def conceal():
    pass
def unrouted():
    return 0
""",
}


def copied(folder: Path, *, is_gated: bool) -> str:
    """A copy of the kit below `folder`; gives the directory to import it from."""
    kit = folder / "memproto"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(memproto.__file__).parent, kit, ignore=ignored)
    for name, added in _WITHOUT.items() if not is_gated else ():
        path = kit / name
        path.write_text(path.read_text("utf-8") + added, "utf-8")
    return str(folder)


def comparison() -> None:
    """Compare twice in a copy of a prepared template, with the look at memory and without."""
    for name in template_process._MODULES["provider"]:  # noqa: SLF001 - what it has imported
        importlib.import_module(name)
    clauses.checks("provider")
    looks = {"by memory": addresses.watcher, "by objects": lambda *_: bool}
    for name, look in looks.items():
        addresses.watcher = look
        changed = integrity.watcher()
        gc.collect()
        gc.freeze()
        for attempt in ("first", "later"):
            figures = [_in_a_copy(changed, is_later=attempt == "later") for _ in range(9)]
            milliseconds, pages = (
                statistics.median(column) for column in zip(*figures, strict=True)
            )
            print(f"{name}, the {attempt}: {milliseconds:.1f} ms of processor, {pages:.0f} pages")


def _in_a_copy(changed: Callable[[], list[str]], *, is_later: bool) -> tuple[float, int]:
    """Milliseconds and page faults of one comparison in a forked copy of this process."""
    source, sink = os.pipe()
    pid = os.fork()
    if pid == 0:
        if is_later:
            changed()
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        began = time.process_time()
        found = changed()
        took_ms = (time.process_time() - began) * 1000
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
        os.write(sink, f"{took_ms} {faults} {len(found)}".encode())
        os._exit(0)
    os.waitpid(pid, 0)
    took_ms, faults, found = os.read(source, 100).split()
    os.close(source)
    os.close(sink)
    if int(found):
        sys.exit("the kit was said to be changed")
    return float(took_ms), int(faults)


def main(rounds: int) -> None:
    """Run both in turn, once to compile them and then `rounds` times, and print the ratios."""
    adopt_orphans()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        kits = {
            "with the gate": copied(at / "with", is_gated=True),
            "without": copied(at / "without", is_gated=False),
        }
        found: dict[str, list[float]] = {name: [] for name in kits}
        for number in range(rounds + 1):
            for name, kit in kits.items():
                os.environ["PYTHONPATH"] = kit
                _, all_s = used_s(sys.executable, folder)
                if number:
                    found[name].append(all_s)
    for name, times in found.items():
        print(f"{name}: {statistics.median(times):.2f} s, least {min(times):.2f} s")
    gated, bare = found["with the gate"], found["without"]
    pairs = statistics.median(a / b for a, b in zip(gated, bare, strict=True))
    print(f"ratio: {pairs:.3f} by pairs, {min(gated) / min(bare):.3f} by minima; aim 1.05")


if __name__ == "__main__":
    if sys.argv[1:] == ["comparison"]:
        comparison()
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
