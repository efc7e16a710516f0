"""
The driver: how the kit plays the user, the model and the memory of any agent.

A framework is judged through an object with the steps of `HostDriver`. Inherit from it and write
those that the framework has; `docs/hosts.md` shows one in full. If a step raises an error that it
is not said to raise, or does not return, that is held against the host.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

from memproto.deadlines import Deadlines

#: The agent's request to the model, `{"role": ..., "content": ...}` at least, and its answer.
Model = Callable[[list[dict[str, Any]]], Iterator[str]]

SwitchKind = Literal[
    "new",  # the user begins another conversation
    "resume",  # an earlier session goes on
    "branch",  # a copy of this one goes on under a new id
    "compress",  # the same conversation goes on under a new id, after a compression
    "rewind",  # the last turns were undone; the id stays
]

#: The kinds in this order.
SWITCHES: tuple[SwitchKind, ...] = get_args(SwitchKind)


class ModelFailed(Exception):
    """The kit's model raises it for a turn whose answer never comes."""


@dataclasses.dataclass(frozen=True, slots=True)
class Start:
    """
    The values with which a session starts.

    Attributes:
        session_id: The session key.
        home: A directory for the memory, fresh for each check.
        config: Values for the config of providers: `home`, `platform`, `agent_context`,
            `agent_identity`, `user_id` and others; the host adds what it promises beside.
        model: The model of this session. It may raise `ModelFailed`.
        denied_tools: Names of tools that the operator forbids. If there are some, a `start` that
            cannot heed them raises `NotImplementedError`.

    """

    session_id: str
    home: str
    config: dict[str, Any]
    model: Model
    denied_tools: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True, slots=True)
class Turn:
    """
    The user's view of one turn.

    The kit knows from `Start.model` what the model was sent.

    Attributes:
        shown: The text of the answer as it stands in front of the user, in one piece.

    """

    shown: str


@dataclasses.dataclass(frozen=True, slots=True)
class Compressed:
    """
    The ending of a compression.

    Attributes:
        kept: True if the host kept the messages, since a memory did not have them.
        asked: Text that the summarizing model was given beside the messages; "" if none.

    """

    kept: bool = False
    asked: str = ""


class HostDriver:
    """
    One agent, from its start to its exit; the kit makes a new one for each session of a check.

    The steps come one after the other, all on one thread, `register` and `start` first. `register`,
    `start` and `exit` are always needed. A requirement that needs another step which is missing, or
    raises `NotImplementedError`, is untestable, and the report names the step. A step in `without`
    is something that the framework itself does not have: such requirements are not applicable. So
    are those on servers for a driver without `register_program`.

    The class or factory that `--memproto-host` names takes no arguments; it may take `deadlines`,
    then the kit sets short ones, and `on_event`, which is called with what the host reports.

    Attributes:
        without: Step to the reason why the framework has no such thing; `switch rewind` and the
            like stand for one kind of switch, `denied_tools` for tools that an operator forbids,
            `fence` for a block of another form. The id of a requirement stands for one that no
            call of the framework's could keep or break.
        deadlines: The host's own budgets. An instance that takes `deadlines` and keeps only some of
            them says here which ones it has.
        most_providers: Number of providers that the host takes at a time; None for any number.
        own_tool: Name of a tool that is the host's own, or "".
        fence: Module with the functions of the host's fence; its own module or package if None.

    """

    without: Mapping[str, str] = {}
    deadlines: Deadlines = Deadlines()
    most_providers: int | None = None
    own_tool: str = ""
    fence: Any = None

    # -- the life of a session --------------------------------------------------------------------

    def register(self, provider: Any) -> None:
        """Take a provider, before `start`; raises what the host raises where it refuses it."""
        raise NotImplementedError

    def register_program(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        """
        As `register`, for a provider that is a program: the host's own client starts it.

        `env` are the variables that the operator lets it have. For hosts of `85-wire.md` only.
        """
        raise NotImplementedError

    def start(self, session: Start) -> None:
        """Begin the session: providers are opened here, or at the latest before the first turn."""
        raise NotImplementedError

    def end(self) -> None:
        """End the session while the process goes on: its window is closed, or it fell silent."""
        raise NotImplementedError

    def exit(self) -> None:
        """Leave the agent, as the user does; it may come twice, and from two threads at once."""
        raise NotImplementedError

    # -- turns ------------------------------------------------------------------------------------

    def turn(self, user_message: str) -> Turn:
        """
        One turn of the user: recall, the model, the answer, everything that the host does then.

        If the model raises `ModelFailed`, end the turn as the host does; an error that this step
        raises then is ignored.
        """
        raise NotImplementedError

    def stream(self, user_message: str) -> Turn:
        """As `turn`, where the user sees the answer piece by piece, as the model yields it."""
        raise NotImplementedError

    def interrupt(self, user_message: str) -> Turn:
        """As `stream`; the user breaks the turn off once the model has yielded its first piece."""
        raise NotImplementedError

    def reject(self, user_message: str) -> Turn:
        """As `turn`; a guardrail of the host refuses the model's answer once it is whole."""
        raise NotImplementedError

    # -- parts of a turn, for hosts that have a seam there ----------------------------------------

    def recall(
        self, user_message: str, messages: Sequence[dict[str, Any]]
    ) -> "list[tuple[str, str]] | str":
        """
        The texts that the host gathers for a turn, without the turn.

        (provider's name, text) of each provider that answered, in order; or one text, where the
        host keeps no names.
        """
        raise NotImplementedError

    def record(self, user_message: str, answer: str) -> None:
        """Have the memory record a finished turn; `user_message` as the host holds it then."""
        raise NotImplementedError

    def record_turn(self, turn: dict[str, Any]) -> None:
        """As `record`, with all that is known: see `recorded-turn.schema.json`."""
        raise NotImplementedError

    # -- the memory tool, and tools of providers --------------------------------------------------

    def write_memory(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """Have the host's own memory tool carry out a write: add, replace or remove."""
        raise NotImplementedError

    def refuse_write(
        self, action: str, target: str, content: str | None, old_text: str | None = None
    ) -> None:
        """As `write_memory`; the tool refuses the write, as where its file is full."""
        raise NotImplementedError

    def tools(self) -> list[dict[str, Any]]:
        """The schemas of the tools of providers that the model is offered, bare or wrapped."""
        raise NotImplementedError

    def call_tool(self, name: str, args: Any) -> Any:
        """The model's result of a call of a tool, by whatever name it calls."""
        raise NotImplementedError

    def prompt(self) -> str:
        """The system prompt, or what providers add to it."""
        raise NotImplementedError

    # -- boundaries -------------------------------------------------------------------------------

    def compress(self, messages: list[dict[str, Any]], compression_count: int) -> Compressed:
        """Compress: these are the messages that are about to be discarded."""
        raise NotImplementedError

    def switch(self, kind: SwitchKind, new_session_id: str) -> None:
        """
        Go on in another session, on the same instance of each provider, where the host does so.

        For `rewind` the id is that of the current session.
        """
        raise NotImplementedError

    def delegate(self, task: str, result: str, child_session_id: str) -> None:
        """A subagent was given `task` in a session of its own, and has answered."""
        raise NotImplementedError

    # -- at the operator's wish -------------------------------------------------------------------

    def backup_paths(self) -> list[str]:
        """The paths that a backup takes along for the providers; may come before `start`."""
        raise NotImplementedError

    def forget(self, scope: dict[str, Any]) -> None:
        """Have the providers remove what is stored in a scope."""
        raise NotImplementedError


#: Steps that every driver has.
NEEDED = ("register", "start", "exit")

#: All steps, in the order of the class.
STEPS = tuple(
    name
    for name, member in vars(HostDriver).items()
    if callable(member) and not name.startswith("_")
)


def has_step(driver: object, step: str) -> bool:
    """True if a driver has a step of its own: a member that is not the one of `HostDriver`."""
    member = getattr(type(driver), step, None) or getattr(driver, step, None)
    return callable(member) and member is not getattr(HostDriver, step)
