"""
The author's own pytest run, which only starts the inner one and passes its exit code on.

Changing the author's run from inside does not work: its conftest files, addopts and plugins are in
effect already. The inner run gets what was typed, and nothing of the project's settings.
"""

import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
from importlib.machinery import PathFinder
from pathlib import Path
from typing import IO

import pytest

import memproto
from memproto import pytest_plugin

_SUITE = "memproto.conformance"

#: The variable that names the directory of the call in the inner run.
_HERE = "MEMPROTO_CALLED_FROM"

#: Options of pytest that read what an earlier run left. Without one of them, and without a cache
#: that is there, a run leaves no file in the caller's directory.
_OF_CACHE = (
    *("--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first"),
    *("--sw", "--stepwise", "--sw-skip", "--stepwise-skip", "--sw-reset", "--stepwise-reset"),
    *("--lfnf", "--last-failed-no-failures", "--cache-show", "--cache-clear"),
)

#: Variables by which a project's settings, coverage or warnings would reach the inner run.
_DROPPED = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONWARNINGS", "COVERAGE_PROCESS_START")


#: The inner run. If its output takes nothing, pytest raises an error that would end with 1, as
#: if a requirement were violated. Imports make nothing that is garbage, and a collection looks at
#: all that they made: none runs until the run is set up.
_INNER_PYTEST = """
import gc, os, sys
gc.disable()
sys.argv[0] = "pytest"
import pytest
try:
    code = int(pytest.main())
    sys.stdout.flush()
except OSError as error:
    try:
        sys.stdout.write(chr(10))
        sys.stdout.flush()
    except OSError as refused:
        sys.stderr.write(f"ERROR: the standard output takes nothing ({refused.strerror})" + chr(10))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(3)
    raise error from None
sys.exit(code)
"""


def run(early_config: pytest.Config) -> int:
    """Run the kit in a process of its own; blocks until it ends, and gives its exit code."""
    typed = [str(word) for word in early_config.invocation_params.args]
    fault = _missing_modules() or _paths_fault(early_config, typed)
    if fault:
        sys.stderr.write(f"ERROR: {fault}\n")
        return int(pytest.ExitCode.USAGE_ERROR)
    words = [*typed, *_from_settings(early_config, typed)]
    caches = early_config.pluginmanager.hasplugin("cacheprovider") and _remembers(words)
    return _started(words, caches=caches)


def _remembers(words: list[str]) -> bool:
    """True if pytest's cache is in the directory already, or an option asks for it."""
    return Path(".pytest_cache").is_dir() or any(
        word.partition("=")[0] in _OF_CACHE for word in words
    )


def run_alone(words: list[str]) -> int:
    """
    Run the kit without a pytest run of the caller's around it; blocks, and gives its exit code.

    Nothing in the working directory is imported or read as settings of pytest before the kit has
    the word: no `pytest.py`, no ini file with `addopts`, no conftest, no plugin of a package that
    is installed. `words` are options of pytest and the kit.
    """
    fault = _missing_modules()
    if fault:
        sys.stderr.write(f"ERROR: {fault}\n")
        return int(pytest.ExitCode.USAGE_ERROR)
    return _started(words, caches=False)


def _started(words: list[str], *, caches: bool) -> int:
    if any(word.partition("=")[0] == "--memproto-catalog" for word in words):
        return _as_gate(words, caches=caches)
    installed = _installed()
    if installed is None:
        sys.stderr.write(f"ERROR: {_not_installed()}\n")
        return int(pytest.ExitCode.USAGE_ERROR)
    command = _command(words, installed, caches=caches)
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return _run(command, _environment(), ())
    return _run_as_job(command)


def _as_gate(words: list[str], *, caches: bool) -> int:
    """Run as the gate of a catalog: the checks on an entry, and the kit on its plugin."""
    from memproto.catalog.gate import Gate
    from memproto.errors import KitUsageError
    from memproto.testing import untrusted_text

    try:
        gate = Gate(words)
    except KitUsageError as error:
        sys.stderr.write(f"ERROR: {untrusted_text.told(error, str)}\n")
        return int(pytest.ExitCode.USAGE_ERROR)
    code = int(pytest.ExitCode.OK)
    try:
        if gate.words is not None:
            code = _started(gate.words, caches=caches)
    finally:
        code = gate.finish(code)
    return code


def _run_as_job(command: list[str]) -> int:
    """Run where what is printed is read by a runner, commands included."""
    from memproto.report.formats import github

    commands = github.Commands(os.environ, Path.cwd())
    with tempfile.TemporaryFile() as said:
        _print_lines(commands.stop())
        try:
            told = {pytest_plugin.COMMANDS: str(said.fileno())}
            return _run(command, {**_environment(), **told}, (said.fileno(),))
        finally:
            # Nobody else knows the word, and so whatever stands between is text.
            _print_lines([*commands.resume(), *_commands(said)])


def _print_lines(lines: list[str]) -> None:
    """Print lines for the runner, whole and at once: the inner run writes to the same place."""
    sys.stderr.flush()
    text = "".join(f"{line}\n" for line in lines)
    sys.stdout.flush()
    os.write(1, text.encode("utf-8", "backslashreplace"))


def _commands(said: IO[bytes]) -> list[str]:
    """Lines that the inner run has left for the runner: commands of the kit's own, one a line."""
    said.seek(0)
    lines = said.read().decode("utf-8", "replace").split("\n")
    return [line for line in lines if line.startswith(("::error ", "::warning ", "::notice "))]


def _run(command: list[str], environment: dict[str, str], descriptors: tuple[int, ...]) -> int:
    from memproto.testing.processes import confinement
    from memproto.testing.settings import credentials

    confinement.conceal()
    plain, rest = credentials.split(environment)
    read, write = os.pipe()
    plain[credentials.DESCRIPTOR] = str(read)
    # Workers of pytest-xdist are started without -P, in the directory of the call.
    plain["PYTHONSAFEPATH"] = "1"
    process = subprocess.Popen(command, env=plain, pass_fds=[read, *descriptors])
    os.close(read)
    credentials.send(write, rest)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: process.send_signal(signal.SIGHUP))
    while True:
        try:
            return _passed_on(process.wait())
        except KeyboardInterrupt:
            # The inner run got the same signal; it cleans up and reports by itself.
            continue


def _passed_on(code: int) -> int:
    if code >= 0:
        return code
    if -code in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        return int(pytest.ExitCode.INTERRUPTED)
    sys.stderr.write(f"ERROR: the run of the kit was ended by signal {-code}\n")
    return int(pytest.ExitCode.INTERNAL_ERROR)


def _missing_modules() -> str:
    from memproto.testing import installation

    missing = [name for name in installation.KIT_MODULES if importlib.util.find_spec(name) is None]
    if not missing:
        return ""
    return (
        f"--memproto: needs {', '.join(missing)}, which the runtime alone does not bring\n"
        "  fix: pip install 'memproto[kit]'"
    )


def _paths_fault(early_config: pytest.Config, typed: list[str]) -> str:
    known = early_config._parser.parse_known_args(list(typed))  # noqa: SLF001 - no public way to parse
    paths = [str(path) for path in getattr(known, "file_or_dir", [])]
    if not paths:
        return ""
    shown = " ".join(paths)
    return (
        f"--memproto: the paths {shown} cannot be combined with it; "
        "the suite runs alone\n"
        "  fix: leave the paths out, or run them in a pytest run of their own"
    )


def _from_settings(early_config: pytest.Config, typed: list[str]) -> list[str]:
    """Targets that the project's addopts name and that were not typed."""
    found: list[str] = []
    options = early_config.known_args_namespace
    for flag, values in (
        ("--memproto", options.memproto),
        ("--memproto-host", options.memproto_host),
    ):
        found += [f"{flag}={value}" for value in values if not _was_typed(flag, value, typed)]
    return found


def _was_typed(flag: str, value: str, typed: list[str]) -> bool:
    return f"{flag}={value}" in typed or (flag in typed and value in typed)


def _command(words: list[str], installed: tuple[Path, Path], *, caches: bool) -> list[str]:
    suite, ini = installed
    # pytest replaces variables in these two, so that a `$` in the path itself would be read as one.
    own = ["-c", str(ini), "--rootdir", f"${_HERE}", "--confcutdir", str(suite), "--noconftest"]
    if caches:
        own += ["-o", f"cache_dir=${_HERE}/.pytest_cache"]
    else:
        own += ["-p", "no:cacheprovider"]
    own += ["-p", "memproto.pytest_plugin", "-p", "xdist.plugin"]
    # The interpreter must not take modules from the working directory: -P. Nor does the suite have
    # a path here, in which pytest would read a `[` or a `::` as more than a path.
    return [sys.executable, "-P", "-c", _INNER_PYTEST, *own, *words, "--pyargs", _SUITE]


def _installed() -> tuple[Path, Path] | None:
    """The checks and the settings of the kit that the inner run imports; None for no such kit."""
    found = importlib.util.find_spec(_SUITE)
    if found is not None and found.submodule_search_locations:
        suite = Path(found.submodule_search_locations[0])
        return suite.resolve(), Path(pytest_plugin.__file__).with_name("kit.ini")
    # A checkout's own memproto, which holds no checks, was found first: `python -m pytest` looks
    # into the working directory before it looks for what is installed.
    mine = Path(memproto.__file__).resolve().parent
    elsewhere = [entry for entry in sys.path if Path(entry, "memproto").resolve() != mine]
    kit = PathFinder.find_spec("memproto", elsewhere)
    for folder in kit.submodule_search_locations or () if kit else ():
        if Path(folder, "conformance").is_dir():
            return Path(folder, "conformance").resolve(), Path(folder, "pytest_plugin", "kit.ini")
    return None


def _not_installed() -> str:
    return (
        f"--memproto: the memproto at {Path(memproto.__file__).resolve().parent} is a checkout, "
        "which holds no checks until it is installed\n"
        "  fix: pip install '.[kit]' in the checkout, or -e for one that follows it"
    )


def _environment() -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in _DROPPED and not name.startswith("COV_CORE_")
    }
    own = {pytest_plugin.INNER: "1", _HERE: str(Path.cwd())}
    return {**kept, **own, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
