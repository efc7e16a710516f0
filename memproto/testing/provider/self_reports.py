"""The reports of a provider on itself: the shape of a status, and what no report may give away."""

from collections.abc import Iterable
from typing import Any

from memproto import spec
from memproto.testing.evidence import Exposed, Returned, Surplus, Unfit
from memproto.testing.facts import Fact
from memproto.testing.provider.run import Run
from memproto.testing.wire import plain, show

#: The keys of recall-status.schema.json.
_KNOWN = ("state", "recalled", "pending_writes", "lost_writes", "since", "message")


def fits(run: Run, status: Any, requirement: str = "", when: str = "") -> None:
    """
    A status is as in recall-status.schema.json.

    `when` ends the message on one that is not: ", while no file took a byte".

    Raises:
        Violation: It is not; of `requirement`, or of that of the check.

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


def gives_nothing_away(
    run: Run,
    operation: str,
    said: str,
    keys: Iterable[str],
    facts: Iterable[Fact],
    *,
    when: str,
    requirement: str = "",
) -> None:
    """
    A report holds no credential and no text that was stored.

    `said` is all that the operation says, `keys` are those of the credentials that stand in it, and
    `when` begins the message: "after initialize".

    Raises:
        Violation: It does; of `requirement`, or of that of the check.

    """
    shown = [f"the value of config[{key!r}]" for key in keys]
    shown += [f"{fact.name!r}, from {fact.text!r}" for fact in facts if fact.is_in(said)]
    if shown:
        run.violated(
            Exposed(
                wanted="numbers and states, no credential and no text that was stored",
                hook=run.hook(operation),
                place=operation,
                excerpt=shown[0],
                lead=f"{when}, {run.hook(operation)} gives ",
            ),
            operation=operation,
            requirement=requirement,
        )
