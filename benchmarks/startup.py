"""
The cost of the idle plugin at pytest's start: interleaved pairs of runs, with and without it.

    python benchmarks/startup.py [PAIRS]

Prints the median difference with its quartiles, and the plugin's share of `-X importtime`. Both
kinds of run find their plugins as a user's do; one leaves out every installed plugin, the other all
but this one. To load it by `-p` instead would have pytest read the entry points of all packages
once more, for which the plugin is not to blame.
"""

import importlib.metadata
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

OTHERS = {entry.name for entry in importlib.metadata.entry_points(group="pytest11")} - {"memproto"}
PYTEST = [sys.executable, "-m", "pytest", "-q", "--collect-only", "test_nothing.py"]
WITH_PLUGIN = [*PYTEST, *(f"-pno:{name}" for name in sorted(OTHERS))]
PLAIN = [*WITH_PLUGIN, "-pno:memproto"]


def took_ms(command: list[str], folder: str) -> tuple[float, float]:
    """Milliseconds of one run, by the clock on the wall and of the processor."""
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    begin, used_s = time.perf_counter(), processor_s()
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    return (time.perf_counter() - begin) * 1000, (processor_s() - used_s) * 1000


def processor_s() -> float:
    """Seconds that all ended runs used, which other work on the machine changes less."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def import_ms(folder: str) -> float:
    """Time to import the plugin after pytest is imported, by the interpreter's own count."""
    code = "import pytest, memproto.pytest_plugin"
    command = [sys.executable, "-X", "importtime", "-c", code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    rows = re.findall(r"\|\s+(\d+) \| +(memproto\S*)", done.stderr)
    return max(int(microseconds) for microseconds, _ in rows) / 1000


def main(pairs: int) -> None:
    """Run the pairs and print the figures."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/test_nothing.py", "w", encoding="ascii") as file:  # noqa: PTH123
            file.write("def test_nothing(): pass\n")
        took_ms(PLAIN, folder), took_ms(WITH_PLUGIN, folder)
        rows = [(took_ms(PLAIN, folder), took_ms(WITH_PLUGIN, folder)) for _ in range(pairs)]
        imported = statistics.median(import_ms(folder) for _ in range(9))
    for place, name in enumerate(("wall clock", "processor")):
        tell(name, [(plain[place], loaded[place]) for plain, loaded in rows])
    print(f"importing the plugin, by -X importtime: {imported:.2f} ms")


def tell(name: str, rows: list[tuple[float, float]]) -> None:
    """Print the median difference of the pairs by one clock."""
    plain = statistics.median(row[0] for row in rows)
    low, middle, high = statistics.quantiles([loaded - alone for alone, loaded in rows], n=4)
    spread = f"median {middle:.2f} ms (quartiles {low:.2f} to {high:.2f})"
    print(f"{name}: without it {plain:.1f} ms, the idle plugin {spread}, of {len(rows)} pairs")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
