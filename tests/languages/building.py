"""Providers in other languages: made by `memproto new`, built and tested by their own tools."""

import dataclasses
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

NAME = "tide-log"

#: Seconds that a compiler may take on a slow machine.
_BUILD_S = 400


@dataclasses.dataclass(frozen=True)
class Language:
    """
    A language, with the commands that a project of it is built and served by.

    Attributes:
        name: As for `memproto new --lang`.
        install: Run once in a new project.
        test: Builds the project and runs its own tests.
        serve: The program, in the project.
        needs: Programs that have to be on PATH.

    """

    name: str
    install: tuple[tuple[str, ...], ...]
    test: tuple[tuple[str, ...], ...]
    serve: tuple[str, ...]
    needs: tuple[str, ...]

    def command(self, project: Path) -> list[str]:
        """The program of a project, from any directory."""
        return [*self.serve[:-1], str(project / self.serve[-1])]


TYPESCRIPT = Language(
    "typescript",
    (("npm", "install", "--no-audit", "--no-fund"),),
    (("npm", "test"),),
    ("node", "dist/src/server.js"),
    ("node", "npm"),
)

RUST = Language(
    "rust",
    (),
    (("cargo", "test", "--offline"), ("cargo", "build", "--release", "--offline")),
    (f"target/release/{NAME}",),
    ("cargo",),
)

LANGUAGES = {language.name: language for language in (TYPESCRIPT, RUST)}


def made(language: Language, folder: Path) -> Path:
    """A new project of the language in `folder`, with what it needs; it is not built."""
    words = [sys.executable, "-P", "-m", "memproto", "new", NAME, "--lang", language.name]
    run(words, folder)
    for step in language.install:
        run(step, folder / NAME)
    return folder / NAME


def tested(language: Language, project: Path) -> str:
    """Build a project and run its own tests; gives the output."""
    return "".join(run(step, project) for step in language.test)


def run(words: Sequence[str], folder: Path) -> str:
    """The output of a command that ends well; raises AssertionError with it otherwise."""
    program = shutil.which(words[0])
    assert program is not None, f"this environment needs {words[0]}"
    done = subprocess.run(
        [program, *words[1:]],
        cwd=folder,
        env={**os.environ, "CARGO_TERM_COLOR": "never", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=_BUILD_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
