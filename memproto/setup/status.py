"""Facts about a provider without a session: whether it can start, and what it lacks."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from memproto.bindings import HERMES, NATIVE, Binding, author_object
from memproto.operations import EXTENSION_HOOKS, OPERATIONS
from memproto.setup.dialogue import NoSchema, schema_of
from memproto.setup.hooks import ProviderFailed, attempt, hook_of, is_own
from memproto.setup.questions import Question, UnusableSchema, shown


@dataclasses.dataclass(frozen=True)
class Status:
    """
    The findings of `examine`.

    Attributes:
        name: The provider's name.
        is_available: True if it says that it can start.
        reason: Why not, in its own words, or "".
        missing: Questions whose variable is not set, required ones first.
        extensions: Extensions of which it has all hooks.
        tools: The names of its tools, as far as they are known without a session.
        faults: Exceptions of hooks that were asked.

    """

    name: str
    is_available: bool
    reason: str
    missing: tuple[Question, ...]
    extensions: tuple[str, ...]
    tools: tuple[str, ...]
    faults: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The status for a reader, one fact on each line."""
        told = [f"available: {'yes' if self.is_available else 'no'}"]
        told += [f"reason: {self.reason}"] if self.reason else []
        told += [f"not set: {_told(question)}" for question in self.missing]
        told += [f"extensions: {', '.join(self.extensions) or 'none'}"]
        told += [f"tools: {', '.join(self.tools) or 'none'}"]
        return told + [f"fault: {fault}" for fault in self.faults]


def _told(question: Question) -> str:
    kind = "required" if question.required else "optional"
    when = " and ".join(f"{key} is {shown(value)}" for key, value in question.when.items())
    place = f", see {question.url}" if question.url else ""
    condition = f", where {when}" if when else ""
    return f"{question.env_var} ({kind}{condition}): {question.description}{place}"


def examine(provider: Any, variables: Mapping[str, str], binding: Binding | None = None) -> Status:
    """
    Ask a provider, an instance that no session was opened with, what it says of itself.

    `variables` is the environment. An error of a hook is told among the faults. `binding` is that
    of the author's object; without it an adapted one counts as a Hermes provider.
    """
    faults: list[str] = []

    def asked(name: str, otherwise: Any) -> Any:
        hook = hook_of(provider, name)
        try:
            return otherwise if hook is None else hook()
        except ProviderFailed as error:
            faults.append(str(error))
            return otherwise

    is_available = asked("is_available", otherwise=False) is True
    reason = "" if is_available else str(asked("unavailable_reason", "") or "")
    schemas = asked("get_tool_schemas", []) or []
    missing = _missing(provider, variables, faults)
    name = _name(provider, faults)
    binding = binding or (NATIVE if author_object(provider) is provider else HERMES)
    extensions = tuple(name for name in EXTENSION_HOOKS if _has(provider, name, binding))
    tools = tuple(
        str(item["name"]) for item in schemas if isinstance(item, dict) and "name" in item
    )
    return Status(name, is_available, reason, missing, extensions, tools, tuple(faults))


def _name(provider: Any, faults: list[str]) -> str:
    try:
        return str(attempt("name of the provider", lambda: provider.name))
    except ProviderFailed as error:
        faults.append(str(error))
        return type(provider).__name__


def _has(provider: Any, extension: str, binding: Binding) -> bool:
    """`checkpoint` has no hook of its own: only a session's declaration shows it."""
    hooks = EXTENSION_HOOKS[extension]
    if extension == "checkpoint" or not all(callable(getattr(provider, h, None)) for h in hooks):
        return False
    names = {row.native: binding.hook(row.name) for row in OPERATIONS.values()}
    return any(is_own(provider, names[hook]) for hook in hooks)


def _missing(
    provider: Any, variables: Mapping[str, str], faults: list[str]
) -> tuple[Question, ...]:
    try:
        questions = schema_of(provider)
    except NoSchema:
        return ()
    except (ProviderFailed, UnusableSchema) as error:
        faults.append(str(error))
        return ()
    unset = [q for q in questions if q.env_var and not variables.get(q.env_var)]
    return tuple(sorted(unset, key=lambda question: not question.required))
