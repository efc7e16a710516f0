"""
A conversation in the terminal: `python examples/agent --home DIR`.

`/new` begins another conversation, `/compress` summarizes this one, `/status` shows how the
memory fares, `/quit` ends. Ctrl+C breaks an answer off, and leaves where there is none.
"""

import argparse
import contextlib
import json
import os
import sys
import threading
import uuid
from pathlib import Path

from agent import Agent
from models import OpenAICompatible, Scripted

from memproto import Deadlines
from memproto.adapters.homes import own_folder
from memproto.recording import Recording
from memproto.reference_providers.builtin import BuiltinMemoryProvider


class Hanging:
    """A memory whose backend never answers; the conversation goes on without it."""

    name = "hanging"

    def is_available(self):
        return True

    def initialize(self, session_key, config): ...

    def shutdown(self): ...

    def capabilities(self):
        return {"spec_version": "1.0"}

    def enrich_turn(self, user_message, messages):
        threading.Event().wait()

    def on_memory_write(self, action, target, content, old_text=None):
        threading.Event().wait()

    def on_turn_complete(self, user_message, assistant_response):
        threading.Event().wait()

    def on_compress(self, messages, compression_count): ...


def options():
    """The typed options."""
    parser = argparse.ArgumentParser(prog="python examples/agent", description=__doc__)
    parser.add_argument("--home", type=Path, required=True, help="where the memory is kept")
    parser.add_argument("--url", help="an OpenAI-compatible URL; a scripted model without it")
    parser.add_argument("--model", default="default", help="the model's name at that URL")
    parser.add_argument("--trace", type=Path, help="add a trace of all hook calls to this file")
    parser.add_argument("--hang", action="store_true", help="add a memory that hangs")
    parser.add_argument("--recall-s", type=float, default=5.0, help="budget of a turn's recall")
    parser.add_argument("--exit-s", type=float, default=15.0, help="budget of the exit")
    return parser.parse_args()


def built(given, recording):
    """The agent: model and memories as they were asked for."""
    if given.url:
        model = OpenAICompatible(given.url, given.model, os.environ.get("OPENAI_API_KEY", ""))
    else:
        model = Scripted()
    kinds = [BuiltinMemoryProvider, *([Hanging] if given.hang else [])]
    around = recording.around if recording else lambda provider: provider
    deadlines = Deadlines(enrich_s=given.recall_s, shutdown_s=given.exit_s)
    return Agent(model, lambda: [around(kind()) for kind in kinds], deadlines=deadlines)


def say(*words, end="\n"):
    """Print at once."""
    print(*words, end=end, flush=True)  # noqa: T201


def answer(agent, line):
    """One turn; what breaks it off breaks off nothing else."""
    try:
        for piece in agent.turn(line):
            say(piece, end="")
    except KeyboardInterrupt:
        say(" [interrupted; this turn is not kept]", end="")
    except OSError as error:  # the model cannot be reached
        say(f"[no answer: {error}]", end="")
    say()


def command(agent, line):
    """A line that begins with a slash."""
    if line == "/new":
        agent.new_session(uuid.uuid4().hex)
        say("[a new conversation]")
    elif line == "/compress":
        say("[summarized]" if agent.compress() else "[kept as it is]")
    elif line == "/status":
        say(json.dumps(agent.memory.stats(), indent=2))
    else:
        say("[/new, /compress, /status or /quit]")


def converse(agent):
    """Line by line, until `/quit` or the end of the input."""
    while True:
        line = input("> " if sys.stdin.isatty() else "").strip()
        if line == "/quit":
            return
        if line.startswith("/"):
            command(agent, line)
        elif line:
            answer(agent, line)


def main():
    """Open the memories, talk, and close them, whatever happens."""
    given = options()
    own_folder(given.home)
    with contextlib.ExitStack() as stack:
        recording = stack.enter_context(Recording(given.trace)) if given.trace else None
        agent = built(given, recording)
        stack.callback(agent.exit)  # before the start, which Ctrl+C may break off half-way
        with contextlib.suppress(EOFError, KeyboardInterrupt):
            agent.start(uuid.uuid4().hex, {"home": str(given.home.absolute()), "platform": "cli"})
            for name, reason in agent.memory.dropped.items():
                say(f"[without {name}: {reason}]")
            converse(agent)


if __name__ == "__main__":
    main()
