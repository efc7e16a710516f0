"""The kit and scripts beside a framework's real package, with the Python of its environment."""

import json
import subprocess
from pathlib import Path

from tests.kit_runs import ROOT


def judged(python: Path, directory: Path, target: str, *words: str) -> dict:
    """The report of the kit on a module of this folder, `MODULE:ATTRIBUTE`."""
    (directory / "tests").symlink_to(ROOT / "tests")
    report = directory / "report.json"
    command = ["-m", "pytest", f"--memproto=tests.frameworks.{target}"]
    done = _run(python, directory, *command, f"--memproto-report={report}", *words)
    assert report.exists(), done.stdout + done.stderr
    return json.loads(report.read_text("utf-8"))["reports"][0]


def assert_same_calls(python: Path, directory: Path, script: str) -> None:
    """A script of this folder finds that a real agent and the kit make the same calls."""
    done = _run(python, directory, "-P", str(Path(__file__).with_name(script)))
    assert done.stdout.endswith("the same calls\n"), done.stderr


def _run(python: Path, directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, *words], cwd=directory, capture_output=True, text=True, timeout=600, check=False
    )
