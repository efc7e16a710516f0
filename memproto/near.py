"""The known name that is nearest to one that was typed."""

from collections.abc import Iterable


def nearest(typed: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The known name that is most like `typed`, 1.0 being the same; "" if none is so near."""
    # Only somebody who mistyped a name waits for it.
    import difflib

    found = difflib.get_close_matches(typed, list(known), n=1, cutoff=cutoff)
    return found[0] if found else ""


def meant(typed: str, known: Iterable[str], otherwise: str, cutoff: float = 0.6) -> str:
    """The advice for a name that is not known: the nearest one, or `otherwise`."""
    name = nearest(typed, known, cutoff)
    return f"did you mean {name!r}?" if name else otherwise
