"""The binding of providers in processes of their own, by the protocol of 85-wire.md."""

from collections.abc import Callable, Mapping
from typing import Any

from memproto.bindings.base import Binding
from memproto.errors import NoProvider, NoSuchTarget
from memproto.operations import OPERATIONS
from memproto.wire import NotStarted, WireProvider
from memproto.wire.program import shown

#: Why a requirement cannot be decided across a process, and the requirements.
_REASONS: Mapping[str, tuple[str, ...]] = {}


class _Wire(Binding):
    """Providers behind `WireProvider`."""

    def recognises(self, found: Any) -> bool:
        kind = found if isinstance(found, type) else type(found)
        return issubclass(kind, WireProvider)

    def defines(self, found: Any) -> bool:
        return found is not WireProvider and self.recognises(found)

    def where(self, provider: Any, operation: str) -> str:
        return f"{self.hook(operation)} of {shown(provider.command)}"

    def meet(self, target: str, build: Callable[[], Any]) -> None:
        provider = build()
        try:
            provider.start()
        except NotStarted as fault:
            raise _refused(target, fault) from None
        finally:
            provider.shutdown()

    def connect(self, provider: Any, inspect: Callable[[Any, str], str]) -> None:
        provider.judge(inspect)
        provider.start()


def _refused(target: str, fault: NotStarted) -> NoSuchTarget | NoProvider:
    text, status = fault.fault, fault.status
    if status is not None:
        text += f"; exit status {status}"
    if fault.said:
        text += f"; its last lines on standard error: {fault.said}"
    what = f"--memproto={target}"
    if status is None and not fault.said and "answer" not in fault.fault:
        return NoSuchTarget(what, text, "name a program that can be started, and its arguments")
    fix = (
        "give a command that serves a provider over its standard streams without a terminal, "
        "as in spec/v1/85-wire.md"
    )
    return NoProvider(what, text, fix)


WIRE = _Wire(
    name="wire",
    title="wire",
    hooks={row.name: row.name for row in OPERATIONS.values()},
    rules=("any", "native", "wire"),
    out_of_reach={name: reason for reason, names in _REASONS.items() for name in names},
)
