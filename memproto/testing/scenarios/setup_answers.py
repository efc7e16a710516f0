"""Answers to the questions of set-up, as a host hands them over, and where they are kept."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memproto.adapters.homes import own_folder
from memproto.setup.hooks import is_own
from memproto.setup.questions import Question, questions_of, walk
from memproto.testing.clauses import NotApplicable
from memproto.testing.instruments.watchers import tree
from memproto.testing.processes import contents
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.wire import show

#: Answers by key, as set-up hands them to `save_config`.
Answers = dict[str, Any]


def read_schema(run: Run, subject: Subject | None = None) -> Any:
    """The schema, from an instance that was not opened; not applicable where there is none."""
    subject = subject or run.provider()
    if not subject.has("config_schema"):
        raise NotApplicable("the provider has no config schema")
    return subject.config_schema()


def read_questions(run: Run) -> list[Question]:
    """The questions that can be asked at all; what is wrong with the others has a rule."""
    schema = read_schema(run)
    fields = [
        item
        for item in (schema if isinstance(schema, list) else [])
        if isinstance(item, dict) and isinstance(item.get("key"), str) and item["key"]
    ]
    if not fields:
        raise NotApplicable("the config schema asks nothing")
    return questions_of(fields)


def saving(run: Run) -> Subject:
    """An instance that saves; not applicable where nothing but the environment is asked for."""
    subject = run.provider()
    if not subject.has("save_config") or not is_own(subject.provider, "save_config"):
        raise NotApplicable("the provider has no save_config of its own")
    return subject


def save_answers(run: Run, values: Answers, subject: Subject | None = None) -> None:
    """
    Save with an instance that no session was opened with, a new one unless it is given.

    Not applicable where answers are refused among which one is missing that has to be there: the
    schema does not say which words it takes.
    """
    as_the_host_leaves_it(run)
    try:
        (subject or saving(run)).save_config(values, str(run.home))
    except HookRaised as failure:
        if failure.ends_process or not _is_refusal(failure.error):
            raise
        due = [question.key for question in read_questions(run) if _is_due(question, values)]
        if not due:
            raise
        reason = (
            f"save_config asks for {due[0]}, which the schema has as required, without a default"
        )
        raise NotApplicable(reason) from None


def _is_due(question: Question, values: Answers) -> bool:
    """True if an answer is missing for which the schema asks, and has no default."""
    is_open = question.required and not question.secret and question.key not in values
    return is_open and question.is_asked(values)


def _is_refusal(error: BaseException | None) -> bool:
    """True if an error may be a provider's word that it takes no such answers, and is no slip."""
    slips = (OSError, LookupError, AttributeError, TypeError, NameError, ImportError, UnicodeError)
    return not isinstance(error, slips)


def save_words(run: Run, values: Answers, subject: Subject) -> None:
    """
    Save words as the answers to open questions; not applicable where they are refused.

    The schema does not say which words an open question takes. The instance is one that was built
    before: with such an answer another one may refuse to be built.
    """
    try:
        save_answers(run, values, subject)
    except HookRaised as failure:
        if failure.ends_process or is_of_a_codec(failure.error):
            raise
        reason = f"save_config takes no plain word as an answer: {show(failure.error)}"
        raise NotApplicable(reason) from None


def is_of_a_codec(error: BaseException | None) -> bool:
    """True if an error, or one that it came from, is about an encoding."""
    while error is not None and not isinstance(error, UnicodeError):
        error = error.__cause__ or error.__context__
    return error is not None


def as_the_host_leaves_it(run: Run) -> None:
    """Write the files that a host has in the home before it saves the answers, as Hermes has."""
    own_folder(run.home)
    for name, text in run.binding.host_files.items():
        file = run.home / name
        if not file.exists():
            file.write_text(text.replace("{name}", str(run.provider().name())), "utf-8")


def of_no_answer(question: Question, default: Any) -> Any:
    """The saved value if the operator presses Enter; a secret is never saved."""
    return None if question.secret or default in (None, "") else default


def answered(questions: list[Question], answer: Callable[[Question, Any], Any]) -> Answers:
    """The answers that are saved; those that are None are left out."""
    return {question.key: value for question, value in walk(questions, answer)}


def walks(questions: list[Question]) -> Iterator[tuple[str, Answers]]:
    """All defaults, then each choice in its turn with the defaults of what follows from it."""
    yield "the defaults", answered(questions, of_no_answer)
    for question in questions:
        for choice in () if question.secret else question.choices:
            yield f"{question.key} = {choice!r}", answered(questions, choosing(question, choice))


def choosing(chosen: Question, choice: Any) -> Callable[[Question, Any], Any]:
    """The answers of an operator who takes that choice, and the default everywhere else."""

    def answer(question: Question, default: Any) -> Any:
        return choice if question == chosen else of_no_answer(question, default)

    return answer


def _open_texts(questions: list[Question]) -> list[Question]:
    """
    Questions with a text for an answer that nothing but `save_config` can keep.

    Only questions whose default is a text: one without a default may want a list or a number.
    """
    return [
        question
        for question in questions
        if not (question.secret or question.env_var or question.choices)
        and isinstance(question.default, str)
        and not _is_a_number(question.default)
    ]


def _is_a_number(default: Any) -> bool:
    """True if a text asks for a number all the same, as "0.5" does."""
    with contextlib.suppress(TypeError, ValueError):
        float(default)
        return True
    return default in ("true", "false")


def _in_words(word: str, question: Question) -> str:
    """A plausible answer to a question that may ask for an address or a file."""
    return f"http://{word}.example" if _is_an_address(question) else word


def _is_an_address(question: Question) -> bool:
    default = str(question.default or "")
    return default.startswith(("http://", "https://")) or "url" in question.key.lower()


def worded(run: Run, questions: list[Question], suffix: str = "") -> tuple[Answers, Answers]:
    """
    Answers to all that is asked, and those of them that are open texts: a new word each.

    The suffix is no part of an address, which is ASCII whatever the language of its owner.
    """
    openly = _open_texts(questions)
    words = {
        question.key: run.facts.name().split()[0] + ("" if _is_an_address(question) else suffix)
        for question in openly
    }

    def answer(question: Question, default: Any) -> Any:
        if question in openly:
            return _in_words(words[question.key].lower(), question)
        return of_no_answer(question, default)

    values = answered(questions, answer)
    return values, {key: words[key].lower() for key in values if key in words}


def _forms(word: str) -> set[str]:
    """Forms in which a word may stand in a file: as it is, or escaped as JSON and YAML do."""
    return {word.casefold(), json.dumps(word)[1:-1].casefold()}


def holding(run: Run, word: str) -> list[Path]:
    """The files in the check's own places that hold a word."""
    found = []
    for name in tree(run.root):
        with contextlib.suppress(OSError):
            text = contents.read(name).decode("utf-8", "replace").casefold()
            if any(form in text for form in _forms(word)):
                found.append(Path(name))
    return found


def files_left(folder: Path) -> dict[str, bytes]:
    """Contents of the files below a folder, by relative name."""
    names = map(Path, tree(folder))
    return {str(path.relative_to(folder)): contents.read(path) for path in names if path.is_file()}


def shown_place(run: Run, path: Path) -> str:
    """A path as a reader of a message knows it."""
    user = Path.home()
    return f"~/{path.relative_to(user)}" if path.is_relative_to(user) else str(path)
