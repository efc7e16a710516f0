"""A virtual environment for each real provider, with the kit's built wheel beside it."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def kit_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's wheel, built once for all workers: two builds would share a folder."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "kit-wheel"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(folder.glob("memproto-*.whl")):
            command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
            subprocess.run([*command, "-w", str(folder), str(ROOT)], check=True)
    return next(folder.glob("memproto-*.whl"))


def environment(folder: Path, kit: Path, *installs: str) -> Path:
    """Create a virtual environment with the kit; each of `installs` is one call of pip."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    for arguments in (f"{kit}[kit]", *installs):
        command = [str(python), "-m", "pip", "install", "--quiet", *arguments.split()]
        subprocess.run(command, check=True)
    return python
