"""
The base of replay scripts, which repeat the calls after which the kit saw a violation.

`pytest --memproto=TARGET --memproto-replay=DIR` writes such scripts. They need the provider and
this package, and neither pytest nor the packages of the kit.
"""

import contextlib
import os
import shutil
import sys
import tempfile
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

from memproto import loading
from memproto.adapters.homes import own_folder
from memproto.bindings import hermes_agent
from memproto.errors import KitUsageError
from memproto.loading.named_paths import packages_of

__all__ = ["Replay", "holds", "lacks", "shows"]

#: Exit codes: it was seen again, it was not, the calls could not be made as they were.
_SEEN, _NOT_SEEN, _CANNOT = 1, 0, 4

#: Characters of a value that are compared and printed.
_SHOWN = 160


class Replay:
    """
    A fresh home, the provider, and the verdict on what was seen.

    Sets HOME, HERMES_HOME, the temporary directory and the working directory of this process to
    places of its own, which it removes at the end: use it in a program that does nothing else.
    Leaving the block without `end` is the end of a violation that did not come.
    """

    def __init__(
        self,
        target: str,
        project: Path,
        *,
        expected: str,
        observed: str,
        factory: str = "",
        hermes: str = "",
        variables: Sequence[str] = (),
        secrets: Sequence[str] = (),
    ) -> None:
        self._target, self._factory = target, factory
        self._hermes = hermes
        self._project = project.resolve()
        self._told = (expected, observed)
        self._variables = variables
        self._secrets = {name: os.environ.get(name) for name in secrets}
        self._root = Path(tempfile.mkdtemp(prefix="memproto-replay-")).resolve()
        self._loaded: Any = None

    def __enter__(self) -> Self:
        """Load the provider; ends the program with 4 where that cannot be done."""
        missing = [name for name in self._variables if name not in os.environ]
        missing += [name for name, value in self._secrets.items() if value is None]
        if missing:
            self._leave(_CANNOT, f"set {', '.join(missing)}, which the settings give the provider")
        for name in self._secrets:
            # The provider was given it by its config alone.
            os.environ.pop(name)
        os.environ.update(self._environment())
        hermes_agent.choose(self._hermes)
        tempfile.tempdir = None
        sys.path[:0] = [str(self._project), str(self._project / "src")]
        packages = packages_of(self._target, self._project)
        target = str(packages[0]) if len(packages) == 1 else self._target
        os.chdir(self.path("work"))
        try:
            loading.import_ahead(target)
            self._loaded = loading.load(target, self._factory)
        except KitUsageError as error:
            self._leave(_CANNOT, f"{error.what}: {error.fault}; fix: {error.fix}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End with 4 where a call raised that had not raised in the run of the kit."""
        if isinstance(error, SystemExit | KeyboardInterrupt):
            shutil.rmtree(self._root, ignore_errors=True)
            return
        if error is not None:
            self._leave(_CANNOT, f"the calls cannot be made as in the run: it raised {error!r}")
        self.end(seen=False)

    def _environment(self) -> dict[str, str]:
        user = self.path("user")
        fresh = dict.fromkeys(("HOME", "USERPROFILE"), user)
        fresh |= dict.fromkeys(("TMPDIR", "TEMP", "TMP", "XDG_RUNTIME_DIR"), self.path("tmp"))
        for name, folder in (("CONFIG", ".config"), ("DATA", ".local/share")):
            fresh[f"XDG_{name}_HOME"] = f"{user}/{folder}"
        for name, folder in (("CACHE", ".cache"), ("STATE", ".local/state")):
            fresh[f"XDG_{name}_HOME"] = f"{user}/{folder}"
        return {**fresh, "HERMES_HOME": self.path("memory"), "HERMES_DISABLE_LAZY_INSTALLS": "1"}

    def path(self, name: str) -> str:
        """A directory of this replay; it is made where there is none."""
        found = self._root / name
        return str(own_folder(found))

    def secret(self, name: str) -> str:
        """A credential of the config, from the variable of that name."""
        return self._secrets[name] or ""

    def new(self, home: str = "memory") -> "Instance":
        """Build a new instance, for the home of that name."""
        variable = self._loaded.binding.home_variable
        place = self.path(home) if variable else ""
        _name(variable, place)
        return Instance(self._loaded.build(), variable, place)

    @contextlib.contextmanager
    def raising(self, name: str) -> Iterator[None]:
        """End the replay with 1 where the body raises an error of the class `name`."""
        try:
            yield
        except BaseException as error:
            if type(error).__name__ != name:
                raise
            _say(f"  raised {_show(error)}")
            self.end(seen=True)

    @contextlib.contextmanager
    def within(self, budget_s: float) -> Iterator[None]:
        """End the replay with 1 where the body takes longer than `budget_s`."""
        watchdog = threading.Timer(budget_s, self._late, [budget_s])
        watchdog.daemon = True
        watchdog.start()
        try:
            yield
        finally:
            watchdog.cancel()

    def _late(self, budget_s: float) -> None:
        _say(f"  had not returned after {budget_s:g} s")
        self._print(seen=True)
        sys.stdout.flush()
        shutil.rmtree(self._root, ignore_errors=True)
        # The hook still holds the main thread.
        os._exit(_SEEN)

    def end(self, *, seen: bool) -> NoReturn:
        """Say whether the violation was seen again, and end the program with 1 if it was."""
        self._print(seen=seen)
        self._leave(_SEEN if seen else _NOT_SEEN)

    def _print(self, *, seen: bool) -> None:
        expected, observed = self._told
        _say(f"expected  {expected}")
        _say(f"observed  {observed}" if seen else "observed  not what the kit had observed")
        _say("it is seen again" if seen else "it is not seen again")

    def _leave(self, code: int, why: str = "") -> NoReturn:
        if why:
            said = f"replay of {self._target}: {why}"
            sys.stderr.write("".join(c if c.isprintable() else repr(c)[1:-1] for c in said) + "\n")
        os.chdir(self._root.parent)
        shutil.rmtree(self._root, ignore_errors=True)
        raise SystemExit(code)


class Instance:
    """An instance of the provider, by its native hooks; prints each call that is made."""

    def __init__(self, provider: Any, variable: str, home: str) -> None:
        self._provider, self._variable, self._home = provider, variable, home

    @property
    def name(self) -> Any:
        """Read the provider's name."""
        return self._made("name", lambda: self._provider.name)

    def __getattr__(self, hook: str) -> Any:
        """The hook of that name, as a function that makes the call and gives what it returns."""

        def call(*arguments: Any, **keywords: Any) -> Any:
            said = [_show(item, 60) for item in arguments]
            said += [f"{key}={_show(item, 60)}" for key, item in keywords.items()]
            return self._made(
                f"{hook}({', '.join(said)})",
                lambda: getattr(self._provider, hook)(*arguments, **keywords),
            )

        return call

    def _made(self, said: str, call: Any) -> Any:
        _say(said)
        _name(self._variable, self._home)
        answer = call()
        if answer is not None:
            _say(f"  gave {_show(answer)}")
        return answer


# -- what is looked for ----------------------------------------------------------------------------


def holds(answer: Any, name: str) -> bool:
    """True if each word of `name` stands in an answer; case and accents make no difference."""
    text = _folded(answer if isinstance(answer, str) else repr(answer))
    return all(word in text for word in _folded(name).split())


def lacks(answer: Any, name: str) -> bool:
    """True if an answer does not hold `name`."""
    return not holds(answer, name)


def shows(answer: Any, text: str) -> bool:
    """True if an answer reads as it did in the run of the kit."""
    return _show(answer) == text


def _folded(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text)
    return "".join(c for c in letters if not unicodedata.combining(c)).casefold()


def _show(value: Any, limit: int = _SHOWN) -> str:
    """One line for any value, as the kit shows it."""
    if isinstance(value, str | bytes | bytearray) and len(value) > limit:
        return f"{value[:limit]!r}... ({len(value)} long)"
    text = repr(value)
    half = limit // 2
    if len(text) <= limit:
        return text
    return f"{text[:half]} ... ({len(text)} characters) ... {text[-half:]}"


def _name(variable: str, home: str) -> None:
    """Have the binding's variable, if it has one, name a home: it stands, for every thread."""
    if variable and home:
        os.environ[variable] = home


def _say(text: str) -> None:
    """Print one line: what a provider says ends none, and begins none."""
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
