"""The binding of providers in processes of their own, by the protocol of 85-wire.md."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from memproto.bindings.base import Binding
from memproto.errors import MemprotoError, NoProvider, NoSuchTarget
from memproto.operations import OPERATIONS
from memproto.wire import NotStarted, WireProvider
from memproto.wire.program import shown

#: Why a requirement cannot be decided across a process, and the requirements. docs/wire.md tells
#: readers the same.
_REASONS: Mapping[str, tuple[str, ...]] = {
    "a provider in a process of its own gets copies of its arguments": (
        *("MP-INIT-003", "MP-RECALL-003", "MP-COMP-002", "MP-NOTES-003", "MP-REC-007"),
    ),
    "it is about the host's process, which a provider of the wire is not in": (
        *("MP-THR-001", "MP-THR-004", "MP-ISO-002", "MP-ISO-007", "MP-ISO-010", "MP-ISO-011"),
        "MP-ISO-012",
        *("MP-LOAD-006", "MP-LOAD-007", "MP-PROC-003", "MP-PROC-004", "MP-PROC-005"),
        *("MP-PROC-009", "MP-RES-001", "MP-RES-005", "MP-RES-006", "MP-RES-008"),
    ),
    "the greeting says it once, and nothing asks for it again": ("MP-NAME-003",),
    "a server ends behind its first close, so that a host closes it once": (
        *("MP-SHUT-001", "MP-SHUT-002"),
    ),
    "the kit has no instrument for it in the server's process": (
        *("MP-LOAD-002", "MP-LOAD-003", "MP-LOAD-004", "MP-AVAIL-003", "MP-CONF-003"),
        *("MP-BACKUP-001", "MP-ISO-005", "MP-ISO-006", "MP-ISO-009", "MP-RES-002", "MP-RES-003"),
        *("MP-RES-004", "MP-RES-007", "MP-TIME-001", "MP-TIME-002", "MP-TIME-003"),
        *("MP-PROMPT-002", "MP-ITEMS-006", "MP-PROC-006"),
    ),
}

#: The same for those that a requirement of the wire asks for in the server's process.
_ASKED_OF_THE_WIRE: Mapping[str, tuple[str, ...]] = {
    "MP-WIRE-004 asks for it in the server's process": ("MP-THR-002",),
    "MP-WIRE-013 and MP-WIRE-014 ask for it in the server's process": (
        *("MP-SHUT-006", "MP-PROC-001", "MP-PROC-002", "MP-PROC-008"),
    ),
    "MP-WIRE-019 asks for it in the server's process": ("MP-ISO-003",),
    "MP-WIRE-001 asks for it in the server's process": ("MP-ISO-008", "MP-LOAD-005"),
}


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
            # A close that fails is for the requirements on it, and no reason to end the run.
            with contextlib.suppress(MemprotoError):
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
    if fault.fix:
        return NoSuchTarget(what, text, fault.fix)
    fix = (
        "give a command that serves a provider over its standard streams without a terminal, "
        "as in spec/v1/85-wire.md"
    )
    return NoProvider(what, text, fix)


#: Requirement to the reason why it cannot be decided across a process, whoever serves there.
ACROSS_A_PROCESS = {name: reason for reason, names in _REASONS.items() for name in names}

#: Requirement of which the wire's own take the place, to the reason.
OF_THE_WIRE = {name: reason for reason, names in _ASKED_OF_THE_WIRE.items() for name in names}

WIRE = _Wire(
    name="wire",
    title="wire",
    hooks={row.name: row.name for row in OPERATIONS.values()},
    rules=("any", "native", "wire"),
    carries_halves=False,
    out_of_reach={**ACROSS_A_PROCESS, **OF_THE_WIRE},
)
