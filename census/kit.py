"""The kit's wheel, by which all targets are judged, and its digest."""

import dataclasses
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclasses.dataclass(frozen=True, slots=True)
class Kit:
    """
    The wheel.

    Attributes:
        path: Its file.
        digest: The sha256 over the files in it: the wheel's own bytes hold the time of the build.

    """

    path: Path
    digest: str


def of(path: Path) -> Kit:
    """The kit in a wheel that is there."""
    found = hashlib.sha256()
    with zipfile.ZipFile(path) as wheel:
        for name in sorted(wheel.namelist()):
            found.update(f"{name}\0{hashlib.sha256(wheel.read(name)).hexdigest()}\n".encode())
    return Kit(path, found.hexdigest())


def built(folder: Path) -> Kit:
    """
    The kit of this checkout, built into `folder`. Blocks for seconds.

    Raises:
        CalledProcessError: It cannot be built.

    """
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder)]
    subprocess.run([*command, str(ROOT)], check=True)
    return of(next(folder.glob("memproto-*.whl")))
