"""
Credentials of the operator's environment: known to the judge, and in no process's environment.

The environment of a program's start stands in a file of the system while it runs. So the inner
run is started without credentials, and gets them through a pipe; once the settings have taken what
they name, they leave its environment as well, before the first child starts.
"""

import contextlib
import json
import os
import re
from collections.abc import Mapping

from memproto.testing import credential_forms

#: Names the descriptor from which the inner run reads the rest of its environment.
DESCRIPTOR = "MEMPROTO_ENVIRONMENT"

#: Variables that an interpreter, its native libraries, pytest or a terminal reads at its start.
_PLAIN = re.compile(
    r"(LD|DYLD|LC|MALLOC|GLIBC|PYTHON|PYTEST|MEMPROTO|XDG|RUNNER|GITHUB|CONDA|VIRTUAL|PY)_?\w*"
    r"|PATH|LANG|LANGUAGE|TZ|HOME|USER|LOGNAME|SHELL|PWD|TMPDIR|TEMP|TMP|SYSTEMROOT"
    r"|TERM|COLORTERM|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CI|BUILD_NUMBER|HERMES_HOME"
)

_taken: dict[str, str] = {}
_named: set[str] = set()


def split(environment: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """An environment as what anybody may read, and the rest, in which credentials are."""
    plain = {
        name: value
        for name, value in environment.items()
        if _PLAIN.fullmatch(name) and not credential_forms.CREDENTIAL.search(name)
    }
    return plain, {name: environment[name] for name in environment if name not in plain}


def send(descriptor: int, rest: Mapping[str, str]) -> None:
    """Write the rest of an environment for `receive`, and close; blocks until it is read."""
    with contextlib.suppress(BrokenPipeError), os.fdopen(descriptor, "wb") as sink:
        sink.write(json.dumps(dict(rest)).encode("ascii"))


def receive() -> None:
    """Take the rest of this process's environment from the pipe that it names, if it names one."""
    descriptor = os.environ.pop(DESCRIPTOR, "")
    if descriptor:
        with os.fdopen(int(descriptor), "rb") as source:
            os.environ.update(json.loads(source.read()))


def asked(name: str) -> str | None:
    """The value of a variable from which a setting takes its own; None if it is not set."""
    _named.add(name)
    return environment().get(name)


def take() -> None:
    """Remove credentials from this process's environment, and what settings have asked for."""
    for name in list(os.environ):
        if name in _named or credential_forms.CREDENTIAL.search(name):
            _taken[name] = os.environ.pop(name)


def lend() -> dict[str, str]:
    """Those that were taken, for a worker process, which reads the settings by itself."""
    return dict(_taken)


def environment() -> dict[str, str]:
    """The environment with what was taken from it: by it a text is looked through for them."""
    return {**os.environ, **_taken}
