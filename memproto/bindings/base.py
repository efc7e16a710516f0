"""The type of a binding: all that a framework's way of calling a provider makes different."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Self

from memproto.operations import CORE_HOOKS, EXTENSION_HOOKS, OPERATIONS

#: The properties of a binding that a check may name as a condition.
Trait = Literal["can_declare", "own_homes", "may_lack_hooks", "ids_by_platform", "raw_messages"]

#: A name goes into reports, verdict lines and commands.
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")

#: A hook is an attribute, or a method of one; it goes into messages.
_HOOK = re.compile(r"[A-Za-z_]\w{0,63}(\.[A-Za-z_]\w{0,63}){0,3}", re.ASCII)

#: A title goes into sentences: "a Hermes provider cannot declare".
_TITLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}")

_VARIABLE = re.compile(r"([A-Z_][A-Z0-9_]{0,63})?", re.ASCII)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Binding:
    """
    One framework's way of calling a provider, as values and as a few methods.

    The values are plain data and travel between processes by `as_dict` and `from_dict`: a process
    that imports no code of strangers works with them alone. The methods run where the provider is.
    The defaults are those of the native binding. A subclass overrides methods and adds no field.

    Attributes:
        name: Its name in reports; small letters, digits, - and _.
        title: Its name in sentences.
        hooks: Operation to the hook that serves it; the native hook is meant where it has none.
        rules: The values of `binding` in the catalogue of requirements that include its providers.
        can_declare: True if a provider says by `capabilities()` what it does; else the settings
            `declares` and what the kit observes speak for it.
        config_keys: The keys that each configuration of a host holds.
        own_homes: True if a host gives each session a home of its own; else the process has one.
        home_variable: The environment variable that names the one home of the process, or "".
        may_lack_hooks: True if a host takes a provider that lacks hooks of the core.
        ids_by_platform: True if ids have the forms that chat platforms and the host give them; else
            a host may hand over any text.
        raw_messages: True if a host hands over messages with parts and tool calls as they are; else
            each is a role and plain text.
        carries_halves: True if half a surrogate pair reaches a provider as it is; else U+FFFD does.
        free_status: True if `status` may answer in any shape.
        checkpoint_raises: True if a checkpoint refuses messages by raising anything at all; else by
            the errors of `memproto.errors`.
        keeps_variables: True if a host keeps an answer that has a variable out of `save_config`.
        asks_afterwards: True if `post_setup` is a dialogue of the provider's own with the user.
        plugs_into_hermes: True if Hermes loads its providers as they are, so that there is nothing
            to export for it.
        host_files: Name to text of files that a host writes into a home; `{name}` is the provider.
        shared_files: Name to text of the files that others keep in the home beside the provider.
        host_driver: `module:attribute` of the driver that ships for the framework's host, or "".
        one_for_process: True if an application builds one instance for all sessions of its process,
            so that a built one can be judged.
        forgets: True if what an instance stores ends with it, so that the same one serves its
            process wherever that goes.
        out_of_reach: Requirements that the kit cannot exercise through the binding, and why.
        budgets_s: Operation to the seconds for which the framework's host waits for its hook,
            where that is not the specification's time.

    """

    name: str
    title: str
    hooks: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    rules: tuple[str, ...] = ("any",)
    can_declare: bool = True
    config_keys: tuple[str, ...] = ("home", "protocol", "deadlines", "limits", "platform")
    own_homes: bool = True
    home_variable: str = ""
    may_lack_hooks: bool = False
    ids_by_platform: bool = False
    raw_messages: bool = False
    carries_halves: bool = True
    free_status: bool = False
    checkpoint_raises: bool = False
    keeps_variables: bool = False
    asks_afterwards: bool = False
    plugs_into_hermes: bool = False
    host_files: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    shared_files: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    host_driver: str = ""
    one_for_process: bool = False
    forgets: bool = False
    out_of_reach: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    budgets_s: Mapping[str, float] = dataclasses.field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """
        Refuse values that messages, reports and commands could not show as they are.

        Raises:
            ValueError: One of them is out of its form; the message names it.

        """
        forms: list[tuple[re.Pattern[str], str, object]]
        forms = [(_NAME, "name", self.name), (_TITLE, "title", self.title)]
        forms += [(_VARIABLE, "home_variable", self.home_variable)]
        forms += [(_NAME, "rules", rule) for rule in self.rules]
        forms += [(_HOOK, f"hooks[{operation!r}]", hook) for operation, hook in self.hooks.items()]
        for form, key, value in forms:
            if not isinstance(value, str) or not form.fullmatch(value):
                shown = repr(value)[:80]
                raise ValueError(f"{key} of a binding is {shown}, not of the form {form.pattern}")
        for key in ("hooks", "budgets_s"):
            if unknown := sorted(set(getattr(self, key)) - set(OPERATIONS)):
                raise ValueError(
                    f"{key} of the binding {self.name} names no operation: {unknown}"[:200]
                )
        times: Mapping[str, object] = self.budgets_s
        for operation, time_s in times.items():
            if isinstance(time_s, bool) or not isinstance(time_s, int | float) or time_s <= 0:
                raise ValueError(f"budgets_s[{operation!r}] of the binding {self.name} is no time")

    # -- as data ----------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values, for a process that has no code of the binding."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """
        The values that `as_dict` gave; the methods are those of this class.

        Raises:
            ValueError: They are not values of a binding.

        """
        try:
            lists = {key: tuple(data[key]) for key in ("rules", "config_keys")}
            return cls(**{**data, **lists})
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"no values of a binding: {error}"[:200]) from None

    # -- hooks and words --------------------------------------------------------------------------

    def hook(self, operation: str) -> str:
        """The name of the hook that serves `operation`."""
        return self.hooks.get(operation) or OPERATIONS[operation].native

    def operations(self) -> dict[str, str]:
        """Hook to operation, the first one if one hook serves two; without `name`, no call."""
        found: dict[str, str] = {}
        for operation in OPERATIONS:
            if operation != "name" and (hook := self.hooks.get(operation)):
                found.setdefault(hook, operation)
        return found

    def is_one_hook(self, *operations: str) -> bool:
        """True if one hook serves all the operations."""
        return len({self.hook(operation) for operation in operations}) == 1

    def key(self, name: str) -> str:
        """The words of a message for the declaration `name`, by which its author declares it."""
        return f"`{name}` in {self.hook('declare')}()" if self.can_declare else f"`declares.{name}`"

    def includes(self, rule: str) -> bool:
        """True if a requirement whose `binding` is `rule` is about providers of this binding."""
        return rule in self.rules

    # -- where the provider is --------------------------------------------------------------------

    def recognises(self, found: Any) -> bool:
        """True if `found`, a class or an instance, is a provider; runs no property of it."""
        return False

    def defines(self, found: Any) -> bool:
        """True if `found`, which nobody named, is a whole provider by its own members."""
        return self.recognises(found)

    def adapt(self, provider: Any) -> Any:
        """The instance with the nine members of `MemoryProvider`."""
        return provider

    def author_object(self, provider: Any) -> Any:
        """The author's own instance out of what `adapt` gave; anything else as it is."""
        # Asking an object of the author's would run its code, so that its type is asked.
        is_adapter = type(provider).__module__.startswith("memproto.adapters.")
        return provider.wrapped if is_adapter else provider

    def extensions_shown(self, adapted: Any) -> list[str]:
        """The extensions that the hooks of an adapted provider show; nothing is called."""
        named = {name: {*hooks} - {*CORE_HOOKS} for name, hooks in EXTENSION_HOOKS.items()}
        return [name for name, hooks in named.items() if hooks and _has_all(adapted, hooks)]

    def is_checkpoint(self, adapted: Any) -> bool:
        """True if an adapted provider refuses messages by raising; see `checkpoint_raises`."""
        return False

    def takes_authors(self, adapted: Any) -> bool:
        """True if the hook of a plain turn of an adapted provider is told who wrote it."""
        return False

    def notes(self, provider: Any) -> tuple[str, ...]:
        """Notes for a reader on the way in which the author's instance was loaded."""
        return ()

    def where(self, provider: Any, operation: str) -> str:
        """The place of a hook for a reader, if there is no Python code behind it; else ""."""
        return ""

    def placed(self, target: str, directory: Path) -> str:
        """A target of the binding's kind with its path as seen from `directory`; others as is."""
        return target

    def builder(self, target: str) -> tuple[Callable[[], Any], str] | None:
        """
        The function that builds a provider of a target of the binding's own kind, and its place.

        None for a target of another kind. Runs nothing of the author's.

        Raises:
            KitUsageError: It is of that kind and names nothing.

        """
        return None

    def configure(self, provider: Any, config: Mapping[str, Any]) -> None:
        """Tell an instance that was built the operator's own keys of each config, ahead of one."""

    def meet(self, target: str, build: Callable[[], Any]) -> None:
        """
        See once, before anything is judged, that an instance can be reached at all.

        Raises:
            KitUsageError: It cannot; the message names the target, the fault and the fix.

        """

    def connect(self, provider: Any, inspect: Callable[[Any, str], str]) -> None:
        """
        Connect an instance that was built to its provider, if that is elsewhere.

        `inspect` says of a message of the provider, and the method that it answers, why it does not
        fit its schema; "" if it fits.
        """

    def look(self, provider: Any) -> None:
        """See what an instance has, if its host has to start for that: no hook bounds it."""

    # -- where the framework is -------------------------------------------------------------------

    def actions_told(self) -> tuple[str, ...]:
        """The actions of a mirrored write of which the host tells all that there is to tell."""
        return ("add", "replace", "remove")

    def host(self) -> str:
        """The framework's host whose calls are made, with its release; "" where it has none."""
        return ""

    def import_ahead(self, target: str) -> None:
        """Import what the framework's host has imported before it loads a provider."""

    def furnish(self) -> None:
        """Have the framework's host make what it keeps in every home."""


def by_requirement(*reasons: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Requirement to the reason why it is out of reach, of tables of reason to requirements."""
    return {name: why for table in reasons for why, names in table.items() for name in names}


def _has_all(provider: Any, hooks: set[str]) -> bool:
    return all(callable(getattr(provider, hook, None)) for hook in hooks)
