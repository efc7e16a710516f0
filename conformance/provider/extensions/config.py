"""Chapter 67: the questions of set-up, and their answers."""

import codecs
import json
import locale
import os
from pathlib import Path
from typing import Any

from memproto import spec
from memproto.setup import dotenv
from memproto.setup.questions import Question, shown
from memproto.testing.clauses import Inconclusive, Lost, NotApplicable, Untestable, check
from memproto.testing.evidence import (
    Acted,
    NotKept,
    NotRecalled,
    Raised,
    Returned,
    Unfit,
    Unsteady,
    Wrote,
)
from memproto.testing.needs import depends_on
from memproto.testing.provider import routes
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.scenarios import manifest
from memproto.testing.scenarios.setup_answers import (
    Answers,
    answered,
    as_the_host_leaves_it,
    choosing,
    files_left,
    holding,
    is_of_a_codec,
    of_no_answer,
    read_questions,
    read_schema,
    save_answers,
    save_words,
    saving,
    shown_place,
    walks,
    worded,
)
from memproto.testing.wire import show


@check("MP-CONF-001", calls_alone=False, session=False, extension="config")
def the_schema_is_a_list_of_fields(run: Run) -> None:
    schema = read_schema(run)
    if not isinstance(schema, list):
        run.violated(
            Returned(wanted="a list of fields", hook=run.hook("config_schema"), value=show(schema))
        )
    # Few children need it, and it takes long to import.
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(spec.schema("config-field"))
    for number, field in enumerate(schema, 1):
        error = next(iter(validator.iter_errors(field)), None)
        if error is not None:
            place = error.json_path.removeprefix("$.").replace("$", "the field")
            run.violated(
                Unfit(
                    wanted="fields as in spec/v1/schemas/config-field.schema.json",
                    schema="config-field",
                    at=f"field {number}, {show(_key(field))}: {place}",
                    fault=error.message[:200],
                ),
            )


def _key(field: Any) -> Any:
    return field.get("key") if isinstance(field, dict) else field


@check("MP-CONF-002", calls_alone=False, session=False, extension="config")
def every_question_can_be_asked_and_its_answer_kept(run: Run) -> None:
    earlier: list[Question] = []
    for question in read_questions(run):
        fault = _fault(question, earlier)
        if fault:
            run.violated(
                Unfit(
                    wanted="questions that can be asked, and answers that can be kept",
                    at=repr(question.key),
                    fault=fault,
                ),
            )
        earlier.append(question)


def _fault(question: Question, earlier: list[Question]) -> str:
    """The fault that keeps a question from being asked, or its answer from being kept; or ""."""
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


@check("MP-CONF-003", calls_alone=False, session=False, extension="config")
def the_schema_is_read_without_a_session(run: Run) -> None:
    assert run.audit is not None
    subject = run.provider()
    with run.audit.recording() as events:
        first = read_schema(run, subject)
    used = [event for event in events if event.startswith(("used a socket", "socket.", "started"))]
    if used:
        run.violated(
            Acted(
                wanted="no socket and no program to read the schema", deed="effect", seen=(used[0],)
            )
        )
    again = {"the same instance": subject, "another instance": run.provider()}
    for whose, other in again.items():
        answer = other.config_schema()
        if answer != first:
            run.violated(
                Unsteady(
                    wanted="equal fields each time",
                    subject="schema",
                    difference=f"{whose} gave {_difference(first, answer)}",
                )
            )


def _difference(first: Any, second: Any) -> str:
    if not (isinstance(first, list) and isinstance(second, list)):
        return f"{show(first)}, then {show(second)}"
    if len(first) != len(second):
        return f"{len(first)} fields, then {len(second)}: they differ"
    pair = next((one, two) for one, two in zip(first, second, strict=True) if one != two)
    return f"{show(pair[0])}, then {show(pair[1])}: they differ"


@check("MP-CONF-004", calls_alone=False, session=False, extension="config")
def every_choice_and_default_is_saved(run: Run) -> None:
    saving(run)
    # The first on the empty home, the others on what those before left.
    for which, values in walks(read_questions(run)):
        try:
            save_answers(run, values)
        except HookRaised as failure:
            run.violated(
                Raised.by(
                    failure.error,
                    wanted=f"{run.hook('save_config')} takes every answer that the schema allows",
                    hook=run.hook("save_config"),
                    lead=f"with {which} ",
                ),
            )


_KEPT = "each answer that was saved, in a file from which the next session reads it"


@check("MP-CONF-005", calls_alone=False, session=False, extension="config")
def what_was_saved_is_kept(run: Run) -> None:
    subject = saving(run)
    questions = read_questions(run)
    values, words = worded(run, questions)
    if words:
        save_words(run, values, subject)
    for key, word in words.items():
        if not holding(run, word):
            run.violated(
                NotKept(
                    wanted=_KEPT,
                    keys=(key,),
                    lead=f"{run.hook('save_config')} returned, and no file holds the answer to ",
                ),
            )
    if words:
        _kept_when_changed(run, subject, questions)
    lost = next((q for q in questions if _makes_no_difference(run, subject, questions, q)), None)
    if lost is not None:
        one, other = map(repr, _two_of(lost))
        run.violated(
            NotKept(
                wanted=_KEPT,
                keys=(lost.key,),
                subject="the files",
                lead=f"after {lost.key} = {one} and after {lost.key} = {other} ",
                tail=" are the same",
            ),
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
            run.violated(
                NotKept(
                    wanted=_KEPT, keys=(key,), lead=f"{saved}, and no file holds the new answer to "
                )
            )


def _two_of(question: Question) -> tuple[Any, ...]:
    """Two answers to choose from; none if the schema names no two."""
    if isinstance(question.default, bool) and not question.choices:
        return (True, False)
    return tuple(question.choices[:2]) if len(question.choices) > 1 else ()


def _makes_no_difference(
    run: Run, subject: Subject, questions: list[Question], question: Question
) -> bool:
    """True if two choices leave the same files behind, so that one at least is lost."""
    choices = _two_of(question)
    if question.secret or question.env_var or not choices:
        return False
    left = []
    for choice in choices:
        values = answered(questions, choosing(question, choice))
        if question.key not in values:
            return False
        save_answers(run, values, subject)
        left.append(files_left(run.root))
    return left[0] == left[1]


@check("MP-CONF-006", calls_alone=False, session=False, extension="config")
def answers_are_saved_below_the_home(run: Run) -> None:
    subject = saving(run)
    values, words = worded(run, read_questions(run))
    if not words:
        raise NotApplicable("no answer is an open text that can be looked for")
    save_words(run, values, subject)
    _are_below_the_home(run, words)
    if run.binding.own_homes:
        _saves_the_rest_elsewhere(run, {key: values[key] for key in values if key not in words})
        _are_below_the_home(run, words)


def _are_below_the_home(run: Run, words: Answers) -> None:
    for key, word in words.items():
        for path in holding(run, word):
            if not path.is_relative_to(run.home):
                run.violated(
                    Wrote(
                        wanted="answers saved below the given home only",
                        paths=(shown_place(run, path),),
                        lead=f"the answer to {key!r} is in {path.name}, at ",
                    ),
                )


def _saves_the_rest_elsewhere(run: Run, values: Answers) -> None:
    """Another profile is set up in the same process, where the words are not answered."""
    home = run.place("second")
    home.mkdir(parents=True, exist_ok=True)
    try:
        saving(run).save_config(values, str(home))
    except HookRaised as failure:
        if failure.ends_process:
            raise


# -- configuring kept ------------------------------------------------------------------------------

# Chapter 67: what saved answers leave as it was, and who can read them.


@check("MP-CONF-007", calls_alone=False, budget_s=120.0, extension="config")
def a_session_starts_on_the_saved_defaults(run: Run) -> None:
    _starts_on(run, _defaults(run), "as they stand in the schema")


@check("MP-CONF-013", calls_alone=False, budget_s=120.0, extension="config")
def a_session_starts_on_defaults_that_are_text(run: Run) -> None:
    values = _defaults(run)
    typed = {key: shown(value) for key, value in values.items()}
    if typed == values:
        raise NotApplicable("every default is a text")
    save_answers(run, values)
    fact = run.facts.new()
    try:
        with run.session() as subject:
            # There is something to recall, wherever it stores.
            routes.live(subject, fact)
            subject.recall(fact.query)
    except HookRaised as failure:
        raise Untestable(
            f"no session starts: {show(failure.error)}", depends_on("MP-CONF-007")
        ) from None
    _starts_on(run, typed, "as text", fact.query)


def _defaults(run: Run) -> Answers:
    """The defaults, of a provider that starts without them."""
    saving(run)
    values = answered(read_questions(run), of_no_answer)
    if not values:
        raise NotApplicable("no question has a default")
    with run.session():
        pass
    return values


def _starts_on(run: Run, values: Answers, kind: str, query: str = "") -> None:
    """A session starts on the values, and recalls where there is something to ask for."""
    save_answers(run, values)
    if run.provider().available() is not True:
        raise NotApplicable("with the defaults alone the provider is not available")
    try:
        with run.session() as subject:
            if query:
                subject.recall(query)
    except HookRaised as failure:
        if failure.is_report:
            raise
        run.violated(
            Raised.by(
                failure.error,
                wanted=(
                    f"a session that starts{' and recalls' if query else ''} on the defaults "
                    "of the schema,"
                    " once they were saved"
                ),
                hook=run.hook(failure.operation),
                who=run.hook(failure.operation),
                lead=f"they were saved {kind}, and then ",
            ),
            operation=failure.operation,
        )


@check("MP-CONF-008", calls_alone=False, session="can_declare", extension="config")
def saving_keeps_what_is_there(run: Run) -> None:
    saving(run)
    owed: Untestable | NotApplicable | None = None
    try:
        _stored_is_kept(run)
    except (Untestable, NotApplicable) as lack:
        owed = lack
    if run.binding.shared_files:
        _others_are_kept(run)
    if owed is not None:
        raise owed


def _stored_is_kept(run: Run) -> None:
    if run.context.no_session:
        raise run.context.without_session()
    route = run.needs_route("turns", "writes", "tools")
    fact = run.facts.new()
    with run.session() as subject:
        run.plant(subject, fact, route)
    if not run.reopened_brings_back(fact):
        raise Lost("a stored fact did not come back before anything was saved")
    save_answers(run, answered(read_questions(run), of_no_answer))
    try:
        came_back = run.reopened_brings_back(fact)
    except HookRaised as failure:
        raise Untestable(
            f"no session starts: {show(failure.error)}", depends_on("MP-CONF-007")
        ) from None
    if not came_back:
        run.violated(
            NotRecalled(
                wanted="text that was stored, recalled as before once the defaults were saved",
                texts=(fact.text,),
                lead=f"after {run.hook('save_config')} ",
            ),
        )


def _others_are_kept(run: Run) -> None:
    values = answered(read_questions(run), of_no_answer)
    # A `factory` of the settings may write these files itself where it builds an instance.
    subject = saving(run)
    as_the_host_leaves_it(run)
    for name, text in run.binding.shared_files.items():
        _written_beside(run.home / name, text)
    save_answers(run, values, subject)
    for name, text in run.binding.shared_files.items():
        word = text.split()[-1]
        kept = run.home / name
        if not kept.exists() or word not in kept.read_text("utf-8", "replace"):
            run.violated(
                NotKept(
                    wanted=f"text that others wrote into {name} of the home",
                    keys=(name,),
                    values=(text,),
                    lead=f"after {run.hook('save_config')} ",
                    tail=" is gone",
                ),
            )


def _written_beside(path: Path, text: str) -> None:
    """Add lines to a file as another program does, which leaves it a file of its kind."""
    before = path.read_text("utf-8") if path.exists() else ""
    if before.lstrip().startswith("{"):
        # YAML in braces, of which nothing may stand behind the last one; JSON is YAML too.
        display = {"display": {"skin": text.rpartition(" ")[2].strip()}}
        path.write_text(json.dumps({**manifest.read(path), **display}), "utf-8")
    else:
        joint = "\n" if before and not before.endswith("\n") else ""
        path.write_text(f"{before}{joint}{text}", "utf-8")


@check("MP-CONF-009", calls_alone=False, session=False, extension="config")
def saving_a_part_keeps_the_rest(run: Run) -> None:
    subject = saving(run)
    values, words = worded(run, read_questions(run))
    if not words:
        raise NotApplicable("no answer is an open text that can be looked for")
    first, word = next(iter(words.items()))
    save_words(run, values, subject)
    others = {key: value for key, value in values.items() if key != first}
    if not others:
        raise NotApplicable("there is one question only")
    if not holding(run, word):
        raise Untestable("the answer was not kept in the first place", depends_on("MP-CONF-005"))
    save_words(run, others, subject)
    if not holding(run, word):
        run.violated(
            NotKept(
                wanted=f"the answer to {first!r}, after the others were saved without it",
                keys=(first,),
                subject="it",
                tail=" is in no file any more",
            ),
        )


@check("MP-CONF-010", calls_alone=False, session=False, extension="config")
def a_secret_is_not_left_for_others_to_read(run: Run) -> None:
    saving(run)
    questions = read_questions(run)
    # A Hermes host writes a secret that has a variable into .env, and hands it to no one.
    handed = [item for item in questions if item.secret and not _is_kept_back(run, item)]
    secrets = {item.key: f"atk-{run.facts.name().lower()}" for item in handed}
    if not secrets:
        raise NotApplicable("no answer that reaches save_config is secret")
    before = os.umask(0o022)
    try:
        save_answers(run, {**answered(questions, of_no_answer), **secrets})
    except HookRaised as failure:
        raise NotApplicable(f"a secret is refused: {show(failure.error)}") from None
    finally:
        os.umask(before)
    for key, secret in secrets.items():
        for path in holding(run, secret):
            if path.stat().st_mode & 0o077:
                run.violated(
                    Wrote(
                        wanted="a secret in no file that other users of the machine can read",
                        paths=(path.name,),
                        mode=f"{path.stat().st_mode & 0o777:o}",
                        lead=f"the value of {key!r} is in ",
                        tail=f", mode {path.stat().st_mode & 0o777:o}",
                    ),
                )


def _is_kept_back(run: Run, item: Question) -> bool:
    return run.binding.keeps_variables and bool(item.env_var)


#: The C locale of a bare container or a cron job, without Python's own remedies for it.
_LOCALE_C = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


#: Letters of three scripts, none of which an escape can write in two ways.
_LETTERS = "\u043c\u043e\u0440\u0435\u6e2f\u03b8"


@check("MP-CONF-011", calls_alone=False, environment=_LOCALE_C, session=False, extension="config")
def answers_are_kept_in_every_locale(run: Run) -> None:
    subject = saving(run)
    encoding = locale.getpreferredencoding(False)
    if codecs.lookup(encoding).name != "ascii":
        raise Inconclusive(f"in the locale C this machine encodes as {encoding}, not as ASCII")
    questions = read_questions(run)
    plain, words = worded(run, questions)
    if not words:
        raise NotApplicable("no answer is an open text that can be looked for")
    save_words(run, plain, subject)
    if not any(holding(run, word) for word in words.values()):
        raise Untestable("a plain answer was not kept either", depends_on("MP-CONF-005"))
    odd, kept = worded(run, questions, _LETTERS)
    if not any(word.endswith(_LETTERS) for word in kept.values()):
        raise NotApplicable("every open text is an address, which is ASCII")
    try:
        save_words(run, odd, subject)
    except HookRaised as failure:
        _judge_codec(run, failure)
    for key, word in kept.items():
        if not holding(run, word):
            run.violated(
                NotKept(
                    wanted=(
                        "an answer with letters of any script is kept, where the locale "
                        "encodes as ASCII"
                    ),
                    keys=(key,),
                    values=(odd[key],),
                    tail=f" was saved as the answer to {key!r}, and no file holds it",
                ),
            )


def _judge_codec(run: Run, failure: HookRaised) -> None:
    if failure.is_report or not is_of_a_codec(failure.error):
        raise failure
    run.violated(
        Raised.by(
            failure.error,
            wanted=(
                "an answer with letters of any script is kept, where the locale encodes as ASCII"
            ),
            hook=run.hook("save_config"),
            who=run.hook("save_config"),
        ),
    )


@check("MP-CONF-012", calls_alone=False, extension="config")
def what_follows_the_answers_returns(run: Run) -> None:
    subject = saving(run)
    if not callable(getattr(subject.provider, "post_setup", None)):
        raise NotApplicable("the provider has no post_setup")
    values = answered(read_questions(run), of_no_answer)
    save_answers(run, values)
    try:
        subject.post_setup(str(run.home), values)
    except HookRaised as failure:
        if failure.is_report or isinstance(failure.error, ConnectionError | TimeoutError):
            raise Untestable(f"post_setup reported {show(failure.error)}") from None
        run.violated(
            Raised.by(
                failure.error,
                wanted="post_setup returns, or raises an error of memproto.errors",
                hook="post_setup",
            ),
        )
