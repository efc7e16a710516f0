"""A virtual environment for each real provider, with the kit's built wheel beside it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def kit_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's wheel, built once for the files of a folder."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder)]
    subprocess.run([*command, str(ROOT)], check=True)
    return next(folder.glob("memproto-*.whl"))


def environment(folder: Path, kit: Path, *installs: str) -> Path:
    """Create a virtual environment with the kit; each of `installs` is one call of pip."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    for arguments in (f"{kit}[kit]", *installs):
        command = [str(python), "-m", "pip", "install", "--quiet", *arguments.split()]
        subprocess.run(command, check=True)
    return python
