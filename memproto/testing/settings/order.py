"""The order to a judge, and the findings of first contact with a target."""

import dataclasses
from pathlib import Path
from typing import Any

from memproto import bindings, spec
from memproto.bindings import Binding
from memproto.testing import needs
from memproto.testing.needs import Need
from memproto.testing.outcomes import Result
from memproto.testing.settings.settings import Settings
from memproto.testing.settings.waivers import Book
from memproto.types import SPEC_VERSION


@dataclasses.dataclass(frozen=True)
class Order:
    """
    The user's wishes for one target.

    Attributes:
        target: As it was typed.
        side: provider or host.
        settings: See `Settings`.
        profile: quick, ci or deep.
        seed: Of everything drawn.
        directory: From where the kit was called.
        scale: Factor on every budget.
        slowdown: Further factor on the waits for what is to happen; the machine's, at the start.
        workers: Number of processes that share what may be used up once, as calls that cost money.
        replay: The directory for scripts that make a failure's calls again, as typed; "" for none.
        waivers: The requirements that may fail for now.
        release: The release of the specification that is scored by.
        hermes: The release of Hermes Agent whose calls are made; "" if the user chose none.

    """

    target: str
    side: spec.Side = "provider"
    settings: Settings = dataclasses.field(default_factory=Settings)
    profile: str = "quick"
    seed: int = 0
    directory: Path = dataclasses.field(default_factory=Path.cwd)
    scale: float = 1.0
    slowdown: float = 1.0
    workers: int = 1
    replay: str = ""
    waivers: Book = dataclasses.field(default_factory=Book)
    release: str = SPEC_VERSION
    hermes: str = ""


@dataclasses.dataclass
class Pace:
    """
    The times that a target took at first contact.

    Attributes:
        hooks: For each operation [calls, longest in seconds, all together in seconds].
        hooks_s: Seconds that those of them took for which processor time was measured.
        computed_s: Processor seconds of the process meanwhile, and of those that it started and
            that have ended.
        loaded_s: Seconds that loading the target took.
        held_mb: Megabytes that its process had for itself after the survey.

    """

    hooks: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    hooks_s: float = 0.0
    computed_s: float = 0.0
    loaded_s: float = 0.0
    held_mb: float = 0.0


@dataclasses.dataclass
class Contact:
    """
    The findings of first contact; plain values, so that they travel to other workers.

    Attributes:
        binding: The binding of the provider, or None before it is known.
        origin: The place where the target was found.
        results: Those of the gates, and of what was met on the way.
        blocked: Why nothing else can be tested, or "".
        blocked_needs: Needs that would let it be tested.
        sessionless: True if that is because no session begins, while instances can be built.
        capabilities: The declarations of the provider.
        routes: Route to declared, observed or absent; a missing one is not known.
        asking: In which of the ways of `facts.WAYS` recall is asked; "" while that is not known.
        manner: Manner in which a selective provider is told facts, as `selecting.Manner`, or {}.
        logged: To be said where nothing came back: what was logged last by then, or "".
        deaths: Operation to the number of its hangs and deaths; "" stands for between two hooks,
            where one that is stuck counts for several; see `incidents.cost`.
        spent: Number of hook calls that were made, if the settings set a limit.
        unconfined: Why children are not confined, or "".
        outward: Each address outside of the machine that the target asked for, and who asked.
        service: Values that the setting `service` yielded: env, config and its pid; {} for none.
        secrets: Variables and keys of the config that the provider's config schema calls secret.
        pace: The times of its hooks.

    """

    binding: Binding | None = None
    origin: str = ""
    results: list[Result] = dataclasses.field(default_factory=list)
    blocked: str = ""
    blocked_needs: tuple[Need, ...] = ()
    sessionless: bool = False
    capabilities: dict[str, Any] = dataclasses.field(default_factory=dict)
    routes: dict[str, str] = dataclasses.field(default_factory=dict)
    asking: str = ""
    manner: dict[str, Any] = dataclasses.field(default_factory=dict)
    logged: str = ""
    deaths: dict[str, int] = dataclasses.field(default_factory=dict)
    spent: int = 0
    unconfined: str = ""
    outward: dict[str, str] = dataclasses.field(default_factory=dict)
    service: dict[str, Any] = dataclasses.field(default_factory=dict)
    secrets: list[str] = dataclasses.field(default_factory=list)
    pace: Pace = dataclasses.field(default_factory=Pace)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        plain = dataclasses.asdict(self)
        binding = self.binding and self.binding.as_dict()
        results = [result.as_dict() for result in self.results]
        blocked = [need.as_dict() for need in self.blocked_needs]
        return {**plain, "binding": binding, "results": results, "blocked_needs": blocked}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Contact":
        """The value that `as_dict` gave."""
        binding = data["binding"] and bindings.told(data["binding"])
        results = [Result.from_dict(item) for item in data["results"]]
        blocked = tuple(map(needs.from_dict, data["blocked_needs"]))
        pace = Pace(**data["pace"])
        known = {"binding": binding, "results": results, "blocked_needs": blocked, "pace": pace}
        return cls(**{**data, **known})
