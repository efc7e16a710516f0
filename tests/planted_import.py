"""
Shows that the room contracts bite: a forbidden import, planted in a copy, is refused.

Run in an environment that holds the installed package; exits 1 when the plant passes.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import memproto

CONFIG = Path(__file__).parents[1] / "rooms.toml"

#: A line that the contracts forbid, and the file of the installed package that gets it.
PLANTS = (
    ("provider.py", "from memproto.registry import MemoryProviderRegistry"),
    ("conformance/provider/recall.py", "from memproto.reference_providers import builtin"),
    ("reference_providers/builtin/provider.py", "from memproto.testing import facts"),
    ("fence/block.py", "import psutil"),
    ("fence/characters.py", "from memproto.fence import spots"),
    ("registry/calls/lanes.py", "from memproto.registry.parts import turns"),
    ("testing/facts.py", "import pytest"),
    ("testing/processes/process.py", "from memproto.testing.judging import judge"),
    ("testing/provider/run.py", "from memproto.testing.scenarios import tenants"),
)


def refused(name: str, line: str) -> bool:
    """True if the contracts refuse `line` in the file `name`."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "memproto"
        shutil.copytree(Path(memproto.__file__).parent, copy)
        with (copy / name).open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")
        command = [sys.executable, "-c", _lint(folder), "--no-cache", "--config", str(CONFIG)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode == 1 and "BROKEN" in done.stdout


def _lint(folder: str) -> str:
    start = f"import sys; sys.path.insert(0, {folder!r})"
    return f"{start}; from importlinter.cli import lint_imports_command; lint_imports_command()"


if __name__ == "__main__":
    passed = [name for name, line in PLANTS if not refused(name, line)]
    sys.stdout.write(f"{len(PLANTS) - len(passed)} of {len(PLANTS)} planted imports refused\n")
    sys.exit(f"not refused: {', '.join(passed)}" if passed else 0)
