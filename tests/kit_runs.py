"""Runs the kit as its users do: a command in a directory of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

#: A run that has not ended by then hangs, whatever the machine does. A check may wait for a minute
#: by the specification (MP-FAULT-006), and as many times longer as the machine is slower.
TIMEOUT_S = 900


def kit(directory: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `pytest` with `words` in `directory`, where the shelves of providers are importable."""
    return kit_process(directory, *words, timeout_s=TIMEOUT_S, **environment)


def kit_process(
    directory: Path, *words: str, timeout_s: float, **environment: str
) -> subprocess.CompletedProcess[str]:
    """As `kit`, for a run that may take longer, or is to end sooner."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    shelf = directory / "tests"
    if not shelf.exists():
        shelf.symlink_to(ROOT / "tests")
    return subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=directory,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        errors="backslashreplace",
        timeout=timeout_s,
        check=False,
    )


def reported(directory: Path, *words: str, **environment: str) -> dict[str, Any]:
    """Run the kit and give its JSON report, with the run itself under `run`."""
    file = directory / "report.json"
    done = kit(directory, *words, f"--memproto-report={file}", **environment)
    return read_report(file, done)


def read_report(file: Path, done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The JSON report of a run, with the run itself under `run`."""
    assert file.exists(), done.stdout + done.stderr
    document: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return {**document, "run": done}


def outcomes(report: dict[str, Any]) -> dict[str, str]:
    """Requirement id to outcome of one report."""
    return {row["id"]: row["outcome"] for row in report["results"]}


def write(directory: Path, **files: str) -> None:
    """Write files, and the folders that they are in; `a__b` stands for `a.b` in a bare name."""
    for name, text in files.items():
        path = directory / (name if "/" in name else name.replace("__", "."))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def install(directory: Path, name: str, module: str) -> None:
    """Make a distribution of that name whose entry point brings a binding, as pip would."""
    place = directory / f"{name}-1.0.dist-info"
    place.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    (place / "METADATA").write_text(metadata, "utf-8")
    (place / "entry_points.txt").write_text(f"[memproto.bindings]\n{name} = {module}\n", "utf-8")
