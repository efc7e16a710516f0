"""The loader for LongMemEval-S: a user's own file, known by its checksum."""

import hashlib
import json

import pytest

from memproto import cli
from memproto.errors import KitUsageError
from memproto.measure import exporting, longmemeval, scoring
from memproto.measure.baselines import whole_history
from memproto.measure.scoring import Answer


def entry(question_id, kind, sessions, **changed):
    """A question in the benchmark's form, with made-up words."""
    return {
        "question_id": question_id,
        "question_type": kind,
        "question": "Which lamp did I buy?",
        "answer": "the brass lamp",
        "question_date": "2023/06/01 (Thu) 10:00",
        "haystack_session_ids": [f"s{at}" for at in range(len(sessions))],
        "haystack_dates": [f"2023/05/{20 + at} (Sat) 02:21" for at in range(len(sessions))],
        "haystack_sessions": sessions,
        "answer_session_ids": ["s0"],
        **changed,
    }


def said(role, content, **more):
    return {"role": role, "content": content, **more}


ENTRIES = [
    entry(
        "one",
        "single-session-user",
        [
            [
                said("user", "Today I bought The Brass Lamp at last.", has_answer=True),
                said("assistant", "Nice."),
            ],
            [said("assistant", "Welcome back."), said("user", "Hello."), said("user", "Hello?")],
        ],
    ),
    entry(
        "two",
        "temporal-reasoning",
        [
            [
                said("user", "The oak was planted in March.", has_answer=True),
                said("assistant", "Ok."),
            ]
        ],
        answer="7 days",
    ),
    entry("three_abs", "multi-session", [[said("user", "Good day."), said("assistant", "Hi.")]]),
    entry("four", "single-session-preference", [[said("user", "x"), said("assistant", "y")]]),
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "longmemeval_s.json"
    path.write_text(json.dumps(ENTRIES))
    return path


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_each_question_is_a_person_with_the_history_of_its_own(file):
    corpus = longmemeval.load(file, checksum=digest(file))
    assert [person.id for person in corpus.people] == ["one", "two", "three_abs", "four"]
    first = corpus.people[0].sessions
    assert [(turn.user, turn.assistant) for turn in first[1].turns] == [
        ("", "Welcome back."),
        ("Hello.", ""),
        ("Hello?", ""),
    ]
    assert first[0].turns[0].began == "2023-05-20T02:21:00+00:00"
    assert corpus.digest == digest(file)


def test_the_evidence_is_the_answer_or_else_the_turn_that_holds_it(file):
    corpus = longmemeval.load(file, checksum=digest(file))
    # The last one has no place in the history, and is no question that recall can answer.
    assert [(item.id, item.kind) for item in corpus.questions] == [
        ("one", "single"),
        ("two", "time"),
        ("three_abs", "absent"),
    ]
    words = [[corpus.words(span) for span in item.evidence] for item in corpus.questions]
    assert words == [["The Brass Lamp"], ["The oak was planted in March."], []]


def test_the_whole_history_brings_all_of_it(file):
    corpus = longmemeval.load(file, checksum=digest(file))
    answers = {
        item.id: Answer(whole_history(corpus.people[item.person])(item.text))
        for item in corpus.questions
    }
    assert scoring.answered(scoring.marked(corpus, answers), -1) == [True, True]


def test_a_part_of_the_questions_is_drawn_by_the_seed_and_has_a_checksum_of_its_own(file):
    parts = [longmemeval.load(file, checksum=digest(file), most=2, seed=seed) for seed in (1, 1, 2)]
    assert parts[0] == parts[1]
    assert {len(part.people) for part in parts} == {2}
    assert len({part.digest for part in parts} | {digest(file)}) == 3


def test_a_file_that_is_not_known_says_its_checksum(file):
    with pytest.raises(KitUsageError, match=digest(file)) as refused:
        longmemeval.load(file)
    assert f"--sha256 {digest(file)}" in refused.value.fix


def test_a_file_with_another_checksum_than_the_one_asked_for_is_refused(file):
    with pytest.raises(KitUsageError, match="--sha256 asks for"):
        longmemeval.load(file, checksum="0" * 64)


@pytest.mark.parametrize("text", ["[]", "{}", '[{"question_id": "a"}]', "[1]", "no json"])
def test_a_file_of_another_form_is_refused(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(KitUsageError, match="is not of the form of the benchmark"):
        longmemeval.load(path, checksum=digest(path))


def test_nothing_of_the_users_file_is_written_but_what_was_recalled(tmp_path, file):
    corpus = longmemeval.load(file, checksum=digest(file))
    written = exporting.write(tmp_path / "out", corpus, {"mine": {"one": Answer("a lamp")}})
    assert [path.name for path in written] == ["mine.json"]
    (only,) = json.loads(written[0].read_text("utf-8"))
    assert only["haystack_sessions"] == [[{"role": "user", "content": "a lamp"}]]
    assert only["question_id"] == "one"


@pytest.mark.once
def test_a_target_is_asked_the_questions_of_the_file(tmp_path, file, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["--longmemeval", str(file), "--sha256", digest(file), "--sizes", "0"]
    words += ["--repeats", "1", "--report", "m.json", "--export", "harness"]
    assert cli.main(["measure", "sqlite", *words]) == 0
    assert "corpus LongMemEval-S" in capsys.readouterr().out
    found = json.loads((tmp_path / "m.json").read_text("utf-8"))
    assert found["corpus"]["questions"] == {"single": 1, "time": 1, "absent": 1}
    rows = {row["target"]: row for row in found["rows"]}
    assert rows["whole history"]["recall"]["found"]["all"]["share"] == 1
    assert rows["sqlite"]["recall"]["kinds"]["single"]["share"] == 1
    # The user's own file is the reference of the harness; no copy of it is made.
    names = {path.name for path in (tmp_path / "harness").iterdir()}
    assert "sqlite.json" in names
    assert "reference.json" not in names
