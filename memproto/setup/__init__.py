"""
Set-up of a provider by its own config schema, for a host's dialogue, form or command.

`schema_of` reads the questions, `collect` has them answered, `save` and `finish` keep the answers;
`examine` says whether a provider can start. None of them knows a terminal.
"""

from memproto.setup.dialogue import (
    Answers,
    Ask,
    NoSchema,
    Prompt,
    SetupError,
    Tell,
    collect,
    finish,
    save,
    schema_of,
)
from memproto.setup.hooks import ProviderFailed
from memproto.setup.questions import Question, UnusableSchema
from memproto.setup.status import Status, examine

__all__ = [
    "Answers",
    "Ask",
    "NoSchema",
    "Prompt",
    "ProviderFailed",
    "Question",
    "SetupError",
    "Status",
    "Tell",
    "UnusableSchema",
    "collect",
    "examine",
    "finish",
    "save",
    "schema_of",
]
