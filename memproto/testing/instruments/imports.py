"""
Traces of the import of a package, told apart from those of the code around it.

A user's factory prints, sets up the process and starts servers; the package that it imports in
between must not. The state before a module of the package is run is compared with the state
after it.
"""

import contextlib
import dataclasses
import importlib.machinery
import os
import sys
import types
from collections.abc import Callable, Iterator, Sequence


@dataclasses.dataclass
class Traces:
    """
    The traces that a load left behind.

    Attributes:
        files: Files and folders that were created, changed or removed, as a reader knows them.
        printed: Text that went to the standard output.
        changed: Parts of the host that are no more as they were, a line for each.
        settings: Settings of the interpreter that are no more as they were, a line for each.
        threads: The ids of the threads that were started.

    """

    files: list[str] = dataclasses.field(default_factory=list)
    printed: str = ""
    changed: list[str] = dataclasses.field(default_factory=list)
    settings: list[str] = dataclasses.field(default_factory=list)
    threads: frozenset[int] = frozenset()

    def add(self, other: "Traces") -> None:
        """Add what was left behind somewhere else."""
        self.files += other.files
        self.printed = "\n".join(filter(None, (self.printed, other.printed)))
        self.changed += other.changed
        self.settings += other.settings
        self.threads |= other.threads


class Imports:
    """
    Has the modules of a package observed while they are run by their import.

    The modules that one of them imports are a part of it. A module that has the factory in it is
    the user's own, in whatever package it lies.
    """

    def __init__(
        self,
        package: str,
        factory: str,
        observed: Callable[[], contextlib.AbstractContextManager[None]],
    ) -> None:
        """`observed` is entered while a module is run."""
        self._package, self._factory, self._observed = package, factory, observed
        self._is_inside = self._is_asking = False

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Have the imports in the body observed."""
        if not self._package:
            yield
            return
        sys.meta_path.insert(0, self)
        try:
            yield
        finally:
            sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec that the other finders give; a module of the package is observed by it."""
        if self._is_asking or fullname.partition(".")[0] != self._package:
            return None
        if fullname == self._factory:
            return None
        self._is_asking = True
        try:
            found = next(filter(None, (_asked(f, fullname, path, target) for f in _others())), None)
        finally:
            self._is_asking = False
        if found is not None and found.loader is not None:
            self._observe(found.loader)
        return found

    def _observe(self, loader: object) -> None:
        run = getattr(loader, "exec_module", None)
        if run is None:
            return

        def observed(module: types.ModuleType) -> None:
            with contextlib.suppress(AttributeError):
                del loader.exec_module  # type: ignore[attr-defined] # it was set below
            if self._is_inside:
                run(module)
                return
            self._is_inside = True
            try:
                with self._observed():
                    run(module)
            finally:
                self._is_inside = False

        # A loader of native code that takes no attribute is not observed.
        with contextlib.suppress(AttributeError, TypeError):
            loader.exec_module = observed  # type: ignore[attr-defined] # for one import


def _others() -> list[object]:
    return [finder for finder in sys.meta_path if not isinstance(finder, Imports)]


def _asked(
    finder: object,
    fullname: str,
    path: Sequence[str] | None,
    target: types.ModuleType | None,
) -> importlib.machinery.ModuleSpec | None:
    find = getattr(finder, "find_spec", None)
    return None if find is None else find(fullname, path, target)


def printed_since(position: int) -> str:
    """The text that was written to the standard output, a file, since it had that size."""
    # The code that was run may have put something else in the place of the file.
    with contextlib.suppress(OSError):
        size = os.fstat(1).st_size - position
        return os.pread(1, max(size, 0), position).decode("utf-8", "replace").strip()
    return ""
