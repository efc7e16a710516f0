"""Chapter 67: the questions of set-up, and their answers."""

from typing import Any

from memproto import spec
from memproto.setup import dotenv
from memproto.setup.questions import Question, shown
from memproto.testing.answers import (
    answered,
    choosing,
    files_left,
    holding,
    read_questions,
    read_schema,
    save_answers,
    save_words,
    saving,
    shown_place,
    walks,
    worded,
)
from memproto.testing.clauses import NotApplicable, check
from memproto.testing.run import Run
from memproto.testing.subject import HookRaised, Subject
from memproto.testing.wire import show


@check("MP-CONF-001", session=False)
def the_schema_is_a_list_of_fields(run: Run) -> None:
    schema = read_schema(run)
    if not isinstance(schema, list):
        run.violated("a list of fields", show(schema))
    # Few children need it, and it takes long to import.
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(spec.schema("config-field"))
    for number, field in enumerate(schema, 1):
        error = next(iter(validator.iter_errors(field)), None)
        if error is not None:
            place = error.json_path.removeprefix("$.").replace("$", "the field")
            run.violated(
                "fields as in spec/v1/schemas/config-field.schema.json",
                f"field {number}, {show(_key(field))}: {place}: {error.message[:200]}",
            )


def _key(field: Any) -> Any:
    return field.get("key") if isinstance(field, dict) else field


@check("MP-CONF-002", session=False)
def every_question_can_be_asked_and_its_answer_kept(run: Run) -> None:
    earlier: list[Question] = []
    for question in read_questions(run):
        fault = _fault(question, earlier)
        if fault:
            run.violated(
                "questions that can be asked, and answers that can be kept",
                f"{question.key!r}: {fault}",
            )
        earlier.append(question)


def _fault(question: Question, earlier: list[Question]) -> str:
    """What keeps a question from being asked, or its answer from being kept; "" for nothing."""
    if question.choices and question.default not in (None, *question.choices):
        known = ", ".join(map(repr, question.choices))
        return f"the default {question.default!r} is none of the choices {known}"
    if question.secret and not question.env_var:
        return "the answer is secret, and no `env_var` says where it is to be kept"
    default = "" if question.default is None else shown(question.default)
    if fault := dotenv.unfit(question.env_var, default):
        return f"the default cannot be kept: {fault}"
    if any(question.key == other.key and question.when == other.when for other in earlier):
        return "the key stands twice under the same condition"
    return _unmet(question, earlier)


def _unmet(question: Question, earlier: list[Question]) -> str:
    for key, value in question.when.items():
        asked = [other for other in earlier if other.key == key]
        if not asked:
            return f"`when` names {key!r}, which is not asked before it"
        if all(other.choices and value not in other.choices for other in asked):
            return f"`when` waits for {key!r} to be {value!r}, which is none of its choices"
    return ""


@check("MP-CONF-003", session=False)
def the_schema_is_read_without_a_session(run: Run) -> None:
    assert run.audit is not None
    subject = run.provider()
    with run.audit.recording() as events:
        first = read_schema(run, subject)
    used = [event for event in events if event.startswith(("used a socket", "socket.", "started"))]
    if used:
        run.violated("no socket and no program to read the schema", used[0])
    again = {"the same instance": subject, "another instance": run.provider()}
    for whose, other in again.items():
        answer = other.config_schema()
        if answer != first:
            run.violated("equal fields each time", f"{whose} gave {_difference(first, answer)}")


def _difference(first: Any, second: Any) -> str:
    if not (isinstance(first, list) and isinstance(second, list)):
        return f"{show(first)}, then {show(second)}"
    if len(first) != len(second):
        return f"{len(first)} fields, then {len(second)}: they differ"
    pair = next((one, two) for one, two in zip(first, second, strict=True) if one != two)
    return f"{show(pair[0])}, then {show(pair[1])}: they differ"


@check("MP-CONF-004", session=False)
def every_choice_and_default_is_saved(run: Run) -> None:
    saving(run)
    # The first on the empty home, the others on what those before left.
    for which, values in walks(read_questions(run)):
        try:
            save_answers(run, values)
        except HookRaised as failure:
            run.violated(
                f"{run.hook('save_config')} takes every answer that the schema allows",
                f"with {which} it raised {show(failure.error)}",
            )


_KEPT = "each answer that was saved, in a file from which the next session reads it"


@check("MP-CONF-005", session=False)
def what_was_saved_is_kept(run: Run) -> None:
    subject = saving(run)
    questions = read_questions(run)
    values, words = worded(run, questions)
    if words:
        save_words(run, values, subject)
    for key, word in words.items():
        if not holding(run, word):
            run.violated(
                _KEPT,
                f"{run.hook('save_config')} returned, and no file holds the answer to {key!r}",
            )
    if words:
        _kept_when_changed(run, subject, questions)
    lost = next((q for q in questions if _makes_no_difference(run, subject, questions, q)), None)
    if lost is not None:
        one, other = map(repr, lost.choices[:2])
        run.violated(
            _KEPT,
            f"after {lost.key} = {one} and after {lost.key} = {other} the files are the same",
        )


def _kept_when_changed(run: Run, subject: Subject, questions: list[Question]) -> None:
    values, words = worded(run, questions)
    try:
        save_answers(run, values, subject)
    except HookRaised as failure:
        if failure.ends_process:
            raise
        return  # it says that it does not change what was answered once
    for key, word in words.items():
        if not holding(run, word):
            saved = f"{run.hook('save_config')} returned a second time"
            run.violated(_KEPT, f"{saved}, and no file holds the new answer to {key!r}")


def _makes_no_difference(
    run: Run, subject: Subject, questions: list[Question], question: Question
) -> bool:
    """Whether two choices leave the same files behind, so that one at least is lost."""
    if question.secret or question.env_var or question.choices[1:] == ():
        return False
    left = []
    for choice in question.choices[:2]:
        values = answered(questions, choosing(question, choice))
        if question.key not in values:
            return False
        save_answers(run, values, subject)
        left.append(files_left(run.root))
    return left[0] == left[1]


@check("MP-CONF-006", session=False)
def answers_are_saved_below_the_home(run: Run) -> None:
    subject = saving(run)
    values, words = worded(run, read_questions(run))
    if not words:
        raise NotApplicable("no answer is an open text that can be looked for")
    save_words(run, values, subject)
    for key, word in words.items():
        for path in holding(run, word):
            if not path.is_relative_to(run.home):
                run.violated(
                    "answers saved below the given home only",
                    f"the answer to {key!r} is in {path.name}, at {shown_place(run, path)}",
                )
