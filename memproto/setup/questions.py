"""
A provider's config schema as a row of questions: which are asked, with which default, and what an
answer means. Pure: nothing here asks, reads or writes.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memproto.errors import MemprotoError

#: Words that a person types for yes and for no.
_BOOLEANS = {"true": True, "yes": True, "y": True, "1": True, "on": True}
_BOOLEANS |= {"false": False, "no": False, "n": False, "0": False, "off": False}


class UnusableSchema(MemprotoError):
    """The answer of `get_config_schema` is no list of fields, so that nothing can be asked."""


class NotAnAnswer(ValueError):
    """A text that does not answer the question; the message says what would."""


@dataclasses.dataclass(frozen=True)
class Question:
    """
    One field of the schema.

    Attributes:
        key: The name under which the answer is saved.
        description: The question, as text.
        secret: True if the answer goes to the environment only.
        required: True if there has to be an answer.
        default: The answer where none is given, or None.
        choices: The answers that are allowed; empty for any.
        url: The page where the operator gets the answer, or "".
        env_var: The variable that holds the answer, or "".
        when: Keys to the answers with which the question is asked.
        default_from: The key on whose answer the default depends, and answer to default.

    """

    key: str
    description: str
    secret: bool = False
    required: bool = False
    default: Any = None
    choices: tuple[Any, ...] = ()
    url: str = ""
    env_var: str = ""
    when: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    default_from: tuple[str, Mapping[Any, Any]] = ("", {})

    def is_asked(self, answers: Mapping[str, Any]) -> bool:
        """True if the answers so far are those with which the question is asked."""
        return all(key in answers and answers[key] == value for key, value in self.when.items())

    def default_for(self, answers: Mapping[str, Any]) -> Any:
        """The default, as it follows from the answers so far; None where there is none."""
        key, table = self.default_from
        answer = answers.get(key)
        # A JSON object has text keys; an answer that cannot be looked up has no row.
        return table.get(answer if isinstance(answer, str) else str(answer), self.default)

    def parse(self, text: str) -> Any:
        """
        The value that a typed text means: a choice, or a value of the default's type.

        Raises:
            NotAnAnswer: It is none of the choices, or not of that type.

        """
        if self.choices:
            return self._choice(text)
        if isinstance(self.default, bool):
            return _boolean(text)
        if isinstance(self.default, int | float):
            return _number(text)
        if isinstance(self.default, list):
            return [part.strip() for part in text.split(",") if part.strip()]
        if isinstance(self.default, dict):
            return _table(text)
        return text

    def _choice(self, text: str) -> Any:
        for choice in self.choices:
            if shown(choice) == text:
                return choice
        raise NotAnAnswer(f"{text!r} is none of {', '.join(map(shown, self.choices))}")


def _boolean(text: str) -> bool:
    if text.strip().lower() not in _BOOLEANS:
        raise NotAnAnswer(f"{text!r} is neither true nor false")
    return _BOOLEANS[text.strip().lower()]


def _number(text: str) -> int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise NotAnAnswer(f"{text!r} is no number")


def _table(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise NotAnAnswer(f"{text!r} is no JSON object")
    return value


def shown(value: Any) -> str:
    """A value as a person types it: true and false in lower case, lists with commas."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    return json.dumps(value, default=str)


def questions_of(schema: Any) -> list[Question]:
    """
    The questions of a schema, in its order; keys that nobody knows are left aside.

    Raises:
        UnusableSchema: It is no list of objects with a key.

    """
    if not isinstance(schema, list):
        raise UnusableSchema(f"the schema is {type(schema).__name__}; a list of fields is expected")
    return [_question(number, field) for number, field in enumerate(schema, 1)]


def _question(number: int, field: Any) -> Question:
    if not isinstance(field, dict) or not isinstance(field.get("key"), str) or not field["key"]:
        raise UnusableSchema(f"field {number} of the schema has no `key`")
    choices, when = field.get("choices"), field.get("when")
    return Question(
        key=field["key"],
        description=str(field.get("description") or field["key"]),
        secret=bool(field.get("secret")),
        required=bool(field.get("required")),
        default=field.get("default"),
        choices=tuple(choices) if isinstance(choices, list) else (),
        url=str(field.get("url") or ""),
        env_var=str(field.get("env_var") or ""),
        when=when if isinstance(when, dict) else {},
        default_from=_default_from(field.get("default_from")),
    )


def _default_from(value: Any) -> tuple[str, Mapping[Any, Any]]:
    if not isinstance(value, dict) or not isinstance(value.get("map"), dict):
        return "", {}
    return str(value.get("field", "")), value["map"]


def walk(
    questions: Sequence[Question], answer: Callable[[Question, Any], Any]
) -> list[tuple[Question, Any]]:
    """
    Ask each question whose condition holds, in order; gives each with its answer.

    `answer` gets the question and its default as it follows from the answers so far, and gives a
    value, or None for no answer. A later question under the same key takes the place of an earlier
    one.
    """
    found: dict[str, tuple[Question, Any]] = {}
    for question in questions:
        answers = {key: value for key, (_, value) in found.items()}
        if not question.is_asked(answers):
            continue
        value = answer(question, question.default_for(answers))
        if value is not None:
            found[question.key] = (question, value)
    return list(found.values())
