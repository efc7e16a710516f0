"""Values of honcho.json; one that cannot be read is named with its fault and its fix."""

import dataclasses
import reprlib
from collections.abc import Mapping
from typing import Any

from memproto.errors import Misconfigured
from memproto.reference_providers import reading

#: Amounts of thought that an answer of the server may cost, the least first.
LEVELS = ("minimal", "low", "medium", "high", "max")

_MODES = ("hybrid", "honcho")
_ALIASES = {"shared": "unified", "separate": "directional", "cross": "directional"}


@dataclasses.dataclass(frozen=True, slots=True)
class Observation:
    """Directions of learning between the two: flags of the user's peer and of the assistant's."""

    user_me: bool = True
    user_others: bool = True
    ai_me: bool = True
    ai_others: bool = True


_OBSERVES = {"directional": Observation(), "unified": Observation(True, False, False, True)}


def text(raw: Mapping[str, Any], key: str) -> str:
    """A text, "" where there is none."""
    value = raw.get(key)
    if value is None or isinstance(value, str):
        return (value or "").strip()
    raise _wrong(key, value, "a text")


def texts(raw: Mapping[str, Any], key: str) -> dict[str, str]:
    """A table of texts."""
    value = raw.get(key) or {}
    if isinstance(value, Mapping) and all(isinstance(item, str) for item in value.values()):
        return {str(name): item for name, item in value.items()}
    raise _wrong(key, value, "an object of texts")


def flag(raw: Mapping[str, Any], key: str, default: bool) -> bool:
    """True or false."""
    value = raw.get(key, default)
    if isinstance(value, bool):
        return value
    raise _wrong(key, value, "true or false")


def count(raw: Mapping[str, Any], key: str, default: int | None) -> Any:
    """A number from 1 on."""
    value = raw.get(key)
    if value is None:
        return default
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise _wrong(key, value, "a number from 1 on")


def choice(
    raw: Mapping[str, Any], key: str, known: tuple[str, ...], default: str | None = None
) -> str:
    """One of the known values."""
    value = raw.get(key, default or known[0])
    if value in known:
        return str(value)
    raise _wrong(key, value, f"one of {', '.join(known)}")


def levels(value: Any) -> tuple[str, ...]:
    """The levels of the passes of a dialectic."""
    if value is None:
        return ()
    if isinstance(value, list) and all(item in LEVELS for item in value):
        return tuple(value)
    raise _wrong("dialecticDepthLevels", value, f"a list of {', '.join(LEVELS)}")


def modes(value: Any, user: str, ai: str) -> dict[str, str]:
    """For the targets `user` and `memory` their mode; an object names peers, and `default`."""
    if value is None or isinstance(value, str):
        return {"user": _mode(value or "hybrid"), "memory": _mode(value or "hybrid")}
    if not isinstance(value, Mapping):
        raise _wrong("memoryMode", value, f"one of {', '.join(_MODES)}, or an object of them")
    default = value.get("default", "hybrid")
    return {
        "user": _mode(_first(value, (user, "user"), default)),
        "memory": _mode(_first(value, (ai, "ai", "hermes", "assistant"), default)),
    }


def _first(value: Mapping[str, Any], keys: tuple[str, ...], default: Any) -> Any:
    return next((value[key] for key in keys if key in value), default)


def _mode(value: Any) -> str:
    if value in _MODES:
        return str(value)
    raise _wrong("memoryMode", value, f"one of {', '.join(_MODES)}")


def flags_of(raw: Mapping[str, Any]) -> Observation:
    """
    The observer and the observed: single flags before a mode, a mode before the usual.

    The usual is `unified` for a host that was set up before there were modes, as its own block or
    `enabled` show; else `directional`.
    """
    mode = raw.get("observationMode")
    mode = _ALIASES.get(mode, mode) if isinstance(mode, str) else mode
    was_set_up = "x_block" in raw or "enabled" in raw
    usual = "unified" if was_set_up else "directional"
    if mode is not None and (not isinstance(mode, str) or mode not in _OBSERVES):
        raise _wrong("observationMode", mode, f"one of {', '.join(_OBSERVES)}")
    given = reading.table(raw.get("observation"))
    peers = {peer: reading.table(given.get(peer)) for peer in ("user", "ai")}
    found = {
        f"{peer}_{short}": flag(told, key, getattr(whole, f"{peer}_{short}"))
        for whole in [_OBSERVES[mode or usual]]
        for peer, told in peers.items()
        for short, key in (("me", "observeMe"), ("others", "observeOthers"))
    }
    return Observation(**found)


def _wrong(key: str, value: object, expected: str) -> Misconfigured:
    fix = "correct it in honcho.json, or leave it out"
    return Misconfigured(f"{key} is {reprlib.repr(value)}, and not {expected}; fix: {fix}")
