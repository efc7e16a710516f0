"""Chapter 67: what set-up asks, and what becomes of the answers."""

import codecs
import contextlib
import json
import locale
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memproto import spec
from memproto.setup.hooks import is_own
from memproto.setup.questions import Question, questions_of, shown, walk
from memproto.testing.clauses import Inconclusive, NotApplicable, Untestable, check
from memproto.testing.extended import needs_extension
from memproto.testing.run import Run
from memproto.testing.subject import HookRaised, Subject
from memproto.testing.watchers import tree
from memproto.testing.wire import show

#: Answers by key, as set-up hands them to `save_config`.
Answers = dict[str, Any]


def _schema(run: Run, subject: Subject | None = None) -> Any:
    """The schema, from an instance that was not opened; not applicable where there is none."""
    needs_extension(run, "config")
    subject = subject or run.provider()
    if not subject.has("config_schema"):
        raise NotApplicable("the provider has no config schema")
    return subject.config_schema()


def _questions(run: Run) -> list[Question]:
    """The questions that can be asked at all; what is wrong with the others has a rule."""
    schema = _schema(run)
    fields = [
        item
        for item in (schema if isinstance(schema, list) else [])
        if isinstance(item, dict) and isinstance(item.get("key"), str) and item["key"]
    ]
    if not fields:
        raise NotApplicable("the config schema asks nothing")
    return questions_of(fields)


# -- the schema ------------------------------------------------------------------------------------


@check("MP-CONF-001")
def the_schema_is_a_list_of_fields(run: Run) -> None:
    # Few children need it, and it takes long to import.
    from jsonschema import Draft202012Validator

    schema = _schema(run)
    if not isinstance(schema, list):
        run.violated("a list of fields", show(schema))
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


@check("MP-CONF-002")
def every_question_can_be_asked_and_its_answer_kept(run: Run) -> None:
    earlier: list[Question] = []
    for question in _questions(run):
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


@check("MP-CONF-003")
def the_schema_is_read_without_a_session(run: Run) -> None:
    assert run.audit is not None
    subject = run.provider()
    with run.audit.recording() as events:
        first = _schema(run, subject)
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


# -- answers ---------------------------------------------------------------------------------------


def _saving(run: Run) -> Subject:
    """An instance that saves; not applicable where nothing but the environment is asked for."""
    needs_extension(run, "config")
    subject = run.provider()
    if not subject.has("save_config") or not is_own(subject.provider, "save_config"):
        raise NotApplicable("the provider has no save_config of its own")
    return subject


def _save(run: Run, values: Answers, subject: Subject | None = None) -> None:
    """Save with an instance that no session was opened with, a new one unless it is given."""
    _as_the_host_leaves_it(run)
    (subject or _saving(run)).save_config(values, str(run.home))


def _save_words(run: Run, values: Answers, subject: Subject) -> None:
    """
    Save words as the answers to open questions; not applicable where they are refused.

    Which words an open question takes, the schema does not say. The instance is one that was built
    before: with such an answer another one may refuse to be built.
    """
    try:
        _save(run, values, subject)
    except HookRaised as failure:
        if failure.ends_process or _is_of_a_codec(failure.error):
            raise
        reason = f"save_config takes no plain word as an answer: {show(failure.error)}"
        raise NotApplicable(reason) from None


def _is_of_a_codec(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, UnicodeError):
        error = error.__cause__ or error.__context__
    return error is not None


def _as_the_host_leaves_it(run: Run) -> None:
    """A Hermes host writes its own file, with the provider's name, before it saves the answers."""
    run.home.mkdir(parents=True, exist_ok=True)
    file = run.home / "config.yaml"
    if run.binding == "hermes" and not file.exists():
        file.write_text(f"memory:\n  provider: {run.provider().name()}\n", "utf-8")


def _of_no_answer(question: Question, default: Any) -> Any:
    """What is saved where the operator presses Enter; a secret is never saved."""
    return None if question.secret or default in (None, "") else default


def _answers(questions: list[Question], answer: Callable[[Question, Any], Any]) -> Answers:
    """The answers that are saved; those that are None are left out."""
    return {question.key: value for question, value in walk(questions, answer)}


def _walks(questions: list[Question]) -> Iterator[tuple[str, Answers]]:
    """All defaults, then each choice in its turn with the defaults of what follows from it."""
    yield "the defaults", _answers(questions, _of_no_answer)
    for question in questions:
        for choice in () if question.secret else question.choices:
            yield f"{question.key} = {choice!r}", _answers(questions, _choosing(question, choice))


def _choosing(chosen: Question, choice: Any) -> Callable[[Question, Any], Any]:
    def answer(question: Question, default: Any) -> Any:
        return choice if question == chosen else _of_no_answer(question, default)

    return answer


@check("MP-CONF-004")
def every_choice_and_default_is_saved(run: Run) -> None:
    _saving(run)
    # The first on the empty home, the others on what those before left.
    for which, values in _walks(_questions(run)):
        try:
            _save(run, values)
        except HookRaised as failure:
            run.violated(
                f"{run.hook('save_config')} takes every answer that the schema allows",
                f"with {which} it raised {show(failure.error)}",
            )


# -- kept ------------------------------------------------------------------------------------------


def _open_texts(questions: list[Question]) -> list[Question]:
    """
    Questions with a text for an answer that nothing but `save_config` can keep.

    What takes a text by its default: one without a default may want a list or a number.
    """
    return [
        question
        for question in questions
        if not (question.secret or question.env_var or question.choices)
        and isinstance(question.default, str)
        and not _is_a_number(question.default)
    ]


def _is_a_number(default: Any) -> bool:
    """Whether a text asks for a number all the same, as "0.5" does."""
    with contextlib.suppress(TypeError, ValueError):
        float(default)
        return True
    return default in ("true", "false")


def _in_words(word: str, question: Question) -> str:
    """A plausible answer to a question that may ask for an address or a file."""
    default = str(question.default or "")
    if default.startswith(("http://", "https://")) or "url" in question.key.lower():
        return f"http://{word}.example"
    return word


def _worded(run: Run, questions: list[Question], suffix: str = "") -> tuple[Answers, Answers]:
    """Answers to all that is asked, and those of them that are open texts: a new word each."""
    openly = _open_texts(questions)
    words = {question.key: f"{run.facts.name().split()[0]}{suffix}" for question in openly}

    def answer(question: Question, default: Any) -> Any:
        if question in openly:
            return _in_words(words[question.key].lower(), question)
        return _of_no_answer(question, default)

    values = _answers(questions, answer)
    return values, {key: words[key].lower() for key in values if key in words}


def _forms(word: str) -> set[str]:
    """How a word may stand in a file: as it is, or escaped as JSON and YAML do."""
    return {word.casefold(), json.dumps(word)[1:-1].casefold()}


def _holding(run: Run, word: str) -> list[Path]:
    """The files in the check's own places that hold a word."""
    found = []
    for name in tree(run.root):
        with contextlib.suppress(OSError):
            text = Path(name).read_bytes().decode("utf-8", "replace").casefold()
            if any(form in text for form in _forms(word)):
                found.append(Path(name))
    return found


def _left(folder: Path) -> dict[str, bytes]:
    """What the files below a folder hold, by relative name."""
    names = map(Path, tree(folder))
    return {str(path.relative_to(folder)): path.read_bytes() for path in names if path.is_file()}


_KEPT = "each answer that was saved, in a file from which the next session reads it"


@check("MP-CONF-005")
def what_was_saved_is_kept(run: Run) -> None:
    subject = _saving(run)
    questions = _questions(run)
    values, words = _worded(run, questions)
    if words:
        _save_words(run, values, subject)
    for key, word in words.items():
        if not _holding(run, word):
            run.violated(
                _KEPT,
                f"{run.hook('save_config')} returned, and no file holds the answer to {key!r}",
            )
    lost = next((q for q in questions if _makes_no_difference(run, subject, questions, q)), None)
    if lost is not None:
        one, other = map(repr, lost.choices[:2])
        run.violated(
            _KEPT,
            f"after {lost.key} = {one} and after {lost.key} = {other} the files are the same",
        )


def _makes_no_difference(
    run: Run, subject: Subject, questions: list[Question], question: Question
) -> bool:
    """Whether two choices leave the same files behind, so that one at least is lost."""
    if question.secret or question.env_var or question.choices[1:] == ():
        return False
    left = []
    for choice in question.choices[:2]:
        values = _answers(questions, _choosing(question, choice))
        if question.key not in values:
            return False
        _save(run, values, subject)
        left.append(_left(run.root))
    return left[0] == left[1]


@check("MP-CONF-006")
def answers_are_saved_below_the_home(run: Run) -> None:
    subject = _saving(run)
    values, words = _worded(run, _questions(run))
    if not words:
        raise NotApplicable("no answer is an open text that can be looked for")
    _save_words(run, values, subject)
    for key, word in words.items():
        for path in _holding(run, word):
            if not path.is_relative_to(run.home):
                run.violated(
                    "answers saved below the given home only",
                    f"the answer to {key!r} is in {path.name}, at {_shown_place(run, path)}",
                )


def _shown_place(run: Run, path: Path) -> str:
    user = Path.home()
    return f"~/{path.relative_to(user)}" if path.is_relative_to(user) else str(path)


# -- what was there --------------------------------------------------------------------------------


@check("MP-CONF-007", budget_s=120.0)
def a_session_starts_on_the_saved_defaults(run: Run) -> None:
    _starts_on(run, _defaults(run), "as they stand in the schema")


@check("MP-CONF-013", budget_s=120.0)
def a_session_starts_on_defaults_that_are_text(run: Run) -> None:
    values = _defaults(run)
    typed = {key: shown(value) for key, value in values.items()}
    if typed == values:
        raise NotApplicable("every default is a text")
    _save(run, values)
    try:
        with run.session():
            pass
    except HookRaised as failure:
        raise Untestable(f"see MP-CONF-007: {show(failure.error)}") from None
    _starts_on(run, typed, "as text")


def _defaults(run: Run) -> Answers:
    """The defaults, of a provider that starts without them."""
    _saving(run)
    values = _answers(_questions(run), _of_no_answer)
    if not values:
        raise NotApplicable("no question has a default")
    with run.session():
        pass
    return values


def _starts_on(run: Run, values: Answers, kind: str) -> None:
    _save(run, values)
    if run.provider().available() is not True:
        raise NotApplicable("with the defaults alone the provider is not available")
    try:
        with run.session():
            pass
    except HookRaised as failure:
        if failure.is_report:
            raise
        run.violated(
            "a session that starts on the defaults of the schema, once they were saved",
            f"they were saved {kind}, and then {run.hook(failure.operation)} raised "
            f"{show(failure.error)}",
            operation=failure.operation,
        )


#: What a Hermes home holds of others: the file that all share, and the variables.
_OF_OTHERS = {"config.yaml": "display:\n  skin: velorica\n", ".env": "VELORICA_KEY=marrowgate\n"}


@check("MP-CONF-008")
def saving_keeps_what_is_there(run: Run) -> None:
    _saving(run)
    owed: Untestable | NotApplicable | None = None
    try:
        _stored_is_kept(run)
    except (Untestable, NotApplicable) as lack:
        owed = lack
    if run.binding == "hermes":
        _others_are_kept(run)
    if owed is not None:
        raise owed


def _stored_is_kept(run: Run) -> None:
    route = run.needs_route("turns", "writes", "tools")
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, route)
    if not run.reopened_brings_back(fact):
        raise Untestable("a stored fact did not come back before anything was saved")
    _save(run, _answers(_questions(run), _of_no_answer))
    try:
        came_back = run.reopened_brings_back(fact)
    except HookRaised as failure:
        raise Untestable(f"see MP-CONF-007: {show(failure.error)}") from None
    if not came_back:
        run.violated(
            "what was stored, recalled as before once the defaults were saved",
            f"after {run.hook('save_config')} {fact.text!r} did not come back",
        )


def _others_are_kept(run: Run) -> None:
    values = _answers(_questions(run), _of_no_answer)
    run.home.mkdir(parents=True, exist_ok=True)
    for name, text in _OF_OTHERS.items():
        (run.home / name).write_text(text, "utf-8")
    _save(run, values)
    for name, text in _OF_OTHERS.items():
        word = text.split()[-1]
        kept = run.home / name
        if not kept.exists() or word not in kept.read_text("utf-8", "replace"):
            run.violated(
                f"what others wrote into {name} of the home",
                f"after {run.hook('save_config')} {text!r} is gone",
            )


@check("MP-CONF-009")
def saving_a_part_keeps_the_rest(run: Run) -> None:
    subject = _saving(run)
    values, words = _worded(run, _questions(run))
    if not words:
        raise NotApplicable("no answer is an open text that can be looked for")
    first, word = next(iter(words.items()))
    _save_words(run, values, subject)
    others = {key: value for key, value in values.items() if key != first}
    if not others:
        raise NotApplicable("there is one question only")
    if not _holding(run, word):
        raise Untestable("the answer was not kept in the first place, see MP-CONF-005")
    _save_words(run, others, subject)
    if not _holding(run, word):
        run.violated(
            f"the answer to {first!r}, after the others were saved without it",
            "it is in no file any more",
        )


# -- secrets ---------------------------------------------------------------------------------------


@check("MP-CONF-010")
def a_secret_is_not_left_for_others_to_read(run: Run) -> None:
    _saving(run)
    questions = _questions(run)
    secrets = {item.key: f"atk-{run.facts.name().lower()}" for item in questions if item.secret}
    if not secrets:
        raise NotApplicable("no answer is secret")
    before = os.umask(0o022)
    try:
        _save(run, {**_answers(questions, _of_no_answer), **secrets})
    except HookRaised as failure:
        raise NotApplicable(f"a secret is refused: {show(failure.error)}") from None
    finally:
        os.umask(before)
    for key, secret in secrets.items():
        for path in _holding(run, secret):
            if path.stat().st_mode & 0o077:
                run.violated(
                    "a secret in no file that other users of the machine can read",
                    f"the value of {key!r} is in {path.name}, mode {path.stat().st_mode & 0o777:o}",
                )


# -- the locale ------------------------------------------------------------------------------------

#: The C locale of a bare container or a cron job, without Python's own remedies for it.
_LOCALE_C = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

#: Letters of three scripts, none of which an escape can write in two ways.
_LETTERS = "\u043c\u043e\u0440\u0435\u6e2f\u03b8"


@check("MP-CONF-011", environment=_LOCALE_C)
def answers_are_kept_in_every_locale(run: Run) -> None:
    encoding = locale.getpreferredencoding(False)
    if codecs.lookup(encoding).name != "ascii":
        raise Inconclusive(f"in the locale C this machine encodes as {encoding}, not as ASCII")
    subject = _saving(run)
    questions = _questions(run)
    plain, words = _worded(run, questions)
    if not words:
        raise NotApplicable("no answer is an open text that can be looked for")
    _save_words(run, plain, subject)
    if not any(_holding(run, word) for word in words.values()):
        raise Untestable("a plain answer was not kept either, see MP-CONF-005")
    odd, kept = _worded(run, questions, _LETTERS)
    try:
        _save_words(run, odd, subject)
    except HookRaised as failure:
        _judge_codec(run, failure)
    for key, word in kept.items():
        if not _holding(run, word):
            run.violated(
                "an answer with letters of any script is kept, where the locale encodes as ASCII",
                f"{odd[key]!r} was saved as the answer to {key!r}, and no file holds it",
            )


def _judge_codec(run: Run, failure: HookRaised) -> None:
    if failure.is_report or not _is_of_a_codec(failure.error):
        raise failure
    run.violated(
        "an answer with letters of any script is kept, where the locale encodes as ASCII",
        f"{run.hook('save_config')} raised {show(failure.error)}",
    )


# -- after the answers -----------------------------------------------------------------------------


@check("MP-CONF-012")
def what_follows_the_answers_returns(run: Run) -> None:
    subject = _saving(run)
    if not callable(getattr(subject.provider, "post_setup", None)):
        raise NotApplicable("the provider has no post_setup")
    values = _answers(_questions(run), _of_no_answer)
    _save(run, values)
    try:
        subject.post_setup(str(run.home), values)
    except HookRaised as failure:
        if failure.is_report or isinstance(failure.error, ConnectionError | TimeoutError):
            raise Untestable(f"post_setup reported {show(failure.error)}") from None
        run.violated(
            "post_setup returns, or raises an error of memproto.errors",
            f"it raised {show(failure.error)}",
        )
