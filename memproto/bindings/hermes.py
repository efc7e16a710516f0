"""The binding of Hermes Agent: its hooks, what its host does, and how its providers are found."""

from typing import Any

from memproto.adapters.hermes_base import HOOKS
from memproto.bindings.base import Binding


class _Hermes(Binding):
    """Providers of Hermes Agent, by their shape; the framework need not be installed."""

    def recognises(self, found: Any) -> bool:
        from memproto.adapters.hermes import is_hermes

        return is_hermes(found)

    def adapt(self, provider: Any) -> Any:
        from memproto.adapters.hermes import from_hermes
        from memproto.bindings import hermes_agent

        return from_hermes(provider, release=hermes_agent.release())

    def extensions_shown(self, adapted: Any) -> list[str]:
        from memproto.adapters.hermes import extensions_shown

        return extensions_shown(adapted.wrapped, adapted.release)

    def is_checkpoint(self, adapted: Any) -> bool:
        from memproto.adapters.hermes_hooks import is_checkpoint

        return is_checkpoint(adapted.wrapped, adapted.release)

    def takes_authors(self, adapted: Any) -> bool:
        return bool(adapted.takes_authors)

    def notes(self, provider: Any) -> tuple[str, ...]:
        from memproto.bindings import hermes_agent

        return hermes_agent.notes(provider)

    def actions_told(self) -> tuple[str, ...]:
        from memproto.bindings import hermes_agent

        told = super().actions_told()
        # A replacement without the text that is replaced can only be added.
        return told if hermes_agent.release().mirrors_removals else told[:1]

    def host(self) -> str:
        from memproto.bindings import hermes_agent

        return hermes_agent.host()

    def import_ahead(self, target: str) -> None:
        from memproto.bindings import hermes_agent

        hermes_agent.import_ahead(target)

    def furnish(self) -> None:
        from memproto.bindings import hermes_agent

        hermes_agent.furnish()


HERMES = _Hermes(
    name="hermes",
    title="Hermes",
    hooks=HOOKS,
    rules=("any", "hermes"),
    can_declare=False,
    config_keys=(),
    own_homes=False,
    home_variable="HERMES_HOME",
    may_lack_hooks=True,
    ids_by_platform=True,
    raw_messages=True,
    free_status=True,
    checkpoint_raises=True,
    keeps_variables=True,
    asks_afterwards=True,
    plugs_into_hermes=True,
    host_files={"config.yaml": "memory:\n  provider: {name}\n"},
    shared_files={
        "config.yaml": "display:\n  skin: velorica\n",
        ".env": "VELORICA_KEY=marrowgate\n",
    },
    host_driver="memproto.testing.host.hermes:Driver",
)
