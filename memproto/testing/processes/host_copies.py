"""
Hosts in processes of their own are copies of a template too, one for each module of scripts.

The template is a fresh interpreter that has imported what a host imports, and no more: a copy goes
on where that host would, and ends as it would, through the end of its `main`. It belongs to the
process that runs the check, and to its group.
"""

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from memproto.testing import os_names
from memproto.testing.processes import copy as copied
from memproto.testing.processes import sandbox, template


class _HostTemplate(template.Template):
    """A template whose copies have the streams of hosts, and whose group is this process's."""

    def _run(self, words: list[str], asked: int, output: int) -> subprocess.Popen[bytes]:
        read, write = os.pipe()
        null = subprocess.DEVNULL
        try:
            return subprocess.Popen(
                words, stdin=read, stdout=null, stderr=output, pass_fds=(asked,)
            )
        finally:
            copied.close(read, write)


@dataclasses.dataclass
class StartedHost:
    """
    A process that was started, and what it reads.

    Attributes:
        process: Tells its end, and kills it.
        stdin: The stream that it reads.

    """

    process: "subprocess.Popen[bytes] | copied.Copy"
    stdin: IO[bytes]


_templates: dict[str, _HostTemplate] = {}


def start(module: str, asked: dict[str, Any], errors: Path, given: Sequence[str]) -> StartedHost:
    """
    Start a host that runs what it is asked; blocks until its process is there.

    Its environment, directory and group are those of this process. The names in `given` are those
    of what it is asked that are descriptors.
    """
    serving = _serving(module)
    with errors.open("wb") as file:
        if serving is not None:
            copied = _copied(serving, asked, file.fileno(), given)
            if copied is not None:
                return copied
        return _fresh(module, asked, file, given)


def _serving(module: str) -> _HostTemplate | None:
    """The template of a module; None where a host has to be an interpreter of its own."""
    if sys.platform != "linux":
        return None
    known = _templates.get(module)
    if known is None or not known.is_mine:
        known = _begun(module)
    elif not known.alive and known.has_served:
        known.end()
        known = _begun(module)
    # One that ended before it served anything would do so again.
    usable = known is not None and known.alive and known.suits(dict(os.environ))
    return known if usable else None


def _begun(module: str) -> _HostTemplate | None:
    with contextlib.suppress(OSError):
        _templates[module] = _HostTemplate(_words(module), dict(os.environ))
        return _templates[module]
    return None


def _words(module: str) -> list[str]:
    return [sandbox.interpreter(), "-P", "-m", module]


def _copied(
    serving: _HostTemplate, asked: dict[str, Any], errors: int, given: Sequence[str]
) -> StartedHost | None:
    told = {
        "asked": asked,
        "given": list(given),
        "environment": os_names.told(dict(os.environ)),
        "cwd": os_names.told(str(Path.cwd())),
        "processors": sorted(os.sched_getaffinity(0)),
    }
    read, write = os.pipe()
    try:
        copy = serving.copy(told, (read, errors, *(asked[name] for name in given)))
    finally:
        os.close(read)
    if copy is None:
        os.close(write)
        return None
    return StartedHost(copy, os.fdopen(write, "wb", buffering=0))


def _fresh(
    module: str, asked: dict[str, Any], errors: IO[bytes], given: Sequence[str]
) -> StartedHost:
    # Everybody may read a command line, and a config may hold credentials.
    with tempfile.TemporaryFile() as told:
        told.write(json.dumps(asked).encode("ascii"))
        told.seek(0)
        process = subprocess.Popen(
            [*_words(module), f"@{told.fileno()}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=dict(os.environ),
            pass_fds=[told.fileno(), *(asked[name] for name in given)],
        )
    assert process.stdin is not None
    return StartedHost(process, process.stdin)
