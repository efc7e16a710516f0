"""Mirrored writes as checks make them: of declared actions, with refusals told from faults."""

from typing import Any

from memproto.testing.clauses import NotApplicable, Untestable
from memproto.testing.run import Run
from memproto.testing.subject import HookRaised, Subject
from memproto.testing.wire import show

#: What holds where `mirrors` is not declared.
_ADD_ONLY = {"memory": ["add"], "user": ["add"]}


class Refused(Untestable):
    """The provider refused a plain write, and said so."""


def targets(run: Run, action: str) -> list[str]:
    """The targets for which `action` takes effect, as declared."""
    mirrors: dict[str, list[str]] = run.declared("mirrors", _ADD_ONLY)
    return [target for target, actions in mirrors.items() if action in actions]


def needed_targets(run: Run, *any_of: str) -> list[str]:
    """
    The targets for which at least one of the actions takes effect.

    Raises:
        NotApplicable: There is none, or the provider does not store writes.

    """
    run.needs_route("writes")
    found = [target for action in any_of for target in targets(run, action)]
    if not found:
        raise NotApplicable(f"`mirrors` names {' or '.join(any_of)} for no target")
    return list(dict.fromkeys(found))


def write(subject: Subject, *arguments: Any) -> None:
    """
    Mirror a write of plain texts.

    Raises:
        Refused: The provider refused it, and said so.

    """
    try:
        subject.mirror(*arguments)
    except HookRaised as failure:
        if failure.is_report:
            reason = f"a plain {arguments[0]} was refused: {show(failure.error)}"
            raise Refused(reason) from None
        raise
