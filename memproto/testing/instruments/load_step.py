"""
The load step under guard: no connection, no new program, and a record of what else it did.

While a provider is imported and built, connections (loopback included) and programs are refused
with the errors that a machine without network and without that program gives, and are noted. The
traces that stay behind (files, output, threads, changed globals) are noted afterwards.
"""

import contextlib
import dataclasses
import errno
import functools
import os
import sys
import sysconfig
import tempfile
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from memproto import spec
from memproto.errors import KitUsageError, NoProvider, TargetDoesNotImport
from memproto.loading import modules
from memproto.testing import locate
from memproto.testing.evidence import Acted
from memproto.testing.instruments import watchers
from memproto.testing.instruments.imports import Imports, Traces, printed_since
from memproto.testing.instruments.logs import Records
from memproto.testing.wire import describe

T = TypeVar("T")

_CONNECTING = frozenset(
    {
        *("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo"),
        *("socket.gethostbyname", "socket.gethostbyaddr"),
    }
)
_STARTING = frozenset({"subprocess.Popen", "os.posix_spawn", "os.exec", "os.system", "os.spawn"})

#: Code of the standard library that asks other programs about the machine, at no cost to anybody.
_STDLIB = sysconfig.get_paths()["stdlib"]
_HARMLESS = tuple(f"{_STDLIB}/{name}" for name in ("ctypes/util.py", "platform.py", "uuid.py"))

#: Parts of the host, of all that the watchers see.
_NAMED = (
    *("working directory", "signal handlers", "locale", "root logger", "socket timeout"),
    *("sys.excepthook", "threading.excepthook", "event-loop policy"),
)

#: Modules that a provider asks for which is built on the host's base class.
_HOST_MODULES = frozenset({"agent", "agent.memory_provider"})

CONNECTS, STARTS = spec.role("load_connects"), spec.role("load_starts_programs")


@dataclasses.dataclass
class LoadStep:
    """
    Effects of importing and building a target, beside giving a provider.

    Attributes:
        connections: Each refused connection or look-up, with the author's line.
        programs: Each refused program, with the author's line.
        files: Files and folders that were created, changed or removed, as a reader knows them.
        printed: Text that went to the standard output.
        changed: Parts of the host that are no more as they were, a line for each.
        settings: Settings of the interpreter that are no more as they were, a line for each.
        threads: The ids of the threads that were started and still ran.
        home: The directory that HERMES_HOME named meanwhile.
        loaded: The target, once it is loaded.
        sought_host: True if the target tried to import from hermes-agent.
        warned: Records that were logged as a warning or worse.
        factory: The function of the settings that builds the instances, "module:function", or "".
        package: The top package that TARGET names, as far as its text tells; else "".
        imported: Traces of the import of that package alone, if there is a factory.

    """

    connections: list[str] = dataclasses.field(default_factory=list)
    programs: list[str] = dataclasses.field(default_factory=list)
    files: list[str] = dataclasses.field(default_factory=list)
    printed: str = ""
    changed: list[str] = dataclasses.field(default_factory=list)
    settings: list[str] = dataclasses.field(default_factory=list)
    threads: frozenset[int] = frozenset()
    home: Path | None = None
    loaded: Any = None
    sought_host: bool = False
    audit: watchers.AuditLog | None = None
    warned: list[str] = dataclasses.field(default_factory=list)
    factory: str = ""
    package: str = ""
    imported: Traces = dataclasses.field(default_factory=Traces)

    @property
    def by_factory(self) -> bool:
        """True if a function of the settings builds the instances."""
        return bool(self.factory)

    def take(self, load: Callable[[], T], root: Path) -> T:
        """Load the target once, and note what that does; whatever it raises comes through."""
        self.home = root / "memory"
        before, globals_before = _tree(root), _globals()
        settings_before = watchers.interpreter_settings()
        threads, records = watchers.thread_ids(), Records(self.warned)
        imports: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        if self.factory:
            module = self.factory.partition(":")[0]
            observed = functools.partial(self._importing, root, frozenset(threads))
            imports = Imports(self.package, module, observed).watched()
        with self._printing(root), self.guarding(), records.as_last_resort(), imports:
            try:
                self.loaded = loaded = load()
                return loaded
            finally:
                self.threads = frozenset(watchers.thread_ids() - threads)
                self.changed = _changes(globals_before, _globals())
                self.settings = _changed_settings(settings_before)
                self.files = _differing(before, _tree(root), root)

    @contextlib.contextmanager
    def _importing(self, root: Path, threads: frozenset[int]) -> Iterator[None]:
        """Note what the body leaves behind, in which the import of the package runs."""
        here = watchers.thread_ids()
        if here - threads:
            # A thread of the factory's may do anything meanwhile.
            yield
            return
        before, globals_before = _tree(root), _globals()
        settings_before = watchers.interpreter_settings()
        _flush()
        position = os.fstat(1).st_size
        try:
            yield
        finally:
            _flush()
            self.imported.add(
                Traces(
                    files=_differing(before, _tree(root), root),
                    printed=printed_since(position),
                    changed=_changes(globals_before, _globals()),
                    settings=_changed_settings(settings_before),
                    threads=frozenset(watchers.thread_ids() - here),
                )
            )

    @contextlib.contextmanager
    def guarding(self) -> Iterator[None]:
        """Refuse connections and programs while the body runs, on every thread."""
        assert self.audit is not None
        self.audit.guard = self._refuse
        try:
            yield
        finally:
            self.audit.guard = None

    def refused_before(self, error: BaseException) -> Acted | None:
        """The refusal after which the load failed by `error`; None if there was none."""
        refused = [*self.programs, *self.connections]
        if not refused or _is_other_fault(error):
            return None
        what = "program is started" if self.programs else "connection is opened"
        fault = error.fault if isinstance(error, KitUsageError) else f"raised {describe(error)}"
        return Acted(
            wanted=f"no {what} while it is imported and built",
            deed="program" if self.programs else "connection",
            seen=tuple(refused[:1]),
            tail=f"; that was refused, and then the target {fault}",
        )

    def _refuse(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "import":
            self.sought_host |= args[0] in _HOST_MODULES
        if event not in _CONNECTING and event not in _STARTING:
            return
        if self._is_the_users():
            return
        if event in _CONNECTING:
            is_question = event.startswith("socket.get")
            address = args[0] if is_question else args[-1]
            if is_question and watchers.is_loopback(address):
                return
            self.connections.append(f"{event} {address!r}{_place() or ''}")
            raise ConnectionRefusedError(
                errno.ECONNREFUSED, "memproto opens no connection while a provider is loaded"
            )
        if event in _STARTING:
            place = _place()
            if place is None:
                return
            self.programs.append(f"{event} {_command(event, args)}{place}")
            raise FileNotFoundError(
                errno.ENOENT, "memproto starts no program while a provider is loaded", str(args[0])
            )

    def _is_the_users(self) -> bool:
        """
        True if this thread runs the user's factory, and no code of the provider's inside of it.

        The provider's are its package, a method of an object that has the hooks of one, and what
        is imported.
        """
        module = self.factory.partition(":")[0]
        frame: types.FrameType | None = sys._getframe(2) if module else None  # noqa: SLF001 - as below
        inside_factory = False
        while frame is not None:
            code, name = frame.f_code, str(frame.f_globals.get("__name__", ""))
            inside_factory = inside_factory or name == module
            if locate.is_authors(code.co_filename) and self._is_the_providers(frame, name, module):
                return False
            frame = frame.f_back
        return inside_factory

    def _is_the_providers(self, frame: types.FrameType, name: str, module: str) -> bool:
        is_of_package = bool(self.package) and name.partition(".")[0] == self.package
        if frame.f_code.co_name == "<module>":
            return is_of_package or name != module
        if is_of_package and name != module:
            return True
        owner = frame.f_locals.get("self", frame.f_locals.get("cls"))
        kind = owner if isinstance(owner, type) else type(owner)
        return modules.looks_like_provider(kind)

    @contextlib.contextmanager
    def _printing(self, root: Path) -> Iterator[None]:
        """Keep what is printed, also by native code, and then let it through."""
        with tempfile.TemporaryFile(dir=root) as file, contextlib.ExitStack() as restored:
            _flush()
            kept = os.dup(1)
            restored.callback(os.close, kept)
            os.dup2(file.fileno(), 1)
            try:
                yield
            finally:
                _flush()
                os.dup2(kept, 1)
                file.seek(0)
                text = file.read()
                self.printed = text.decode("utf-8", "replace").strip()
                os.write(1, text)


def _is_other_fault(error: BaseException) -> bool:
    """True if an error tells of something that a refusal did not bring about."""
    usage = isinstance(error, KitUsageError)
    return usage and not isinstance(error, TargetDoesNotImport | NoProvider)


def _flush() -> None:
    with contextlib.suppress(Exception):
        sys.stdout.flush()


def _place() -> str | None:
    """The author's line that leads here; None where the standard library asks for itself."""
    innermost = outermost = ""
    frame: types.FrameType | None = sys._getframe(2)  # noqa: SLF001 - the only way to the stack
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_HARMLESS):
            return None
        if locate.is_authors(code.co_filename):
            outermost = f"{locate.short(code.co_filename)}:{frame.f_lineno} in {code.co_name}"
            innermost = innermost or outermost
        frame = frame.f_back
    if innermost == outermost:
        return f" at {innermost}" if innermost else ""
    return f" at {innermost}, by way of {outermost}"


def _command(event: str, args: tuple[Any, ...]) -> str:
    asked = args[1] if event != "os.system" and len(args) > 1 and args[1] else args[0]
    words = [asked] if isinstance(asked, str | bytes | os.PathLike) else list(asked)
    return " ".join(map(os.fsdecode, words))[:200]


# -- what stays behind -----------------------------------------------------------------------------


def _globals() -> dict[str, Any]:
    state = {name: value for name, value in watchers.process_globals().items() if name in _NAMED}
    signals = state.pop("signal handlers")
    return {
        **state,
        **{f"handler of signal {number}": handler for number, handler in signals.items()},
        **{f"environment variable {key}": value for key, value in os.environ.items()},
    }


def _changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """One line for each change; a variable that was not set before may be."""
    kept = {
        key: value
        for key, value in after.items()
        if key in before or not key.startswith("environment variable")
    }
    return watchers.differences(before, kept)


def _changed_settings(before: dict[str, Any]) -> list[str]:
    return watchers.differences(before, watchers.interpreter_settings())


def _tree(root: Path) -> dict[str, tuple[int, int]]:
    """Files with size and time, and folders, below the places of a provider but the temporary."""
    found: dict[str, tuple[int, int]] = {}
    for name in ("user", "work", "memory"):
        found |= watchers.tree(root / name)
        found |= {str(path): (0, 0) for path in (root / name).rglob("*") if path.is_dir()}
    return found


def _differing(
    before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]], root: Path
) -> list[str]:
    paths = sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
    shown = {"user": "~", "work": ".", "memory": "$HERMES_HOME"}
    found = []
    for path in paths:
        top, *rest = Path(path).relative_to(root).parts
        verb = "removed" if path not in after else "wrote" if path in before else "created"
        found.append(f"{verb} {'/'.join((shown[top], *rest))}")
    return found
