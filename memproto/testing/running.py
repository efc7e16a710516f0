"""What the threads of this process run, and which of them run a provider's own code."""

import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from memproto.testing import locate


def stack(frame: FrameType) -> list[CodeType]:
    """What a thread runs, the outermost function first."""
    found = [frame]
    while found[-1].f_back is not None:
        found.append(found[-1].f_back)
    return [one.f_code for one in reversed(found)]


def shown(stack: list[CodeType]) -> str:
    """The outermost function of the provider's in a stack, or where a foreign thread stands."""
    theirs = (code for code in stack if locate.is_authors(code.co_filename))
    code = next(theirs, stack[-1])
    return f"{Path(code.co_filename).name}:{code.co_name}"


def stacks() -> dict[int, list[CodeType]]:
    """The stack of each thread by its id, of those too that `threading` does not know."""
    frames = sys._current_frames()  # noqa: SLF001 - the only view of foreign threads
    return {ident: stack(frame) for ident, frame in frames.items()}


def workers(provider: Any, known: frozenset[int]) -> list[str]:
    """
    Where the threads run that are in code of the provider's own package, but for known ones.

    A thread that waits in the code of a library alone, as that of an executor, is none of them.
    """
    place = locate.code_of(provider)
    new = [found for ident, found in stacks().items() if ident not in known]
    return [shown(found) for found in new if any(_is_below(place, code) for code in found)]


def _is_below(place: Path | None, code: CodeType) -> bool:
    file = code.co_filename
    if place is None or not locate.is_authors(file):
        return False
    return Path(file).resolve().is_relative_to(place)
