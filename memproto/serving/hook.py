"""The command `memproto hook TARGET`: a provider behind the hooks of Claude Code."""

import argparse
import asyncio
import contextlib
import json
import os
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from memproto import loading
from memproto.deadlines import Deadlines
from memproto.errors import KitUsageError
from memproto.registry.framework import FrameworkSession, now
from memproto.serving import streams
from memproto.serving.transcript import LastTurn, last_turn
from memproto.serving.usage import Parser, refused
from memproto.setup import dotenv

#: Characters of a context. Claude Code shows the model the beginning alone of a longer one.
_MOST_CHARS = 10_000

#: Seconds of a recall, as in the specification.
_RECALL_S = 5.0

ABOUT = (
    "Serve one hook of Claude Code: read its JSON from the standard input, and recall, or record "
    "the turn, by the provider TARGET. SessionStart gives the provider's prompt block, "
    "UserPromptSubmit the fenced recall, Stop records the last turn; other events do nothing."
)


class _NotAHook(Exception):
    """The standard input is no hook's; the text says why."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give a parser the arguments of the command."""
    parser.description = ABOUT
    parser.add_argument("target", metavar="TARGET", help="as for `pytest --memproto=TARGET`")
    parser.add_argument("--home", required=True, metavar="DIR", help="the provider's home")
    parser.add_argument("--factory", default="", metavar="MODULE:FUNCTION", help="builds it")
    parser.add_argument("--user", metavar="ID", help="a user, with a folder below the home")
    parser.add_argument(
        "--within",
        type=_seconds,
        default=10.0,
        metavar="SECONDS",
        help="after which the process ends, whatever the provider does; 10 if unset",
    )


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < (value := float(text)) < threading.TIMEOUT_MAX:
            return value
    raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0; give one as 10")


def main(words: Sequence[str]) -> int:
    """Serve one hook; gives the exit code, 4 for bad usage."""
    parser = Parser(prog="memproto hook")
    add_arguments(parser)
    return run(parser.parse_args(words))


def run(options: argparse.Namespace) -> int:
    """As `main`, with parsed arguments. Takes the standard streams of the process over."""
    given, taken = streams.take()
    says = _Says(taken)
    try:
        event = _read(given)
    except _NotAHook as error:
        return refused("hook", str(error))
    serve = _EVENTS.get(event["hook_event_name"])
    if serve is None:
        return 0
    with says.ended_after(options.within):
        try:
            _field(event, "session_id")
            asyncio.run(_served(serve, event, _loaded(options), options, says))
        except _NotAHook as error:
            return refused("hook", str(error))
        except KitUsageError as error:
            return refused("hook", str(error).replace("--memproto=", ""))
        except (Exception, SystemExit) as error:
            return refused("hook", f"{options.target}: raised {type(error).__name__}: {error}")
    return 0


class _Says:
    """The one JSON document of a hook, and the end of the process if it takes too long."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._is_said = False

    def say(self, **document: Any) -> None:
        """Write the document, unless one was written."""
        with self._lock:
            if not self._is_said:
                self._is_said = True
                text = json.dumps(document) + "\n"
                with contextlib.suppress(OSError), os.fdopen(self._descriptor, "wb") as file:
                    file.write(text.encode("ascii"))

    def context(self, event: str, text: str) -> None:
        """Give the model a context; "" gives none."""
        if text:
            self.say(hookSpecificOutput={"hookEventName": event, "additionalContext": text})

    def ended_after(self, seconds: float) -> "_Watch":
        """A block after whose seconds the process ends with exit code 0."""
        return _Watch(self, seconds)


class _Watch:
    """Ends the process from a thread: an import or a build may hold the main one for ever."""

    def __init__(self, says: _Says, seconds: float) -> None:
        self._says, self._seconds = says, seconds
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *raised: object) -> None:
        self._timer.cancel()

    def _end(self) -> None:
        self._says.say(systemMessage=f"memproto: the memory took more than {self._seconds:g} s")
        os._exit(0)


# -- the input -------------------------------------------------------------------------------------


def _read(descriptor: int) -> dict[str, Any]:
    with os.fdopen(descriptor, "rb") as file:
        text = file.read()
    try:
        event = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nothing" if not text.strip() else f"no JSON ({error})"
        raise _NotAHook(f"the standard input is {reason}; a hook is given an event") from None
    name = event.get("hook_event_name") if isinstance(event, dict) else None
    if not isinstance(name, str):
        raise _NotAHook("the standard input is no hook's event: it has no text `hook_event_name`")
    return dict(event)


def _field(event: dict[str, Any], name: str) -> str:
    value = event.get(name)
    if not isinstance(value, str) or not value:
        raise _NotAHook(f"the event {event['hook_event_name']} has no text `{name}`")
    return value


# -- the events ------------------------------------------------------------------------------------


def _loaded(options: argparse.Namespace) -> loading.Loaded:
    """
    The target, with the variables that `memproto setup` saved.

    The working directory is the user's project, often the code of somebody else: nothing is
    imported from there.
    """
    home = Path(options.home).absolute()
    os.environ["HERMES_HOME"] = str(home)
    for name, value in dotenv.parsed(dotenv.read(home / ".env")).items():
        os.environ.setdefault(name, value)
    loading.import_ahead(options.target)
    return loading.load(options.target, options.factory)


async def _served(
    serve: Callable[..., Any],
    event: dict[str, Any],
    loaded: loading.Loaded,
    options: argparse.Namespace,
    says: _Says,
) -> None:
    within_s = float(options.within)
    session = await FrameworkSession.opened(
        loaded.build,
        options.home,
        event["session_id"],
        platform="claude-code",
        user_id=options.user,
        deadlines=Deadlines(
            initialize_s=within_s, enrich_s=min(_RECALL_S, within_s), shutdown_s=within_s
        ),
        most_chars=_MOST_CHARS,
    )
    try:
        dropped = session.registry.dropped
        if dropped:
            name, reason = next(iter(dropped.items()))
            says.say(systemMessage=f"memproto: the memory {name} takes no part: {reason}")
        else:
            await serve(session, event, says)
    finally:
        await session.end()


async def _session_start(session: FrameworkSession, event: dict[str, Any], says: _Says) -> None:
    says.context("SessionStart", session.prompt[:_MOST_CHARS])


async def _prompt(session: FrameworkSession, event: dict[str, Any], says: _Says) -> None:
    says.context("UserPromptSubmit", await session.block(_field(event, "prompt"), []))


async def _stop(session: FrameworkSession, event: dict[str, Any], says: _Says) -> None:
    """Record the last turn; one that a hook let go on was recorded when it stopped first."""
    if event.get("stop_hook_active") is True:
        return
    turn = _turn(event)
    if turn is None:
        return
    # The line of the answer may not be there yet; newer releases say it in the event.
    said = event.get("last_assistant_message")
    answer = said if isinstance(said, str) and said.strip() else turn.answered
    turn_id = f"{event['session_id']}/{turn.line_id}" if turn.line_id else ""
    await session.record(turn.asked, answer, _time(turn.asked_at), turn_id)
    if not await session.registry.flush():
        says.say(systemMessage="memproto: the memory has not taken the turn")


def _turn(event: dict[str, Any]) -> LastTurn | None:
    path = Path(_field(event, "transcript_path")).expanduser()
    try:
        return last_turn(path)
    except OSError as error:
        raise _NotAHook(f"{path}: the transcript cannot be read ({error.strerror})") from None


def _time(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return now()
    return at if at.tzinfo else now()


_EVENTS: dict[str, Callable[..., Any]] = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "Stop": _stop,
}
