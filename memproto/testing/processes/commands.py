"""
Commands of the parent to a kit child: their types, and how they are written and read.

A command is a JSON object in one line. A child trusts its parent, and takes the fields as they are.
Names of files and variables travel as `memproto.testing.os_names` writes them.
"""

import dataclasses
import json
from typing import Any, ClassVar

from memproto import spec
from memproto.testing import os_names
from memproto.testing.context import Context

_encode = json.JSONEncoder().encode
_parse = json.JSONDecoder().decode


@dataclasses.dataclass(frozen=True)
class Command:
    """
    One command.

    Attributes:
        DO: The name of the command on the wire.
        NAMED: The fields that are names of files, lists of them, or variables; `Place` has two.

    """

    DO: ClassVar[str] = ""
    NAMED: ClassVar[tuple[str, ...]] = ()


@dataclasses.dataclass(frozen=True)
class Load(Command):
    """
    Load the target; answered by `Loaded`, or by `Judged` if it does not load.

    Attributes:
        target: As typed.
        factory: The setting, or "".
        factory_place: The line that sets it.
        functions: Key of a setting to the function that it names, and to its line.
        side: provider or host.
        scale: Factor on every budget.
        root: The directory of the loading.
        env: Variables of the environment beside those of all.
        secrets: Names of variables and keys that are credentials.
        directory: From where the kit was called.
        path: Places that modules are imported from first.
        meets: True at first contact: a target that cannot be reached at all is refused.
        config: The operator's own keys of each config, where it meets the target.
        flushes: True if the target waits for the disk when it flushes a file; see `flushes`.

    """

    DO: ClassVar[str] = "load"
    NAMED: ClassVar[tuple[str, ...]] = ("root", "directory", "target", "path", "env")

    target: str
    root: str
    directory: str
    path: list[str]
    env: dict[str, str]
    side: spec.Side = "provider"
    scale: float = 1.0
    factory: str = ""
    factory_place: str = ""
    functions: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    secrets: list[str] = dataclasses.field(default_factory=list)
    meets: bool = False
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    flushes: bool = True


@dataclasses.dataclass(frozen=True)
class Place:
    """
    Part of a command about the target that is loaded.

    Attributes:
        root: A fresh directory.
        env: Variables of the environment beside those of all.
        salt: Number that tells the facts of this command from those of others.
        tells: True if each call is told, for a replay script.
        context: Facts about the run.

    """

    root: str
    env: dict[str, str]
    salt: int
    tells: bool
    context: Context


@dataclasses.dataclass(frozen=True)
class Check(Command):
    """
    Make the check of a requirement; answered by `Judged`.

    Attributes:
        place: Its place, and the facts about the run.
        id: The requirement.
        grace_s: Seconds that threads of the check may take to end by themselves.
        traces: True if exceptions that are caught are traced, at whatever cost in time.

    """

    DO: ClassVar[str] = "check"

    place: Place
    id: str
    grace_s: float
    traces: bool = False


@dataclasses.dataclass(frozen=True)
class TakeSurvey(Command):
    """
    Find out what the target declares and stores; answered by `Surveyed`, or by `Judged` if not.

    Attributes:
        place: Its place, and the facts about the run.
        session: True if a session may be begun for it.

    """

    DO: ClassVar[str] = "survey"

    place: Place
    session: bool


@dataclasses.dataclass(frozen=True)
class TimeHooks(Command):
    """Call the hooks that most checks call, and measure; answered by `Timed`."""

    DO: ClassVar[str] = "time"

    place: Place


@dataclasses.dataclass(frozen=True)
class NameSecrets(Command):
    """Name the credentials of the config schema; answered by `SecretsNamed`."""

    DO: ClassVar[str] = "secrets"

    place: Place


@dataclasses.dataclass(frozen=True)
class Clean(Command):
    """Have the user's `cleanup` remove what instances of these configs left; `Obeyed`."""

    DO: ClassVar[str] = "clean"

    configs: list[dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Play(Command):
    """
    Play a script of visits on the target, for one who measures; answered by `ScriptPlayed`.

    Attributes:
        place: Its place, and the facts about the run.
        script: The file of the script, as `visits.write` writes it.
        kept: The file to which the course of each visit is added.
        budget_s: Seconds after which no further call is made.
        limits: The `limits` that `initialize` gets.

    """

    DO: ClassVar[str] = "play"
    NAMED: ClassVar[tuple[str, ...]] = ("script", "kept")

    place: Place
    script: str
    kept: str
    budget_s: float
    limits: dict[str, int]


@dataclasses.dataclass(frozen=True)
class Nothing(Command):
    """Do nothing, but answer: `Obeyed`."""

    DO: ClassVar[str] = "nothing"


_COMMANDS: dict[str, type[Command]] = {
    kind.DO: kind
    for kind in (Load, Check, TakeSurvey, TimeHooks, NameSecrets, Clean, Play, Nothing)
}


def slowdown(command: Command) -> float:
    """Factor on waits by which the machine is slower, as the command says it."""
    place = getattr(command, "place", None)
    return place.context.slowdown if isinstance(place, Place) else 1.0


def written(command: Command) -> str:
    """A command in one line, without the line end."""
    told = {"do": command.DO, **vars(command)}
    for name in command.NAMED:
        told[name] = os_names.told(told[name])
    if isinstance(place := told.get("place"), Place):
        named = {"root": os_names.told(place.root), "env": os_names.told(place.env)}
        told["place"] = {**vars(place), **named, "context": vars(place.context)}
    return _encode(told)


def read(line: str) -> Command:
    """The command that `written` wrote in another process, with its names as this one has them."""
    heard = _parse(line)
    kind = _COMMANDS[heard.pop("do")]
    for name in kind.NAMED:
        heard[name] = os_names.heard(heard[name])
    if "place" in heard:
        place = heard["place"]
        named = {"root": os_names.heard(place["root"]), "env": os_names.heard(place["env"])}
        context = Context(**place["context"])
        heard["place"] = Place(**{**place, **named, "context": context})
    return kind(**heard)
