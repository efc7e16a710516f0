"""The requirements that do not concern a provider by its declarations: no process is started."""

import dataclasses
from typing import Any

from memproto.bindings import Binding
from memproto.testing.clauses import Check
from memproto.testing.settings.order import Contact, Order


@dataclasses.dataclass(frozen=True)
class Declarations:
    """The part of a provider that first contact and the settings tell; see `conditions.Known`."""

    binding: Binding | None
    capabilities: dict[str, Any]
    declares: dict[str, Any]

    def declared(self, key: str, default: Any) -> Any:
        """The provider's declaration under `key`, or the specification's default."""
        return self.capabilities.get(key, default)

    def lacks(self, operation: str) -> bool | None:
        """False for a binding whose providers have every hook; None if only a process can tell."""
        binding = self.binding
        if binding is None or binding.may_lack_hooks or not binding.can_declare:
            return None
        return False


def unmet(check: Check, order: Order, contact: Contact) -> str:
    """Why a check does not concern the provider; "" if the check has to run."""
    known = Declarations(contact.binding, contact.capabilities, order.settings.declares)
    return check.unmet(known)
