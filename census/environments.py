"""
An environment for each target, with the kit beside it.

uv makes it: it links files out of one cache, so that the kit's own dependencies cost nothing for
the second target and all that follow.
"""

import csv
import dataclasses
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

#: Seconds that one `pip install` may take.
INSTALL_S = 600

#: Characters of an installer's output that a reason holds.
_MOST_CHARS = 600

#: The files that an installer adds to a distribution, which are not of the package.
_ADDED = frozenset({"INSTALLER", "REQUESTED", "RECORD", "direct_url.json", "uv_cache.json"})


class NotInstalled(Exception):
    """An environment could not be made; the text is what the installer said last."""


@dataclasses.dataclass(frozen=True, slots=True)
class Environment:
    """
    One environment.

    Attributes:
        folder: Its place.
        python: Its interpreter.

    """

    folder: Path
    python: Path

    def site(self) -> Path:
        """The folder of the installed packages."""
        return next(self.folder.glob("lib/python*/site-packages"))


def installer() -> list[str]:
    """
    The words by which uv is called.

    Raises:
        NotInstalled: It is not there.

    """
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise NotInstalled("uv is not there\n  fix: pip install uv")
    return [found, "--quiet"]


def make(folder: Path, python: str, kit: Path, installs: Iterable[str]) -> Environment:
    """
    An environment in `folder` with the kit; each of `installs` is one `pip install`. Blocks.

    Raises:
        NotInstalled: The installer failed, or took longer than `INSTALL_S` for one step.

    """
    uv = installer()
    _run([*uv, "venv", "--no-project", "--python", python or sys.executable, str(folder)])
    made = Environment(folder, folder / "bin" / "python")
    for words in ([f"{kit}[kit]"], *(one.split() for one in installs)):
        _run([*uv, "pip", "install", "--python", str(made.python), *words])
    return made


def npm_install(
    made: Environment, place: Path, packages: Sequence[str], unpacked: Sequence[str] = ()
) -> None:
    """
    Install packages of npm in a working directory, without what they ask of their host. Blocks.

    No script of a package runs. As OpenClaw installs a plugin, npm does not even look for a version
    of the peers that it leaves out, which may take it a quarter of an hour. Those of `unpacked` are
    there without their dependencies as well.

    Raises:
        NotInstalled: npm failed, is not there, or took longer than `INSTALL_S`.

    """
    (place / "package.json").write_text('{"private": true}', "utf-8")
    beside = made.python.with_name("npm")
    npm = str(beside) if beside.exists() else "npm"
    peers = ("--omit=peer", "--legacy-peer-deps")
    plain = (*peers, "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund")
    if packages:
        _run([npm, "install", *plain, *packages], place)
    # Behind the others: npm removes from its folder any package that it did not install there.
    for pin in unpacked:
        _unpack(npm, place, pin)


def _unpack(npm: str, place: Path, pin: str) -> None:
    with tempfile.TemporaryDirectory(dir=place) as name:
        folder = Path(name)
        _run([npm, "pack", "--ignore-scripts", pin], folder)
        (archive,) = folder.glob("*.tgz")
        with tarfile.open(archive) as file:
            file.extractall(folder / "files", filter="data")
        # An archive of npm has one folder, whose name is free.
        (files,) = (folder / "files").iterdir()
        target = place / "node_modules" / pin.rpartition("@")[0]
        target.parent.mkdir(parents=True, exist_ok=True)
        files.rename(target)


def digest_of_npm(place: Path, package: str) -> str:
    """The sha256 over the files of an installed package of npm; "" if it is not there."""
    folder = place / "node_modules" / package
    own = [
        path for path in folder.rglob("*") if "node_modules" not in path.relative_to(folder).parts
    ]
    files = sorted(
        (str(path.relative_to(folder)), hashlib.sha256(path.read_bytes()).hexdigest())
        for path in own
        if path.is_file()
    )
    return hashlib.sha256(json.dumps(files).encode()).hexdigest() if files else ""


def _run(command: list[str], place: Path | None = None) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=place,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=INSTALL_S,
            check=False,
        )
    except OSError as error:
        raise NotInstalled(f"{command[0]} does not start: {error}") from None
    except subprocess.TimeoutExpired:
        step = "npm" if place else command[2]
        raise NotInstalled(f"{step} had not ended after {INSTALL_S} s") from None
    if done.returncode:
        raise NotInstalled(" ".join(done.stderr.split())[-_MOST_CHARS:])


def digest_of(environment: Environment, package: str) -> str:
    """
    The sha256 over the names and digests of the files that a distribution installed; "" for none.

    The files that an installer adds, and scripts, which name their interpreter, are left out. So
    every machine has the same digest of the same wheel.
    """
    plain = package.lower().replace("-", "_").replace(".", "_")
    for record in environment.site().glob("*.dist-info/RECORD"):
        stem = record.parent.name.partition("-")[0]
        if stem.lower().replace(".", "_") == plain:
            return _digest(record)
    return ""


def _digest(record: Path) -> str:
    with record.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.reader(lines) if row]
    files = sorted(
        (row[0], row[1])
        for row in rows
        if not row[0].startswith("../")
        and Path(row[0]).name not in _ADDED
        and Path(row[0]).suffix != ".pyc"
    )
    return hashlib.sha256(json.dumps(files).encode()).hexdigest()
