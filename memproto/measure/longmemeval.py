"""
A loader for LongMemEval-S, a public benchmark, from a file that the user has; nothing of it ships.

Each of its questions has a history of its own, so that a question is a person here. The file names
the turns that hold the answer. The evidence is the answer itself if it stands in such a turn, else
the whole text of the turn: many answers are computed or put in other words, and no model reads.
"""

import datetime as dt
import hashlib
import json
import random
import re
from pathlib import Path
from typing import Any

from memproto.errors import KitUsageError
from memproto.measure.corpus import Corpus, Kind, Person, Question, Session, Span, Turn

NAME = "LongMemEval-S"

#: The sha256 of the files that are known, and the name of their release.
KNOWN = {"d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442": "cleaned"}

#: Type of a question to the kind of this kit.
_KINDS: dict[str, Kind] = {
    "single-session-user": "single",
    "single-session-assistant": "single",
    "single-session-preference": "single",
    "multi-session": "several",
    "knowledge-update": "update",
    "temporal-reasoning": "time",
}

#: The end of the id of a question that has no answer in the history.
_ABSENT = "_abs"

_DAY = re.compile(r"(\d{4})/(\d{2})/(\d{2})\D*(\d{2}):(\d{2})")


def load(path: Path, *, checksum: str = "", most: int | None = None, seed: int = 0) -> Corpus:
    """
    The questions of a file, or `most` of them, drawn by the seed.

    Raises:
        KitUsageError: The file cannot be read, has another checksum than the known one or the one
            that was asked for, or is not of the benchmark's form.

    """
    what = f"--longmemeval {path}"
    try:
        data = path.read_bytes()
    except OSError as error:
        fault = f"cannot be read ({error.strerror or type(error).__name__})"
        raise KitUsageError(what, fault, "name the file that you have downloaded") from None
    found = hashlib.sha256(data).hexdigest()
    _check(what, found, checksum.lower())
    try:
        entries = json.loads(data)
        chosen = _chosen(entries, most, seed)
        people = [_person(entry) for entry in chosen]
        every = [_question(at, entry, people[at]) for at, entry in enumerate(chosen)]
        # The benchmark leaves out of its own figures of retrieval what has no place.
        questions = [item for item in every if item.evidence or item.kind == "absent"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        fault = f"is not of the form of the benchmark ({type(error).__name__}: {error})"
        raise KitUsageError(what, fault[:200], "name longmemeval_s_cleaned.json") from None
    part = "" if len(chosen) == len(entries) else f" {len(chosen)} {seed}"
    digest = hashlib.sha256(f"{found}{part}".encode()).hexdigest() if part else found
    return Corpus(NAME, tuple(people), tuple(questions), digest, is_loaded=True)


def _check(what: str, found: str, wanted: str) -> None:
    if wanted and found != wanted:
        fault = f"has the sha256 {found}, and --sha256 asks for {wanted}"
        raise KitUsageError(what, fault, "download it again, or mend --sha256")
    if not wanted and found not in KNOWN:
        fault = f"has the sha256 {found}, which is not that of a known release"
        fix = f"download longmemeval_s_cleaned.json again, or say --sha256 {found} if it is meant"
        raise KitUsageError(what, fault, fix)


def _chosen(entries: Any, most: int | None, seed: int) -> list[dict[str, Any]]:
    if not isinstance(entries, list) or not entries:
        raise ValueError("no list of questions")
    if most is None or most >= len(entries):
        return entries
    places = sorted(random.Random(seed).sample(range(len(entries)), most))
    return [entries[place] for place in places]


def _person(entry: dict[str, Any]) -> Person:
    sessions = []
    rows = zip(
        entry["haystack_session_ids"],
        entry["haystack_dates"],
        entry["haystack_sessions"],
        strict=True,
    )
    for number, (name, date, messages) in enumerate(rows):
        turns = tuple(_turns(_moment(date), messages))
        # A session may stand in a history twice, and ids are unique here.
        sessions.append(Session(f"{entry['question_id']}-{number}-{name}", turns))
    return Person(str(entry["question_id"]), str(entry["question_id"]), tuple(sessions))


def _moment(date: str) -> dt.datetime:
    found = _DAY.search(date)
    if found is None:
        raise ValueError(f"no date: {date!r}")
    year, month, day, hour, minute = map(int, found.groups())
    return dt.datetime(year, month, day, hour, minute, tzinfo=dt.UTC)


def _pairs(messages: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Messages as turns: a user's and the answer to it; one without the other stands alone."""
    pairs: list[tuple[dict[str, Any], dict[str, Any]]] = []
    nobody: dict[str, Any] = {"content": ""}
    for message in messages:
        if message["role"] == "user" or not pairs or pairs[-1][1] is not nobody:
            is_user = message["role"] == "user"
            pairs.append((message, nobody) if is_user else (nobody, message))
        else:
            pairs[-1] = (pairs[-1][0], message)
    return pairs


def _turns(moment: dt.datetime, messages: list[dict[str, Any]]) -> list[Turn]:
    found = []
    for number, (user, assistant) in enumerate(_pairs(messages)):
        began = moment + dt.timedelta(minutes=number)
        ended = began + dt.timedelta(seconds=40)
        texts = str(user["content"]), str(assistant["content"])
        found.append(Turn(*texts, began.isoformat(), ended.isoformat()))
    return found


def _question(place: int, entry: dict[str, Any], person: Person) -> Question:
    question_id = str(entry["question_id"])
    if question_id.endswith(_ABSENT):
        return Question(question_id, "absent", place, entry["question"])
    evidence: list[Span] = []
    for at, messages in enumerate(entry["haystack_sessions"]):
        for number, pair in enumerate(_pairs(messages)):
            for side, message in zip(("user", "assistant"), pair, strict=True):
                if message.get("has_answer"):
                    turn = person.sessions[at].turns[number]
                    text = turn.user if side == "user" else turn.assistant
                    start, end = _place(text, str(entry["answer"]))
                    evidence.append(Span(place, at, number, side, start, end))  # type: ignore[arg-type]
    kind = _KINDS[entry["question_type"]]
    if kind == "update" and len(evidence) > 1:
        # The turns are in the order of time: the last one holds the present value.
        return Question(question_id, kind, place, entry["question"], tuple(evidence[-1:]))
    return Question(question_id, kind, place, entry["question"], tuple(evidence))


def _place(text: str, answer: str) -> tuple[int, int]:
    start = text.casefold().find(answer.casefold()) if len(text) == len(text.casefold()) else -1
    return (start, start + len(answer)) if start >= 0 and answer else (0, len(text))
