"""
A script of a host, run by the process of the check: the control of what an end of a process costs.

It is the script itself that runs, so that the control makes the calls of the scene and no others.
Each is made by a `Subject`, which watches it as any call of a check.
"""

import contextlib
from collections.abc import Callable
from typing import Any, NoReturn

from memproto.operations import OPERATIONS
from memproto.testing.clauses import Untestable
from memproto.testing.facts import Fact
from memproto.testing.lifetimes.ends import orders
from memproto.testing.lifetimes.ends_process import SCRIPTS, HostSession
from memproto.testing.processes.sandbox import HOST_HOME
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import HookRaised, Subject
from memproto.testing.wire import show

#: Native hook to its operation.
_OPERATIONS = {row.native: name for name, row in OPERATIONS.items()}


class _Hooks:
    """The native hooks of an instance, each under the hand of the kit."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation, subject = _OPERATIONS.get(name, ""), self._subject
        if not operation or (OPERATIONS[operation].extension and not subject.has(operation)):
            raise AttributeError(name)
        if operation == "open":
            return subject.open
        return lambda *arguments, **keywords: subject._use(  # noqa: SLF001 - any operation
            operation, *arguments, **keywords
        )


class _SameProcess(HostSession):
    """A host that is no process of its own."""

    def __init__(self, run: Run, told: dict[str, Any]) -> None:
        super().__init__(told)
        self._run = run

    def say(self, word: str) -> None:
        """Tell nobody."""

    def load(self) -> None:
        """Build another instance, as each session of the check does."""
        HOST_HOME.name(self._run.binding.home_variable, self.told["config"]["home"])
        self.provider = _Hooks(self._run.provider())
        self.provider.is_available()


def run_here(run: Run, script: str, facts: list[Fact], **told: Any) -> None:
    """
    Run one of the scripts of `ends_process` here.

    Raises:
        Untestable: A hook raised, which it did not in a process of its own.

    """
    run.settle()
    host = _SameProcess(run, orders(run, script, [fact.text for fact in facts], **told))
    try:
        SCRIPTS[script](host)
    except HookRaised as failure:
        if host.provider is not None:
            with contextlib.suppress(Exception):
                host.provider.shutdown()
        _cannot(failure)


def _cannot(failure: HookRaised) -> NoReturn:
    if failure.ends_process:
        raise failure
    reason = f"in one process the same calls raise: {show(failure.error)}"
    raise Untestable(reason) from None
