"""
Work that the server leaves to a language model, done with words: conclusions, summaries, answers.

A conclusion is the text of a message, a summary the beginnings of the messages, an answer those
conclusions that share most words with the question. Nothing is made up.
"""

import math
import re
from collections.abc import Iterable
from typing import Any

from .limits import tokens
from .store import (
    Json,
    Session,
    Workspace,
    new_id,
    now,
)

#: Number of messages that make a short summary, and a long one.
SHORT, LONG = 20, 60

#: The most conclusions of a representation, unless the client says so; and of an answer.
REPRESENTED, ANSWERED = 100, 8

_BEGINNING = 80
_WORD = re.compile(r"\w{3,}")


def words(text: str) -> set[str]:
    """The words by which texts are compared."""
    return {word.casefold() for word in _WORD.findall(text)}


def ranked(query: str, parts: Iterable[Json], *, strict: bool = False) -> list[Json]:
    """
    Those that are nearest to the query first, then the newest.

    The nearest is the query itself; then what shares most of its words with it. The real server
    compares embeddings, so that the rest comes after; `strict` leaves it out.
    """
    asked = words(query)
    scored = [
        (_nearness(asked, words(part["content"])) + (part["content"] == query), place, part)
        for place, part in enumerate(parts)
    ]
    scored.sort(key=lambda scored: scored[:2], reverse=True)
    return [part for score, _, part in scored if score or not strict]


def _nearness(some: set[str], others: set[str]) -> float:
    """Nearness of two sets of words, from 0 to 1."""
    return len(some & others) / math.sqrt(len(some) * len(others) or 1)


def derive(workspace: Workspace, session: Session) -> None:
    """Look at the messages that came since the last time."""
    for message in session.messages[session.derived :]:
        _conclude(workspace, session, message)
    session.derived = len(session.messages)
    for name, size in (("short", SHORT), ("long", LONG)):
        whole = len(session.messages) // size * size
        if whole and session.summaries.get(name, {}).get("at") != whole:
            session.summaries[name] = _summary(session, name, whole)


def _conclude(workspace: Workspace, session: Session, message: Json) -> None:
    speaker, text = message["peer_id"], message["content"].strip()
    if not text or not _is_observed(workspace, session, speaker):
        return
    others = (name for name, flags in session.peers.items() if flags.get("observe_others"))
    for observer in dict.fromkeys([speaker, *others]):
        workspace.conclusions.append(conclusion(observer, speaker, text, session.id))


def _is_observed(workspace: Workspace, session: Session, speaker: str) -> bool:
    here = session.peers.get(speaker, {}).get("observe_me")
    general = workspace.peers[speaker]["configuration"].get("observe_me")
    return next((flag for flag in (here, general) if flag is not None), True) is True


def conclusion(observer: str, observed: str, text: str, session: str | None) -> Json:
    """A new conclusion."""
    made = {"id": new_id(), "content": text, "observer_id": observer, "observed_id": observed}
    return {**made, "session_id": session, "level": "explicit", "created_at": now()}


def _summary(session: Session, name: str, whole: int) -> Json:
    covered = session.messages[:whole]
    says = "\n".join(f"{m['peer_id']}: {m['content'][:_BEGINNING]}" for m in covered)
    told = {"content": says, "message_id": covered[-1]["id"]}
    told |= {"summary_type": f"honcho_chat_summary_{name}", "created_at": now()}
    return {**told, "token_count": tokens(says), "at": whole}


def shown_summary(summary: Json | None) -> Json | None:
    """A summary as the server shows it."""
    return summary and {key: value for key, value in summary.items() if key != "at"}


def about(workspace: Workspace, observer: str, observed: str, session: str | None) -> list[Json]:
    """The conclusions of one peer about another, of one session or of all."""
    pair = (observer, observed)
    made = [c for c in workspace.conclusions if (c["observer_id"], c["observed_id"]) == pair]
    return [c for c in made if session in (None, c["session_id"])]


def representation(parts: list[Json], query: str | None, top: int, most: int) -> str:
    """Conclusions as one text: those that fit the query best, else the newest, oldest first."""
    first = ranked(query, parts)[:top] if query else []
    chosen = list({part["id"]: None for part in (*first, *reversed(parts))})[:most]
    # A text that was said several times in one second is shown once.
    told = (part for part in parts if part["id"] in chosen)
    shown = {(p["content"], p["created_at"][:19], p["session_id"]): p for p in told}.values()
    lines = (f"[{part['created_at'][:19].replace('T', ' ')}] {part['content']}" for part in shown)
    return "## Explicit Observations\n\n" + "\n".join(lines) + "\n" if shown else ""


def answer(parts: list[Json], query: str) -> str | None:
    """The known texts that fit a question best; None if nothing is known."""
    found = dict.fromkeys(part["content"] for part in ranked(query, parts))
    return "\n".join(list(found)[:ANSWERED]) or None


def within(messages: list[Any], budget: int) -> list[Any]:
    """The newest messages that fit into so many tokens, in order."""
    kept: list[Any] = []
    for message in reversed(messages):
        budget -= message["token_count"]
        if budget < 0:
            break
        kept.insert(0, message)
    return kept
