"""
The conditions under which a requirement concerns a provider, as data on its check.

Each says by what is known of the provider why the requirement does not concern it. The same data
decides before a process is started, by the declarations alone, and in the process of the check,
and `memproto explain` shows it.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from memproto.bindings import Binding, Trait
from memproto.operations import OPERATIONS

#: The traits of bindings, as a requirement speaks of them.
_TRAITS: dict[Trait, str] = {
    "can_declare": "in which a provider can declare",
    "own_homes": "in which each instance has a home of its own",
    "may_lack_hooks": "in which hooks may be missing",
    "ids_by_platform": "in which ids are those of platforms",
    "raw_messages": "in which messages arrive as the conversation has them",
}


class Known(Protocol):
    """The things known of a provider: a `Run` knows all of it, first contact a part."""

    @property
    def binding(self) -> Binding | None:
        """The binding of the provider."""

    @property
    def declares(self) -> Mapping[str, Any]:
        """The declarations in the settings for a provider that cannot."""

    def declared(self, key: str, default: Any) -> Any:
        """The value declared under `key`, or the specification's default."""

    def lacks(self, operation: str) -> bool | None:
        """True if the provider has no hook for `operation`; None if that is not known yet."""


@dataclasses.dataclass(frozen=True)
class Condition:
    """One condition; `kind` names it in the JSON form."""

    kind: ClassVar[str] = ""

    def unmet(self, known: Known) -> str:
        """Why the requirement does not concern the provider; "" if nothing known says so."""
        raise NotImplementedError

    def is_decided(self, known: Known) -> bool:
        """True if the things known decide the condition; else those behind it have to wait."""
        return True

    @property
    def words(self) -> str:
        """The condition for a reader, without a full stop."""
        raise NotImplementedError

    @property
    def sentence(self) -> str:
        """The sentence of the catalogue that limits the requirement to such providers."""
        return f"It concerns {self._whom()}."

    def _whom(self) -> str:
        """The providers that meet the condition."""
        raise NotImplementedError

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values: the kind, and the fields without the words of a reason."""
        fields = dataclasses.asdict(self)
        fields.pop("otherwise", None)
        return {"kind": self.kind, **fields}


@dataclasses.dataclass(frozen=True)
class Extension(Condition):
    """The provider declares an extension, or its hooks show it if it cannot declare."""

    kind: ClassVar[str] = "extension"
    name: str

    def unmet(self, known: Known) -> str:
        """As in `Condition.unmet`."""
        if self.name in _items(known.declared("extensions", [])):
            return ""
        hooks = " or ".join(row.native for row in OPERATIONS.values() if row.extension == self.name)
        return f"the extension `{self.name}` is not served ({hooks or 'declared only'})"

    @property
    def words(self) -> str:
        """As in `Condition.words`."""
        return f"the extension `{self.name}`"

    def _whom(self) -> str:
        return f"providers that serve the extension `{self.name}`"


@dataclasses.dataclass(frozen=True)
class ExtensionHook(Extension):
    """As `Extension`, or the provider has the hook of `operation` and not that of `other`."""

    kind: ClassVar[str] = "extension hook"
    operation: str
    other: str

    def unmet(self, known: Known) -> str:
        """As in `Condition.unmet`."""
        if known.lacks(self.operation) is True or known.lacks(self.other) is False:
            return super().unmet(known)
        return ""

    def is_decided(self, known: Known) -> bool:
        """As in `Condition.is_decided`."""
        return known.lacks(self.operation) is not None

    @property
    def words(self) -> str:
        """As in `Condition.words`."""
        hook = OPERATIONS[self.operation].native
        return f"the extension `{self.name}`, or {hook} alone of its hooks"

    def _whom(self) -> str:
        hook = OPERATIONS[self.operation].native
        return f"{super()._whom()}, or that have `{hook}` alone of its hooks"


@dataclasses.dataclass(frozen=True)
class ExtensionOrHook(Extension):
    """As `Extension` if the provider can declare; else it has the hook of `operation`."""

    kind: ClassVar[str] = "extension or hook"
    operation: str

    def unmet(self, known: Known) -> str:
        """As in `Condition.unmet`."""
        if known.binding is None or known.binding.can_declare:
            return super().unmet(known)
        return Hook(self.operation).unmet(known)

    def is_decided(self, known: Known) -> bool:
        """As in `Condition.is_decided`."""
        if known.binding is not None and known.binding.can_declare:
            return True
        return known.lacks(self.operation) is not None

    @property
    def words(self) -> str:
        """As in `Condition.words`."""
        hook = OPERATIONS[self.operation].native
        return f"the extension `{self.name}`, or {hook} of a provider that cannot declare"

    def _whom(self) -> str:
        hook = OPERATIONS[self.operation].native
        return f"{super()._whom()}, and those that cannot declare and have `{hook}`"


@dataclasses.dataclass(frozen=True)
class Hook(Condition):
    """The provider has the hook of an operation."""

    kind: ClassVar[str] = "hook"
    operation: str

    def unmet(self, known: Known) -> str:
        """As in `Condition.unmet`."""
        if known.binding is None or known.lacks(self.operation) is not True:
            return ""
        return f"the provider has no {known.binding.hook(self.operation)} of its own"

    def is_decided(self, known: Known) -> bool:
        """As in `Condition.is_decided`."""
        return known.lacks(self.operation) is not None

    @property
    def words(self) -> str:
        """As in `Condition.words`."""
        return f"the hook {OPERATIONS[self.operation].native}"

    def _whom(self) -> str:
        return f"providers that have the hook `{OPERATIONS[self.operation].native}`"


@dataclasses.dataclass(frozen=True)
class Declared(Condition):
    """
    A declaration has one of some values, or none of some.

    Attributes:
        key: The key of `capabilities()`, or of the setting `declares`.
        default: The value if it is not declared.
        any_of: The values that meet the condition; empty for all but `none_of`.
        none_of: The values that do not.
        otherwise: The reason for another value, which stands for `{value}` in it.

    A declaration that is a list meets the condition by its items.
    """

    kind: ClassVar[str] = "declared"
    key: str
    default: Any
    any_of: tuple[Any, ...] = ()
    none_of: tuple[Any, ...] = ()
    otherwise: str = ""

    def unmet(self, known: Known) -> str:
        """As in `Condition.unmet`."""
        value = known.declared(self.key, self.default)
        held = _items(value)
        is_met = not self.any_of or any(item in self.any_of for item in held)
        if is_met and not any(item in self.none_of for item in held):
            return ""
        return self.otherwise.replace("{value}", str(value))

    @property
    def words(self) -> str:
        """As in `Condition.words`."""
        named = " or ".join(map(_shown, self.any_of or self.none_of))
        return f"`{self.key}`: {named}" if self.any_of else f"`{self.key}` without {named}"

    def _whom(self) -> str:
        named = " or ".join(f"`{_shown(item)}`" for item in self.any_of or self.none_of)
        if isinstance(self.default, list):
            verb = "name" if self.any_of else "do not name"
            return f"providers that {verb} {named} in `{self.key}`"
        is_default = self.default in self.any_of
        also = ", which holds too where nothing is declared" if is_default else ""
        verb = "declare" if self.any_of else "do not declare"
        return f"providers that {verb} `{self.key}` as {named}{also}"


@dataclasses.dataclass(frozen=True)
class DeclaredFor(Condition):
    """If the provider cannot declare, the settings declare `value` under `key` for it."""

    kind: ClassVar[str] = "declared for"
    key: str
    value: str = ""
    otherwise: str = ""

    def unmet(self, known: Known) -> str:
        """As in `Condition.unmet`."""
        binding = known.binding
        if binding is None or binding.can_declare:
            return ""
        is_there = self.key in known.declares
        if is_there and (not self.value or self.value in known.declares[self.key]):
            return ""
        return self.otherwise.replace("{title}", binding.title)

    @property
    def words(self) -> str:
        """As in `Condition.words`."""
        value = f"{self.value} in " if self.value else ""
        return f"{value}`declares.{self.key}` of a provider that cannot declare"

    def _whom(self) -> str:
        named = f"`{self.value}` in `{self.key}`" if self.value else f"`{self.key}`"
        return f"of the providers that cannot declare, those for which {named} is declared"


@dataclasses.dataclass(frozen=True)
class BindingHas(Condition):
    """The binding of the provider has a trait."""

    kind: ClassVar[str] = "binding"
    trait: Trait
    otherwise: str = ""

    def unmet(self, known: Known) -> str:
        """As in `Condition.unmet`."""
        if known.binding is None or getattr(known.binding, self.trait):
            return ""
        return self.otherwise.replace("{binding}", known.binding.name)

    @property
    def words(self) -> str:
        """As in `Condition.words`."""
        return f"a binding with `{self.trait}`"

    def _whom(self) -> str:
        return f"providers of a binding {_TRAITS[self.trait]}"


@dataclasses.dataclass(frozen=True)
class Stores(Condition):
    """
    A text that is stored through one of the routes comes back.

    If nothing was declared, only a run finds that out; see `Run.needs_route`.
    """

    kind: ClassVar[str] = "stores"
    any_of: tuple[str, ...]

    def unmet(self, known: Known) -> str:
        """As in `Condition.unmet`."""
        stores = known.declared("stores", None)
        binding = known.binding
        if binding is None or not binding.can_declare or binding.may_lack_hooks:
            return ""
        if not isinstance(stores, list) or any(route in stores for route in self.any_of):
            return ""
        if "writes" in self.any_of and known.declared("mirrors", None) is not None:
            # A replace may bring a text in, whatever `stores` says; only a run can try that.
            return ""
        return f"the provider does not declare that it stores {' or '.join(self.any_of)}"

    @property
    def words(self) -> str:
        """As in `Condition.words`."""
        return f"a text that is stored through {' or '.join(self.any_of)} and comes back"

    def _whom(self) -> str:
        return f"providers that store text by one of the routes: {', '.join(self.any_of)}"


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


#: Recall answers the question that is asked, so that a missing answer is a fault.
RECALL_BY_QUERY = (
    DeclaredFor(
        "recall_basis",
        otherwise="`declares.recall_basis` does not say that recall goes by the query",
    ),
    Declared(
        "recall_basis",
        "query",
        any_of=("query",),
        otherwise="recall_basis is {value}: answers do not depend on the question",
    ),
)
