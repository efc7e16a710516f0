"""
The needs of an open result as data: what would let the requirement be decided.

Of several, any one may do, except that what a result depends on stands beside the others.
`memproto.report.needs` makes the words of them.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, Self


@dataclasses.dataclass(frozen=True)
class Need:
    """
    One thing that would open a result; its fields are strings.

    Attributes:
        kind: Its kind in reports.

    """

    kind: ClassVar[str] = ""

    def as_dict(self) -> dict[str, str]:
        """Plain JSON values: the kind, and the fields that say something."""
        fields = {key: value for key, value in vars(self).items() if value}
        return {"kind": self.kind, **fields}

    def with_texts(self, readable: Callable[[str], str]) -> Self:
        """The same need with each field made into what anybody may read."""
        return type(self)(**{key: readable(value) for key, value in vars(self).items()})


@dataclasses.dataclass(frozen=True)
class Setting(Need):
    """
    A setting of the kit.

    Attributes:
        name: The key, as in `config` and `declares.stores`.
        that: The value that it has to have, as in "under which it keeps everything"; "" for any.
        where: The case in which it helps, as in "its backend is missing"; "" for every.
        value: A value that does, as it is written; "" if that depends.

    """

    kind: ClassVar[str] = "setting"
    name: str
    that: str = ""
    where: str = ""
    value: str = ""


@dataclasses.dataclass(frozen=True)
class Declaration(Need):
    """A key that the provider returns from its hook."""

    kind: ClassVar[str] = "declaration"
    key: str
    hook: str


@dataclasses.dataclass(frozen=True)
class DependsOn(Need):
    """
    Another requirement.

    Attributes:
        requirement: Its id.
        state: Its outcome in this run by which this one is open, or "violated"; "" if it may be.

    """

    kind: ClassVar[str] = "requirement"
    requirement: str
    state: str = ""


@dataclasses.dataclass(frozen=True)
class Install(Need):
    """A distribution to be installed, with options of pip."""

    kind: ClassVar[str] = "package"
    distribution: str
    options: str = ""


@dataclasses.dataclass(frozen=True)
class Machine(Need):
    """Another machine, or another user on it."""

    kind: ClassVar[str] = "machine"
    what: str


#: For a process that does not come to its task in time.
LESS_TO_DO = (Machine("a machine with less to do, or MEMPROTO_TIME_SCALE with a greater factor"),)


@dataclasses.dataclass(frozen=True)
class Backend(Need):
    """A backend of the provider that answers, given by the settings."""

    kind: ClassVar[str] = "backend"


@dataclasses.dataclass(frozen=True)
class Driver(Need):
    """
    A part of the host, or of its driver.

    Attributes:
        part: Its name.
        what: The kind of thing that it is, as in "the step".

    """

    #: The kind of part that a driver has most of.
    STEP: ClassVar[str] = "the step"

    kind: ClassVar[str] = "driver"
    part: str
    what: str = STEP


_KINDS: dict[str, type[Need]] = {
    kind.kind: kind for kind in (Setting, Declaration, DependsOn, Install, Machine, Backend, Driver)
}

#: By which a backend is given.
BACKEND_SETTINGS = ("service", "env", "config")

#: A provider that is set up wrong, or whose backend is away.
SET_UP = (Setting("config"), Setting("env"), Setting("service"))

#: A store that shows later what it stored.
LATER = (Setting("settle", where="the store is fresh only later"),)

#: A store that keeps, or a recall that shows, less than a check told it; plain texts come back.
MORE = (Setting("config", that="under which it keeps and recalls more"),)

#: A provider that keeps what it finds worth keeping.
KEEPING = (Setting("config", that="under which it keeps what it is given"),)

#: A plain entry is not among the few that recall brings.
BETTER_RECALL = (Setting("config", that="under which recall brings the best ones"),)

#: A plain text or conversation was refused.
NO_REFUSAL = (Setting("config", that="under which it does not refuse it"),)

#: Recall does not show how often a text is stored.
READ_BACK = (Setting("read_back"),)


def depends_on(*ids: str) -> tuple[DependsOn, ...]:
    """The requirements that say more of why a result is open."""
    return tuple(map(DependsOn, ids))


def from_dict(data: dict[str, Any]) -> Need:
    """
    The need that `Need.as_dict` gave.

    Raises:
        ValueError: There is no such kind, or it has other fields.

    """
    fields = {key: str(value) for key, value in data.items() if key != "kind"}
    try:
        return _KINDS[data["kind"]](**fields)
    except (KeyError, TypeError) as error:
        raise ValueError(f"no need of a result: {error}"[:200]) from None


def of_row(row: dict[str, Any]) -> "tuple[Need, ...]":
    """The needs of a row of a report; none for one that an earlier kit wrote."""
    return tuple(map(from_dict, row.get("needs") or ()))


def settings(needs: "tuple[Need, ...]") -> list[str]:
    """The keys of the settings among the needs, each once."""
    found: dict[str, None] = {}
    for need in needs:
        if isinstance(need, Setting):
            found[need.name] = None
        elif isinstance(need, Backend):
            found.update(dict.fromkeys(BACKEND_SETTINGS))
    return list(found)


def behind(needs: "tuple[Need, ...]") -> str:
    """The requirement whose outcome keeps the result open; "" for none."""
    held = (need for need in needs if isinstance(need, DependsOn) and need.state)
    return next((need.requirement for need in held), "")
