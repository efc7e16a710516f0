"""
A run in the shape of LongMemEval's harness, for those who want a model to read and to judge.

Each target gets a file of its questions whose history is only what it recalled. The harness reads
it as it reads its own files, by its generation over a full history. `reference.json` holds the
questions with the true answers, for its evaluation; of a corpus that was loaded from the benchmark
there is none, since the user's own file is that reference.
"""

import datetime as dt
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memproto.measure.corpus import Corpus, Kind, Question, Turn
from memproto.measure.scoring import Answer

REFERENCE = "reference.json"

#: Kind to a type that the harness's evaluation knows.
_TYPES: dict[Kind, str] = {
    "single": "single-session-user",
    "several": "multi-session",
    "update": "knowledge-update",
    "time": "temporal-reasoning",
    "near": "single-session-user",
    "absent": "single-session-user",
    "other": "single-session-user",
}

#: By this part of an id the harness knows a question that has no answer.
_ABSENT = "_abs"

_UNKNOWN = "The user never said so; the question cannot be answered."

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def write(folder: Path, corpus: Corpus, answers: Mapping[str, Mapping[str, Answer]]) -> list[Path]:
    """
    Write a file for each target, by name, and the reference; gives the files.

    Raises:
        OSError: They cannot be written.

    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    if not corpus.is_loaded:
        written.append(_put(folder / REFERENCE, [_whole(corpus, one) for one in corpus.questions]))
    taken = {REFERENCE}
    for name, found in answers.items():
        entries = [
            _recalled(corpus, one, found[one.id]) for one in corpus.questions if one.id in found
        ]
        written.append(_put(folder / _file(name, taken), entries))
    return written


def _put(file: Path, entries: list[dict[str, Any]]) -> Path:
    text = json.dumps(entries, indent=1, ensure_ascii=False) + "\n"
    file.write_bytes(text.encode("utf-8", "backslashreplace"))
    return file


def _file(name: str, taken: set[str]) -> str:
    bare = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "target"
    file, count = f"{bare}.json", 1
    while file in taken:
        count += 1
        file = f"{bare}-{count}.json"
    taken.add(file)
    return file


def _entry(corpus: Corpus, question: Question) -> dict[str, Any]:
    is_open = question.kind in ("absent", "other")
    words = ", ".join(corpus.words(span) for span in question.evidence)
    has_mark = _ABSENT in question.id
    return {
        "question_id": question.id + (_ABSENT if is_open and not has_mark else ""),
        "question_type": _TYPES[question.kind],
        "question": question.text,
        "answer": _UNKNOWN if is_open else words,
        "question_date": _asked_at(corpus, question),
    }


def _whole(corpus: Corpus, question: Question) -> dict[str, Any]:
    sessions = corpus.people[question.person].sessions
    held = {(span.session, span.turn, span.side) for span in question.evidence}
    if question.kind == "other":
        held = set()
    return {
        **_entry(corpus, question),
        "haystack_session_ids": [session.id for session in sessions],
        "haystack_dates": [_date(session.turns[0].began) for session in sessions],
        "haystack_sessions": [
            _messages(session.turns, at, held) for at, session in enumerate(sessions)
        ],
        "answer_session_ids": sorted({sessions[at].id for at, _, _ in held}),
    }


def _messages(
    turns: tuple[Turn, ...], at: int, held: set[tuple[int, int, Any]]
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number, turn in enumerate(turns):
        for role, text in (("user", turn.user), ("assistant", turn.assistant)):
            has = {"has_answer": True} if (at, number, role) in held else {}
            found.append({"role": role, "content": text, **has})
    return found


def _recalled(corpus: Corpus, question: Question, answer: Answer) -> dict[str, Any]:
    """The question with a history of one session: what was recalled for it, as the user's words."""
    entry = _entry(corpus, question)
    return {
        **entry,
        "haystack_session_ids": ["recalled"],
        "haystack_dates": [entry["question_date"]],
        "haystack_sessions": [[{"role": "user", "content": answer.text}]],
        "answer_session_ids": [],
    }


def _asked_at(corpus: Corpus, question: Question) -> str:
    """A day after the last turn of the person who asks."""
    last = corpus.people[question.person].turns[-1].ended
    return _date((dt.datetime.fromisoformat(last) + dt.timedelta(days=1)).isoformat())


def _date(moment: str) -> str:
    """A moment as the benchmark writes it: 2026/03/14 (Sat) 09:26."""
    found = dt.datetime.fromisoformat(moment)
    return f"{found:%Y/%m/%d} ({_DAYS[found.weekday()]}) {found:%H:%M}"
