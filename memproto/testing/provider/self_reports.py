"""The shape of a recall status."""

from typing import Any

from memproto import spec
from memproto.testing.evidence import Returned, Surplus, Unfit
from memproto.testing.provider.run import Run
from memproto.testing.wire import plain, show

#: The keys of recall-status.schema.json.
_KNOWN = ("state", "recalled", "pending_writes", "lost_writes", "since", "message")


def fits(run: Run, status: Any, requirement: str = "", when: str = "") -> None:
    """
    A status is as in recall-status.schema.json; `when` goes on behind one that is not: "; ...".

    Raises:
        Violated: It is not; under `requirement`, or under that of the check.

    """
    from jsonschema import Draft202012Validator

    if not isinstance(status, dict):
        run.violated(
            Returned(
                wanted="a dict as in recall-status.schema.json",
                hook=run.hook("status"),
                value=show(status),
                tail=when,
            ),
            operation="status",
            requirement=requirement,
        )
    validator = Draft202012Validator(spec.schema("recall-status"))
    faults = sorted(validator.iter_errors(plain(status)), key=lambda fault: fault.json_path)
    if not faults:
        return
    if faults[0].validator == "additionalProperties":
        unknown = sorted(key for key in status if not _is_known(key))
        run.violated(
            Surplus(
                wanted=f"the keys {', '.join(_KNOWN)}, and further ones that begin with x_",
                kind_of="key",
                names=tuple(map(show, unknown)),
                lead="recall_status() holds ",
                tail=when,
            ),
            operation="status",
            requirement=requirement,
        )
    at = f"recall_status(){faults[0].json_path.removeprefix('$')}"
    run.violated(
        Unfit(
            wanted="a dict as in recall-status.schema.json",
            schema="recall-status",
            at=at,
            fault=faults[0].message[:300],
            tail=when,
        ),
        operation="status",
        requirement=requirement,
    )


def _is_known(key: Any) -> bool:
    return key in _KNOWN or str(key).startswith("x_")
