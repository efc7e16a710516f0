"""Facts about the run that the parent tells a child, and the number of examples of each profile."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from memproto.testing import needs
from memproto.testing.clauses import Untestable

#: Number of generated examples that a check draws in each profile.
EXAMPLES = {"quick": 10, "ci": 50, "deep": 500}


@dataclasses.dataclass(frozen=True)
class Context:
    """
    Facts about the run that the parent tells a child; plain JSON values.

    Attributes:
        seed: Of facts and of generated texts.
        profile: quick, ci or deep.
        scale: Factor on every budget.
        slowdown: Further factor on the waits for what is to happen; the machine's, at the start.
        config: The settings' `config`, merged into what initialize gets.
        secrets: Variables and keys of the config that are credentials, whatever their names.
        capabilities: The provider's declarations at first contact.
        routes: Route to "declared", "observed", "absent" or "unknown".
        asking: In which of the ways of `facts.WAYS` recall is asked; "" while that is not known.
        manner: Manner in which a selective provider is told facts, as `selecting.Manner`, or {}.
        logged: To be said where nothing came back: what was logged last by then, or "".
        deaths: Operation to the number of hangs and deaths so far.
        stuck: Operations whose hook hung in this run while the kit made the backend fail.
        patient: True if a hook that hung before gets its whole time again.
        declares: Declarations of the settings for a provider that cannot.
        caches: Directories that all checks share, by the settings.
        backend: Place of the backend's address: ["env", variable] or ["config", path of
            keys]; None where the settings do not say.
        configured: True if the settings give the provider anything that it may need.
        no_session: Why none can be opened, where checks run that need none; else "".
        no_session_needs: Needs that would let one be opened, as `Need.as_dict` gives them.
        calls_left: Number of hook calls that the settings still allow, or None for any number.
        part: Number of the part of the check that is made, from 0 on, and number of the parts.
        grows: True if long texts are made of more and more characters, the longest last: a hook
            hung with one of them, and less may be enough for it.

    """

    seed: int = 0
    profile: str = "quick"
    scale: float = 1.0
    slowdown: float = 1.0
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    secrets: list[str] = dataclasses.field(default_factory=list)
    capabilities: dict[str, Any] = dataclasses.field(default_factory=dict)
    routes: dict[str, str] = dataclasses.field(default_factory=dict)
    asking: str = ""
    manner: dict[str, Any] = dataclasses.field(default_factory=dict)
    logged: str = ""
    deaths: dict[str, int] = dataclasses.field(default_factory=dict)
    stuck: Sequence[str] = ()
    patient: bool = False
    declares: dict[str, Any] = dataclasses.field(default_factory=dict)
    caches: list[str] = dataclasses.field(default_factory=list)
    backend: Sequence[str] | None = None
    configured: bool = False
    no_session: str = ""
    no_session_needs: tuple[dict[str, Any], ...] = ()
    calls_left: int | None = None
    part: Sequence[int] = (0, 1)
    grows: bool = False

    def without_session(self) -> Untestable:
        """The error of a check that would need a session."""
        return Untestable(self.no_session, tuple(map(needs.from_dict, self.no_session_needs)))
