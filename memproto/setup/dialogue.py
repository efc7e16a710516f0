"""
The set-up of one provider: collect the answers, then save them.

Nothing here knows a terminal: the caller brings a function that asks one question and one that
tells one line, so that a form or a host's own dialogue can be put in their place.
"""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from memproto.adapters.homes import own_folder
from memproto.errors import MemprotoError
from memproto.setup import dotenv, variables
from memproto.setup.hooks import hook_of, is_own
from memproto.setup.questions import (
    NotAnAnswer,
    Question,
    UnusableSchema,
    questions_of,
    shown,
    walk,
)


class SetupError(MemprotoError):
    """Set-up cannot go on as it was asked for; the message says what to change."""


class NoSchema(SetupError):
    """The provider asks nothing: it has no `get_config_schema`, or an empty one."""


@dataclasses.dataclass(frozen=True)
class Prompt:
    """
    One question as it is put to the operator.

    Attributes:
        question: The field of the schema.
        default: The meaning of an empty answer, as text; "" if it means nothing.
        is_set: True if its variable has a value already, which an empty answer keeps.
        fault: The fault of the answer before, or "".

    """

    question: Question
    default: str = ""
    is_set: bool = False
    fault: str = ""


Ask = Callable[[Prompt], str]
Tell = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Answers:
    """
    The answers, sorted by their destination.

    Attributes:
        values: Key to value, for `save_config`; no secret.
        variables: Variable to text, for the environment.
        in_variables: The keys whose answers are in a variable.

    """

    values: dict[str, Any]
    variables: dict[str, str] = dataclasses.field(repr=False)
    in_variables: frozenset[str] = frozenset()


def schema_of(provider: Any) -> list[Question]:
    """
    The provider's questions.

    Raises:
        NoSchema: It has none.
        UnusableSchema: They cannot be read, or an answer cannot be kept where they say.
        ProviderFailed: The hook raised.

    """
    read = hook_of(provider, "get_config_schema")
    questions = questions_of(read() or []) if read else []
    if not questions:
        raise NoSchema("the provider has no config schema: there is nothing to set up")
    for question in questions:
        # Writing such a name into a file of variables would write what the name holds as well.
        if question.env_var and (fault := variables.unfit(question.env_var)):
            raise UnusableSchema(f"the field {question.key!r} of the schema: {fault}")
    return questions


def collect(
    questions: list[Question],
    *,
    given: Mapping[str, str],
    variables: Mapping[str, str],
    ask: Ask | None,
) -> Answers:
    """
    Answer every question whose condition holds, in order; nothing is saved.

    `given` are answers by key that are not asked for, `variables` what the environment holds
    already. Without `ask` an open question takes its default.

    Raises:
        SetupError: A given answer fits no question, none is given where one is required, or a
            default cannot be kept in its variable.

    """
    keys = {question.key for question in questions}
    unknown = sorted(set(given) - keys)
    if unknown:
        raise SetupError(f"{unknown[0]!r} is asked by no field; these are: {_listed(keys)}")

    def answer(question: Question, default: Any) -> Any:
        return _answered(question, default, given, variables, ask)

    pairs = walk(questions, answer)
    unasked = sorted(set(given) - {question.key for question, _ in pairs})
    if unasked:
        raise SetupError(f"{unasked[0]!r} is not asked with these answers, by its `when`")
    return _sorted(pairs)


def _listed(keys: set[str]) -> str:
    return ", ".join(sorted(keys))


def _answered(
    question: Question,
    default: Any,
    given: Mapping[str, str],
    variables: Mapping[str, str],
    ask: Ask | None,
) -> Any:
    """One answer; None for none, or where the variable keeps its value."""
    is_set = bool(question.env_var and variables.get(question.env_var))
    if question.key in given:
        return _parsed(question, given[question.key])
    fallback = None if question.secret or is_set or default in (None, "") else default
    fault = "" if fallback is None else dotenv.unfit(question.env_var, shown(fallback))
    if ask is not None:
        # A default that cannot be kept is none, and the prompt says why.
        return _asked(question, None if fault else fallback, ask, is_set=is_set, fault=fault)
    if fault:
        raise SetupError(f"{question.key!r}: its default in the schema is of no use: {fault}")
    if fallback is None and question.required and not is_set:
        raise SetupError(f"{question.key!r} needs an answer: {question.description}")
    return fallback


def _parsed(question: Question, text: str) -> Any:
    if question.required and not text:
        raise SetupError(f"{question.key!r} needs an answer: {question.description}")
    try:
        return _usable(question, text)
    except NotAnAnswer as error:
        said = "the value is no answer to it" if question.secret else str(error)
        raise SetupError(f"{question.key!r}: {said}") from None


def _usable(question: Question, text: str) -> Any:
    """The value of a text, which fits into a variable where it has to."""
    if fault := dotenv.unfit(question.env_var, text):
        raise NotAnAnswer(fault)
    return text if question.secret else question.parse(text)


def _asked(question: Question, fallback: Any, ask: Ask, *, is_set: bool, fault: str) -> Any:
    """Ask until the answer fits; `fault` is what the first prompt says."""
    while True:
        default = "" if fallback is None else shown(fallback)
        text = ask(Prompt(question, default, is_set, fault))
        if not text and (fallback is not None or is_set or not question.required):
            return fallback
        try:
            if text:
                return _usable(question, text)
            fault = "an answer is required"
        except NotAnAnswer as error:
            fault = str(error)


def _sorted(pairs: list[tuple[Question, Any]]) -> Answers:
    values = {question.key: value for question, value in pairs if not question.secret}
    variables = {question.env_var: shown(value) for question, value in pairs if question.env_var}
    lost = next((q.key for q, _ in pairs if q.secret and not q.env_var), None)
    if lost is not None:
        raise SetupError(f"{lost!r} is a secret, and the provider names no variable to keep it in")
    kept = frozenset(question.key for question, _ in pairs if question.env_var)
    return Answers(values, variables, kept)


def save(provider: Any, answers: Answers, *, home: Path, env_file: Path, tell: Tell) -> None:
    """
    Save the answers: the variables first, as one file that is replaced, then the rest.

    Raises:
        ProviderFailed: `save_config` raised; the variables are saved.
        OSError: The home or the file cannot be written.

    """
    own_folder(home)
    if answers.variables:
        dotenv.write(env_file, answers.variables)
        tell(f"{', '.join(answers.variables)} saved in {env_file}")
    if answers.values:
        _keep(provider, answers, home, tell)


def _keep(provider: Any, answers: Answers, home: Path, tell: Tell) -> None:
    names, keep = ", ".join(answers.values), hook_of(provider, "save_config")
    if keep is None or not is_own(provider, "save_config"):
        lost = [key for key in answers.values if key not in answers.in_variables]
        if lost:
            tell(f"{', '.join(lost)} not saved: the provider has no save_config of its own")
        return
    keep(dict(answers.values), str(home))
    tell(f"{names} handed to the provider, for {home}")


def finish(provider: Any, answers: Answers, home: Path) -> bool:
    """
    Call `post_setup`, where the provider has it; whether it has.

    Raises:
        ProviderFailed: It raised.

    """
    last = hook_of(provider, "post_setup")
    if last is not None:
        last(str(home), dict(answers.values))
    return last is not None
