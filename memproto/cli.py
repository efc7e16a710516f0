"""The console script `memproto`: the requirements read, and providers set up, at the terminal."""

import argparse
import contextlib
import errno
import getpass
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from memproto import __version__, chapters, explain, export, loading, spec
from memproto.catalog import command as catalog
from memproto.errors import KitUsageError, MemprotoError, NoSuchRequirement
from memproto.near import nearest
from memproto.report import commands as reports
from memproto.report import console
from memproto.scaffold import command as scaffold
from memproto.serving import command as serve
from memproto.serving import hook
from memproto.setup import dialogue, dotenv, status
from memproto.setup.dialogue import SetupError
from memproto.setup.hooks import ProviderFailed, attempt
from memproto.setup.questions import UnusableSchema, shown
from memproto.testing import installation, untrusted_text
from memproto.tracing import command as check_trace

#: Exit codes: what was asked for cannot be done as it stands, or was asked for wrongly.
_FAILED, _USAGE = 1, 4

#: The commands that make a directory in the working directory.
_MAKING = ("new", "export-hermes")


#: Errors of a standard output that is full, closed, or read by nobody any more.
_OUTPUT = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF, errno.EPIPE, errno.EFBIG})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit code, 4 for bad usage."""
    if sys.stdout is None:
        console.complain("memproto: the standard output is closed\n  fix: send it to a file")
        return _USAGE
    for stream in (sys.stdout, sys.stderr):
        # Names of files hold bytes that are no characters of the encoding; a stream that something
        # made strict, as PYTHONIOENCODING does, would refuse them.
        if getattr(stream, "errors", "") == "strict" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            return _run(arguments)
        finally:
            # The interpreter would do it as it ends, and could say nothing but a traceback.
            sys.stdout.flush()
    except OSError as error:
        if not _is_of_output(error):
            raise
        _let_output_go()
        if not isinstance(error, BrokenPipeError):
            # A reader that stops in the middle of a pipe, as `head` does, has all that it wants.
            console.complain(f"memproto: the standard output takes nothing ({error.strerror})")
        return _FAILED


def _run(arguments: Sequence[str] | None) -> int:
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    if options.command == "judge":
        options.rest = rest
    elif rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        return int(options.run(options))
    except (NoSuchRequirement, KitUsageError, SetupError, UnusableSchema) as error:
        console.complain(f"memproto {options.command}: {_said(error, options.command)}")
        return _USAGE
    except ProviderFailed as error:
        console.complain(f"memproto {options.command}: {untrusted_text.one_line(str(error))}")
        return _FAILED
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] not in installation.KIT_MODULES:
            raise
        fault = f"needs {error.name}, which the runtime alone does not bring"
        console.complain(f"memproto {options.command}: {fault}\n  fix: pip install 'memproto[kit]'")
        return _USAGE
    except OSError as error:
        if _is_of_output(error):
            raise
        return _refused(options.command, error)
    except KeyboardInterrupt:
        sys.stderr.write(f"\nmemproto {options.command}: interrupted\n")
        return _FAILED


def _is_of_output(error: OSError) -> bool:
    return error.filename is None and error.errno in _OUTPUT


def _let_output_go() -> None:
    """Have what is left in the buffer go nowhere, so that the interpreter ends in peace."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _refused(command: str, error: OSError) -> int:
    """Say what the system refused, and what to do about it as far as that is known."""
    if _is_gone():
        fault = "the working directory is not there any more\n  fix: go to one that is"
    elif command in _MAKING and error.filename is not None:
        place = untrusted_text.one_line(os.fsdecode(error.filename))
        fix = "go to a directory in which you may write"
        fault = f"{place}: cannot be written ({error.strerror})\n  fix: {fix}"
    else:
        console.complain(f"memproto {command}: {untrusted_text.one_line(str(error))}")
        return _FAILED
    console.complain(f"memproto {command}: {fault}")
    return _USAGE


def _is_gone() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - asked for what it raises
    except OSError:
        return True
    return False


def _said(error: MemprotoError, command: str) -> str:
    """The fault, with target and command as they were typed; each part in one line."""
    if not isinstance(error, KitUsageError):
        return untrusted_text.one_line(str(error))
    said = untrusted_text.told(error, str)
    return said.replace("pytest --memproto=", f"memproto {command} ").replace("--memproto=", "")


#: The words of argparse for a value that is none of the choices.
_CHOICE = re.compile(
    r"argument (?P<of>\S+): invalid choice: '(?P<typed>.*)' \(choose from (?P<known>.*)\)",
    re.DOTALL,
)


class _Parser(argparse.ArgumentParser):
    """Ends with the project's exit code for bad usage."""

    def error(self, message: str) -> NoReturn:
        unknown = _CHOICE.search(message)
        if unknown is not None:
            typed, known = unknown["typed"], re.findall(r"[\w.-]+", unknown["known"])
            console.complain(f"{self.prog}: {self._unknown(unknown['of'], typed, known)}")
            self.exit(_USAGE)
        self.print_usage(sys.stderr)
        console.complain(f"{self.prog}: {untrusted_text.one_line(message)}")
        self.exit(_USAGE)

    def _unknown(self, argument: str, typed: str, known: list[str]) -> str:
        """The message for a word that is none of those which an argument takes."""
        near, shown = nearest(typed, known), untrusted_text.one_line(repr(typed))
        if argument != "command":
            fix = f"did you mean {near!r}?" if near else f"use one of {', '.join(known)}"
            return f"{argument} {shown}: is not known\n  fix: {fix}"
        fix = f"the commands are {', '.join(known)}; to judge a provider: {self.prog} judge TARGET"
        return f"{shown}: is no command\n  fix: {f'{self.prog} {near}' if near else fix}"

    def _print_message(self, message: str, file: Any = None) -> None:
        # The base class keeps silent where it cannot write.
        if message:
            (file or sys.stderr).write(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="memproto",
        description="The requirements on agent-memory providers and hosts; set-up of providers. "
        "A provider is judged by `pytest --memproto=TARGET`.",
    )
    parser.add_argument("--version", action="version", version=f"memproto {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    explain.add_command(commands.add_parser("explain", help="show a requirement, or an area"))
    chapters.add_command(
        commands.add_parser("spec", help="read the specification: an id, a chapter")
    )
    _add_judge(commands.add_parser("judge", help="judge targets, whatever the directory holds"))
    listed = commands.add_parser("list", help="list the requirements")
    listed.add_argument("--side", choices=("provider", "host"), default="provider")
    listed.add_argument(
        "--class",
        dest="conformance_class",
        choices=spec.CLASSES,
        help="those of providers that this class adds to the ones before it",
    )
    listed.set_defaults(run=_list)
    _add_setup(commands.add_parser("setup", help="ask what a provider needs to know, and save it"))
    _add_status(commands.add_parser("status", help="say whether a provider can start, or why not"))
    export.add_command(commands.add_parser("export-hermes", help="make a plugin of Hermes Agent"))
    scaffold.add_command(commands.add_parser("new", help="make a provider package that conforms"))
    reports.add_commands(commands)
    catalog.add_command(commands.add_parser("catalog", help="entries of a catalog of plugins"))
    served = commands.add_parser("serve", help="serve a provider to hosts in any language")
    serve.add_arguments(served)
    served.set_defaults(run=serve.run)
    hooked = commands.add_parser("hook", help="serve one hook of Claude Code")
    hook.add_arguments(hooked)
    hooked.set_defaults(run=hook.run)
    checked = commands.add_parser("check-trace", help="judge what a host did from its trace")
    check_trace.add(checked)
    checked.set_defaults(run=_check_trace)
    return parser


def _add_judge(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Judge targets as `pytest --memproto=TARGET` does, without a pytest run of the directory: "
        "nothing in it is imported or read as settings of pytest. Options of pytest and the kit "
        "are passed on; write their values behind `=`."
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--host", action="store_true", help="the targets are hosts")
    parser.add_argument(
        "--settings", metavar="FILE", help="settings, in place of the working directory's"
    )
    parser.add_argument("-n", dest="workers", metavar="N", help="processes, as of pytest-xdist")
    parser.set_defaults(run=_judge)


def _judge(options: argparse.Namespace) -> int:
    from memproto.pytest_plugin import outer

    flag = "--memproto-host" if options.host else "--memproto"
    words = [f"{flag}={target}" for target in options.targets]
    if not any(word.startswith("--memproto") for word in [*words, *options.rest]):
        sys.stderr.write("memproto judge: no target: give one, as `memproto judge builtin`\n")
        return _USAGE
    if _is_gone():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), ".")
    if options.settings is not None:
        words.append(f"--memproto-settings={options.settings}")
    workers = ["-n", options.workers] if options.workers else []
    return outer.run_alone([*options.rest, *workers, *words])


def _add_setup(parser: argparse.ArgumentParser) -> None:
    _add_target(parser)
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="an answer; repeatable"
    )
    parser.add_argument("--no-input", action="store_true", help="ask nothing: take the defaults")
    parser.add_argument(
        "--post-setup", action="store_true", help="let a Hermes provider run its own dialogue too"
    )
    parser.set_defaults(run=_set_up)


def _add_status(parser: argparse.ArgumentParser) -> None:
    _add_target(parser)
    parser.set_defaults(run=_status)


def _add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", help="as for `pytest --memproto=TARGET`")
    parser.add_argument(
        "--home", required=True, type=Path, metavar="DIR", help="the provider's home"
    )
    parser.add_argument(
        "--env-file", type=Path, metavar="FILE", help="where variables are kept; DIR/.env if unset"
    )


def _printed(text: str) -> int:
    sys.stdout.write(text + "\n")
    return 0


def _list(options: argparse.Namespace) -> int:
    name: spec.ConformanceClass | None = options.conformance_class
    if name and options.side == "host":
        raise KitUsageError(f"--class {name}", "is of providers alone", "leave --side host out")
    return _printed(_listed(options.side, name))


def _listed(side: spec.Side, name: spec.ConformanceClass | None) -> str:
    """One line for each requirement; those of providers say their class."""
    found = [item for item in spec.select([], side) if name in (None, item.conformance_class)]
    head = [f"{name}: {spec.promises()[name]}"] if name else []
    width = max(
        (len(item.conformance_class) + 1 for item in found if side == "provider"), default=0
    )
    return "\n".join(
        [
            *head,
            *(
                f"{item.id:<20} {item.level:<7} {item.conformance_class:<{width}}{item.text}"
                for item in found
            ),
        ]
    )


def _check_trace(options: argparse.Namespace) -> int:
    try:
        return check_trace.run(options, lambda text: sys.stdout.write(untrusted_text.lines(text)))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        fix = "name files that a recording wrote, as in memproto check-trace trace.jsonl"
        raise KitUsageError(str(error.filename), reason, fix) from None


# -- set-up ----------------------------------------------------------------------------------------


def _set_up(options: argparse.Namespace) -> int:
    given = dict(map(_pair, options.set))
    loaded = _loaded(options)
    provider = _built(loaded)
    try:
        answers = dialogue.collect(
            dialogue.schema_of(provider),
            given=given,
            variables=os.environ,
            ask=None if options.no_input else _ask,
        )
    except (EOFError, KeyboardInterrupt):
        sys.stderr.write("\nmemproto setup: ended before the last answer; nothing was saved\n")
        return _FAILED
    home, env_file = options.home.absolute(), _env_file(options)
    dialogue.save(provider, answers, home=home, env_file=env_file, tell=_tell)
    os.environ.update(answers.variables)
    if not loaded.binding.asks_afterwards or options.post_setup:
        dialogue.finish(provider, answers, home)
    elif callable(getattr(provider, "post_setup", None)):
        _tell("the provider has a dialogue of its own; --post-setup runs it")
    return 0


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign:
        raise SetupError(f"--set {text}: KEY=VALUE is expected")
    return key, value


def _status(options: argparse.Namespace) -> int:
    loaded = _loaded(options)
    found = status.examine(_built(loaded), os.environ, loaded.binding)
    head = f"{found.name} ({options.target}, {loaded.binding.name})"
    _printed("\n  ".join(map(untrusted_text.one_line, [head, *found.lines()])))
    return 0 if found.is_available else _FAILED


def _loaded(options: argparse.Namespace) -> loading.Loaded:
    """The target, in an environment whose home is the given one and none that is really used."""
    home = str(options.home.absolute())
    os.environ["HERMES_HOME"] = home
    for name, value in dotenv.parsed(dotenv.read(_env_file(options))).items():
        os.environ.setdefault(name, value)
    here = Path.cwd()
    sys.path[:0] = [str(here), str(here / "src")]
    try:
        return loading.load(options.target)
    except SystemExit as error:
        raise ProviderFailed(f"importing {options.target} raised SystemExit: {error}") from None


def _built(loaded: loading.Loaded) -> Any:
    return attempt(f"building {loaded.target}", loaded.build)


def _env_file(options: argparse.Namespace) -> Path:
    return Path(options.env_file or options.home / ".env").absolute()


def _ask(prompt: dialogue.Prompt) -> str:
    """Ask at the terminal; a secret is not shown as it is typed."""
    question = prompt.question
    if prompt.fault:
        _tell(f"  {prompt.fault}")
    elif question.url:
        _tell(f"  see {question.url}")
    choices = f" ({', '.join(map(shown, question.choices))})" if question.choices else ""
    default = "keep" if prompt.is_set else prompt.default
    line = f"{question.description}{choices}{f' [{default}]' if default else ''}"
    line = f"{untrusted_text.one_line(line)}: "
    return getpass.getpass(line) if question.secret and sys.stdin.isatty() else input(line)


def _tell(line: str) -> None:
    console.tell(untrusted_text.one_line(line))


if __name__ == "__main__":
    sys.exit(main())
