"""When the server's model is asked, how often for one turn, at what cost and with what words."""

import dataclasses
from collections.abc import Callable

from .settings import Settings
from .values import LEVELS

#: An empty answer doubles the turns until the next question, up to so many times the cadence.
_MOST_PAUSE = 8

#: A message of so many characters is worth one level more; of so many, two.
_LONG, _LONGER = 120, 400

#: Levels of the passes by their number; None is the level that is set.
_USUAL: dict[int, tuple[str | None, ...]] = {
    1: (None,),
    2: ("minimal", None),
    3: ("minimal", None, "low"),
}

#: An answer that is so long says enough; a shorter one where it is structured.
_ENOUGH, _STRUCTURED = 300, 100

_FIRST = (
    "What do you know about this person that helps with the message below: who they are, what they"
    " prefer, what they work on? Answer in short statements and leave out what you do not know.\n\n"
)
_WARM = (
    "For the message below: what in what you know about this person bears on it? Facts about the"
    " work at hand come before general ones. Answer in short statements.\n\n"
)
_AGAIN = "This was said already:\n{}\n\nWhat is missing or wrong in it, for the same message?\n\n"
_TOGETHER = "These were said:\n{}\n\nResolve what contradicts and give one short answer.\n\n"


@dataclasses.dataclass(slots=True)
class Cadence:
    """Counts the turns between two questions."""

    every: int
    since: int | None = None
    streak: int = 0

    def is_due(self) -> bool:
        """Count a turn; whether a question is due in it."""
        if self.since is None:
            return True
        self.since += 1
        return self.since >= self.every * min(1 << self.streak, _MOST_PAUSE)

    def asked(self) -> None:
        """A question was asked."""
        self.since = 0

    def answered(self, answer: str) -> None:
        """It was answered, or not."""
        self.streak = 0 if answer else self.streak + 1


def level(settings: Settings, message: str, number: int) -> str:
    """The level of one pass: what is set for it, else the usual one, raised for a long message."""
    if number < len(settings.levels):
        return settings.levels[number]
    usual = _USUAL[settings.depth][number]
    if usual is not None:
        return usual
    base = LEVELS.index(settings.level)
    if not settings.is_dynamic:
        return settings.level
    raised = base + (len(message) >= _LONG) + (len(message) >= _LONGER)
    return LEVELS[max(base, min(raised, LEVELS.index(settings.level_cap)))]


def says_enough(answer: str) -> bool:
    """True if another pass would add little."""
    is_structured = any(mark in answer for mark in ("\n- ", "\n* ", "\n1. ", "\n## ")) or (
        answer.startswith(("- ", "* ", "1. ", "## "))
    )
    return len(answer) >= _ENOUGH or (is_structured and len(answer) >= _STRUCTURED)


def ask(
    settings: Settings, message: str, chat: Callable[[str, str], str], *, is_first: bool
) -> str:
    """
    The answer for a message, in as many passes as are set and needed.

    `chat` asks the server a question at a level.
    """
    answers: list[str] = []
    for number in range(settings.depth):
        words = _words(answers, number, is_first=is_first)
        question = (words + message)[: settings.query_chars]
        answer = chat(question, level(settings, message, number)).strip()
        if answer:
            answers.append(answer)
        if says_enough(answer):
            break
    return cut(answers[-1], settings.dialectic_chars) if answers else ""


def _words(answers: list[str], number: int, *, is_first: bool) -> str:
    if number == 0 or not answers:
        return _FIRST if is_first else _WARM
    return (_AGAIN if number == 1 else _TOGETHER).format("\n".join(answers))


def cut(text: str, most: int) -> str:
    """The text at a space before so many characters."""
    if len(text) <= most:
        return text
    end = text.rfind(" ", 0, most)
    return text[: end if end > 0 else most]
