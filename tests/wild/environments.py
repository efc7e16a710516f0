"""A virtual environment for each real provider, with the kit's built wheel beside it."""

import contextlib
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def kit_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's wheel, built once for all workers: two builds would share a folder."""
    with common_folder(tmp_path_factory, "kit-wheel") as folder:
        if not list(folder.glob("memproto-*.whl")):
            command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
            subprocess.run([*command, "-w", str(folder), str(ROOT)], check=True)
    return next(folder.glob("memproto-*.whl"))


@contextlib.contextmanager
def common_folder(factory: pytest.TempPathFactory, name: str) -> Iterator[Path]:
    """A folder of all workers of a run, which one of them has at a time; blocks."""
    base = factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / name
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def common(factory: pytest.TempPathFactory, name: str, kit: Path, *installs: str) -> Path:
    """As `environment`, created once for all workers of a run; no test may install into it."""
    with common_folder(factory, name) as folder:
        done = folder / "done"
        if not done.exists():
            environment(folder / "venv", kit, *installs)
            done.touch()
    return folder / "venv" / "bin" / "python"


def environment(folder: Path, kit: Path, *installs: str) -> Path:
    """Create a virtual environment with the kit; each of `installs` is one call of pip."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    for arguments in (f"{kit}[kit]", *installs):
        command = [str(python), "-m", "pip", "install", "--quiet", *arguments.split()]
        subprocess.run(command, check=True)
    return python
