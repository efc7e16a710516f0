"""The words for the needs of an open result: nothing reads them, the data stands beside them."""

import itertools
from collections.abc import Iterable

from memproto.testing import needs as data
from memproto.testing.needs import Need
from memproto.testing.outcomes import Outcome, Result


def reason(result: Result) -> str:
    """Why a result is open, with the requirements to look at and what would open it."""
    return told(result.reason, result.needs)


def told(text: str, needs: tuple[Need, ...]) -> str:
    """A reason with its needs; one that says by itself which rule stands before is not repeated."""
    see = [need for need in needs if isinstance(need, data.DependsOn)]
    names = [need.requirement for need in see if not need.state]
    others = [need for need in needs if not isinstance(need, data.DependsOn)]
    parts = [text] if text else []
    parts += [f"see {_listed(names, 'and')}"] if names else []
    parts += [f"needs: {words(others)}"] if others else []
    return "; ".join(parts)


def words(needs: Iterable[Need]) -> str:
    """Needs of which any may do, as in "the settings `config`, `env` or `service`"."""
    kinds = itertools.groupby(needs, _shape)
    parts = [_together(list(found)) for _, found in kinds]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, or {parts[-1]}"


def wanted(outcome: str, needs: tuple[Need, ...]) -> str:
    """The need of an open result in a count: `need: backend`, `behind MP-SHUT-001`, ..."""
    if rule := data.behind(needs):
        return f"behind {rule}"
    if names := data.settings(needs):
        return f"need: {' or '.join(names)}"
    others = [need for need in needs if not isinstance(need, data.DependsOn)]
    if others:
        return f"need: {words(others)}"
    return outcome if outcome == Outcome.INCONCLUSIVE else "untestable"


def _shape(need: Need) -> object:
    """Settings of one shape are told together."""
    if isinstance(need, data.Setting) and not need.value:
        return (need.that, need.where)
    return need


def _together(needs: list[Need]) -> str:
    first = needs[0]
    if not isinstance(first, data.Setting) or first.value:
        return _one(first)
    names = [f"`{need.name}`" for need in needs if isinstance(need, data.Setting)]
    if first.that:
        return f"a {_listed(names, 'or')} {first.that}"
    if first.where:
        return f"{_listed(names, 'or')} where {first.where}"
    return f"the setting{'' if len(names) == 1 else 's'} {_listed(names, 'or')}"


def _one(need: Need) -> str:
    match need:
        case data.Setting(name, value=value):
            return f"the setting `{name} = {value}`"
        case data.Declaration(key, hook):
            return f"`{key}` in {hook}()"
        case data.Install(distribution, options):
            return f"`pip install {options and options + ' '}{distribution}`"
        case data.Machine(what):
            return what
        case data.Backend():
            names = [f"`{name}`" for name in data.BACKEND_SETTINGS]
            return f"a backend there, by {_listed(names, 'or')}"
        case data.Driver(part, what):
            return f"{what} `{part}`"
    raise TypeError(need)


def _listed(items: list[str], joined: str) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {joined} {items[-1]}"
