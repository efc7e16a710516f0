"""Mirrored writes as checks make them: of declared actions, with refusals told from faults."""

from typing import Any

from memproto.testing.clauses import NotApplicable, Untestable
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.provider.write_action import arguments
from memproto.testing.wire import show


class Refused(Untestable):
    """The provider refused a plain write, and said so."""


def targets(run: Run, action: str) -> list[str]:
    """The targets for which `action` takes effect, as declared."""
    return [target for target, actions in run.mirrors.items() if action in actions]


def needed_targets(run: Run, *any_of: str) -> list[str]:
    """
    The targets for which at least one of the actions takes effect, and into which a text comes.

    Raises:
        NotApplicable: There is none, or the provider does not store writes.

    """
    run.needs_route("writes")
    found = dict.fromkeys(target for action in any_of for target in targets(run, action))
    wanted = " or ".join(any_of)
    if not found:
        raise NotApplicable(f"`mirrors` names {wanted} for no target")
    open_ones = targets(run, "replace" if run.writing.is_by_replace else "add")
    if not found.keys() & set(open_ones):
        said = f"`mirrors` names {wanted} for {' and '.join(found)}"
        raise NotApplicable(f"{said}, and no action by which a text comes in there")
    return [target for target in found if target in open_ones]


def bring(run: Run, subject: Subject, target: str, text: str) -> None:
    """
    Mirror a write by which a plain text comes into the target.

    Raises:
        Refused: The provider refused it, and said so.

    """
    action = "add" if target in targets(run, "add") else "replace"
    write(subject, *arguments((action, target), text))


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
