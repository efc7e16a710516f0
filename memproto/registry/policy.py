"""The operator's rules and the host's words about itself, fixed when a registry is made."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from memproto.errors import SecondExternalProvider
from memproto.operations import CORE_HOOKS, EXTENSION_HOOKS


class _Labelled(Protocol):
    @property
    def label(self) -> str: ...


_AnyLabelled = TypeVar("_AnyLabelled", bound=_Labelled)

#: Hooks that a registry calls by itself, whatever the host does.
_OWN_HOOKS = (*CORE_HOOKS, "get_tool_schemas", "queue_prefetch", "on_session_end")


@dataclasses.dataclass(frozen=True, slots=True)
class Policy:
    """
    The rules of one registry beside its deadlines and limits.

    Attributes:
        reserved_tools: Names of the host's own tools; no provider's tool is offered by one.
        allows_tool: Asked with the provider's and the tool's name, at each offer and at each
            call; unless it answers True, the tool is neither offered nor callable, and an
            exception is no True. None allows all.
        single_external: True if one provider beside the builtin one is the most.
        builtin: The name of the provider that stands first, wherever it was registered.
        contexts: The values of `agent_context` in which write hooks are called.
        drives: The extensions whose methods of the registry the host calls; published to
            providers as `protocol.hooks`, since some leave out of a recall what stands in the
            prompt.

    """

    reserved_tools: frozenset[str] = frozenset()
    allows_tool: Callable[[str, str], bool] | None = None
    single_external: bool = False
    builtin: str = "builtin"
    contexts: tuple[str, ...] = ("primary",)
    drives: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.drives).difference(EXTENSION_HOOKS)):
            raise ValueError(f"`drives` names no extension: {', '.join(unknown)}")

    def hooks(self) -> list[str]:
        """The native names of the hooks that the host calls, in the order of the table."""
        driven = [
            hook for name, hooks in EXTENSION_HOOKS.items() if name in self.drives for hook in hooks
        ]
        return list(dict.fromkeys([*_OWN_HOOKS, *driven]))

    def check_place(self, label: str, registered: Iterable[str]) -> None:
        """
        Let a provider of this name join those that are registered.

        Raises:
            SecondExternalProvider: It may not.

        """
        external = [name for name in registered if name != self.builtin]
        if self.single_external and external and label != self.builtin:
            raise SecondExternalProvider(
                f"{label!r} came after {external[0]!r}, and the policy allows one"
            )

    def in_order(self, lanes: Iterable[_AnyLabelled]) -> tuple[_AnyLabelled, ...]:
        """Returns `lanes` with the builtin provider first, the others as they were."""
        return tuple(sorted(lanes, key=lambda lane: lane.label != self.builtin))

    def calls_writes(self, config: Mapping[str, Any]) -> bool:
        """True if write hooks are called in the context of this session."""
        protocol = config.get("protocol")
        given = protocol.get("contexts") if isinstance(protocol, Mapping) else None
        contexts = given if isinstance(given, list | tuple) else self.contexts
        return config.get("agent_context", "primary") in contexts
