"""TARGET `wire:COMMAND LINE`: a provider in a process of its own."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from memproto.errors import NoSuchTarget
from memproto.wire import WireProvider

#: The beginning of such a target.
SCHEME = "wire:"


def is_server(target: str) -> bool:
    """True if a target names a command of a server."""
    return target.startswith(SCHEME)


def as_target(command: Sequence[str], cwd: str) -> str:
    """A target in the form for programs: a command as a list, and its working directory."""
    return SCHEME + json.dumps({"command": list(command), "cwd": cwd})


def words_of(target: str) -> tuple[list[str], str | None]:
    """
    The words of the command that a target names, and its working directory if it says one.

    Raises:
        NoSuchTarget: It names no command.

    """
    text = target.removeprefix(SCHEME)
    fix = 'write the command line, as in --memproto="wire:node dist/server.js"'
    if text.startswith('{"command"'):
        told = json.loads(text)
        return list(told["command"]), told["cwd"]
    try:
        words = shlex.split(text)
    except ValueError as error:
        fault = f"is no command line ({error})"
        raise NoSuchTarget(f"--memproto={target}", fault, fix) from None
    if not words:
        raise NoSuchTarget(f"--memproto={target}", "names no command", fix)
    return words, None


def shown(target: str) -> str:
    """A target as a user types it."""
    return SCHEME + shlex.join(words_of(target)[0])


def builder(target: str) -> tuple[Callable[[], Any], str]:
    """
    The function that builds a provider of a target, and the place where it was found.

    Nothing is started. A server gets the whole environment that this process has when an instance
    is built: this process is one of the kit's, or of the operator's own.

    Raises:
        NoSuchTarget: It names no command.

    """
    words, cwd = words_of(target)

    def build() -> WireProvider:
        found = [_program(words[0]), *words[1:]]
        return WireProvider(found, cwd=cwd, env=dict(os.environ))

    return build, f"the command {shlex.join(words)}"


def _program(name: str) -> str:
    """A program that is not on PATH, beside this interpreter if it is there, as `memproto` is."""
    if "/" in name or shutil.which(name):
        return name
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.is_file() else name
