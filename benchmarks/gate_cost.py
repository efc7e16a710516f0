"""
The cost of the gate in a quick verdict of the builtin provider.

    python benchmarks/gate_cost.py [ROUNDS]

Two copies of the installed kit judge in turn. In one the gate is left out: namespaces, comparison
of the loaded kit after each command, seals of messages, comparison of installed files. Counted is
processor time of all processes of a run, as in verdict_cost.py. The checks MP-ISO-010 and
MP-ISO-011 and the outer process that keeps credentials from the inner one run in both.
"""

import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from verdict_cost import adopt_orphans, used_s

import memproto

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
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
