"""
Skips checks that the declarations rule out, before a process and its places are made for them.

A check that does not concern a provider says so with its first lines, from what was declared at
first contact. Here they run on a stand-in that knows no more than that; where they ask for more,
nothing is foreseen, and the check runs where a provider is.

So it is for rules of an extension, whose checks first ask for that. Others may begin with what
their process alone is for: to start a thread, to change the time zone, to look at its state.
"""

from typing import Any, NoReturn

from memproto.bindings import Binding
from memproto.testing.clauses import Check, NotApplicable
from memproto.testing.outcomes import Outcome, Result
from memproto.testing.settings.order import Contact, Order


class _AskedForMore(BaseException):
    """A check went on to what only a process with the provider knows; no check catches it."""


class _Known:
    """The values that were given; everything else is more than is known."""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)

    def __getattr__(self, name: str) -> NoReturn:
        raise _AskedForMore(name)


class _Declared(_Known):
    """The part of a `Run` that first contact has found out."""

    binding: Binding | None
    capabilities: dict[str, Any]

    def declared(self, key: str, default: Any) -> Any:
        """The provider's declaration under `key`, or the specification's default."""
        return self.capabilities.get(key, default)

    def lacks(self, operation: str) -> bool:
        """True if the provider has no hook of that name; one that declares has them all."""
        binding = self.binding
        if binding is None or binding.may_lack_hooks or not binding.can_declare:
            raise _AskedForMore(operation)
        return False


def not_applicable(check: Check, order: Order, contact: Contact) -> Result | None:
    """The result of a check that does not concern the provider; None where it has to be run."""
    context = _Known(capabilities=contact.capabilities, declares=order.settings.declares)
    known = {"binding": contact.binding, "capabilities": contact.capabilities}
    try:
        check.function(_Declared(context=context, **known))
    except NotApplicable as found:
        return Result(check.requirement, Outcome.NOT_APPLICABLE, reason=str(found))
    except (Exception, _AskedForMore):
        # Its words on this process, its locale for one, are nothing about the provider.
        return None
    return None
