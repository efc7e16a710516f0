"""Chapter 70: credentials stay in the configuration."""

import contextlib
import dataclasses
import functools
import hashlib
import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from typing import IO, Any

from memproto.testing import routes, texts
from memproto.testing.clauses import Untestable, check
from memproto.testing.facts import Fact
from memproto.testing.run import Run
from memproto.testing.subject import HookRaised, Subject

#: A key that no provider knows, which says what it holds.
_KEY = "x_access_token"

#: What no entry holds.
_ABSENT = "the colour of the lighthouse door"

#: Texts that a store is likely to refuse, none of them long: a freeze has a rule of its own.
_HARD = ("a NUL", "a lone high surrogate", "an unbalanced quotation mark")

_LOG, _STREAM = "a log record", "a standard stream"
_ERROR, _RECALL = "the text of an exception", "a recall"

#: How much of what was said is shown on each side of the credential.
_AROUND_CHARS = 60


@check("MP-ISO-006", budget_s=120.0)
def a_credential_is_shown_nowhere(run: Run) -> None:
    secret = f"atk-{hashlib.sha256(run.facts.name().encode()).hexdigest()[:24]}"
    with _listening() as ears:
        for operation, kind, text in _said(run, ears, secret):
            if secret in text:
                run.violated(
                    f"the value of config[{_KEY!r}] in no log, stream, exception or recall",
                    f"{run.hook(operation)} wrote it into {kind}: {_excerpt(text, secret)}",
                    operation=operation,
                )


def _excerpt(text: str, secret: str) -> str:
    before, _, after = text.partition(secret)
    shown = f"{before[-_AROUND_CHARS:]}***{after[:_AROUND_CHARS].replace(secret, '***')}"
    return " ".join(shown.split())


# -- a session and what it says --------------------------------------------------------------------


def _said(run: Run, ears: "_Ears", secret: str) -> Iterator[tuple[str, str, str]]:
    """The operation, the kind and the text of everything that a whole session says."""
    opened: list[Subject] = []
    extra: dict[str, Any] = {_KEY: secret}
    yield from _heard(ears, "open", lambda: opened.append(run.open(**extra)))
    if not opened:
        return
    for operation, call in _calls(run, opened[0]):
        yield from _heard(ears, operation, call)
    yield from _heard(ears, "close", lambda: run.close(opened[0]))


def _heard(
    ears: "_Ears", operation: str, call: Callable[[], Any]
) -> Iterator[tuple[str, str, str]]:
    """Make one call; what it raises is text here, and judged by other rules."""
    answer: Any = None
    try:
        answer = call()
    except HookRaised as failure:
        if failure.ends_process:
            raise
        yield operation, _ERROR, "".join(traceback.format_exception(failure.error))
    if operation == "recall" and isinstance(answer, str):
        yield operation, _RECALL, answer
    for kind, text in ears.news():
        yield operation, kind, text


def _calls(run: Run, subject: Subject) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What a session is made of, and calls that are legal and hard to serve."""
    fact = run.facts.new()
    yield "declare", subject.declare
    yield from routes.core_calls(subject, fact.text, fact.query).items()
    for text in (*(texts.NAMED[name] for name in _HARD), fact.text):
        yield from routes.core_calls(subject, text, text).items()
        yield "mirror", functools.partial(subject.mirror, "replace", "memory", text, _ABSENT)
        yield "mirror", functools.partial(subject.mirror, "remove", "memory", None, _ABSENT)
    if subject.has("tools"):
        yield "call_tool", lambda: _stored_by_tool(subject, fact)
    yield "recall", lambda: subject.recall(fact.query)


def _stored_by_tool(subject: Subject, fact: Fact) -> None:
    """Store by a tool, where one stores: without it the other calls are judged all the same."""
    with contextlib.suppress(Untestable):
        routes.plant_by_tool(subject, fact)


# -- ears ------------------------------------------------------------------------------------------


@dataclasses.dataclass
class _Ears:
    """What the process said since the last time: log records, and both standard streams."""

    records: list[str]
    streams: IO[bytes]

    def news(self) -> Iterator[tuple[str, str]]:
        """The kind and the text of what is new."""
        records, self.records[:] = list(self.records), []
        yield _LOG, "\n".join(records)
        _flush()
        yield _STREAM, self.streams.read().decode("utf-8", "replace")


@contextlib.contextmanager
def _listening() -> Iterator[_Ears]:
    """Hear every log record at every level, and what is written to descriptors 1 and 2."""
    with _streams() as streams, _records() as records:
        yield _Ears(records, streams)


@contextlib.contextmanager
def _streams() -> Iterator[IO[bytes]]:
    _flush()
    kept = {number: os.dup(number) for number in (1, 2)}
    with tempfile.NamedTemporaryFile() as file:
        writing = os.open(file.name, os.O_WRONLY | os.O_APPEND)
        try:
            for number in kept:
                os.dup2(writing, number)
            yield file
        finally:
            _flush()
            for number, copy in kept.items():
                os.dup2(copy, number)
            for number in (writing, *kept.values()):
                os.close(number)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()


@contextlib.contextmanager
def _records() -> Iterator[list[str]]:
    """
    Collect the text of log records of every logger, whether it hands them on or not.

    Levels are opened up to DEBUG and put back. A logger that sets its own level in the meantime
    keeps it.
    """
    heard: list[str] = []
    make = logging.getLogRecordFactory()

    def hear(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        heard.append(_text(record))
        return record

    levels = {logger: logger.level for logger in _loggers()}
    for logger, level in levels.items():
        logger.setLevel(min(level, logging.DEBUG) if logger.parent else logging.DEBUG)
    logging.setLogRecordFactory(hear)
    try:
        yield heard
    finally:
        logging.setLogRecordFactory(make)
        for logger, level in levels.items():
            logger.setLevel(level)


def _loggers() -> list[logging.Logger]:
    known = logging.Logger.manager.loggerDict.values()
    return [logging.getLogger(), *(item for item in known if isinstance(item, logging.Logger))]


def _text(record: logging.LogRecord) -> str:
    """The record as a handler writes it, an exception included."""
    try:
        text = record.getMessage()
    except Exception:  # a format that does not fit is shown on stderr, with its arguments
        text = f"{record.msg!r} {record.args!r}"
    error = record.exc_info[1] if record.exc_info else None
    return text + ("".join(traceback.format_exception(error)) if error else "")
