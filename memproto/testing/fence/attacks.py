"""
A grammar of attacks on the fence: a delimiter, in up to three disguises, somewhere in plain text.

`attacks` is the Hypothesis strategy; `attack` draws one from a `Random`, for long searches.
"""

import dataclasses
import random
from typing import TYPE_CHECKING

from memproto.testing.fence.disguises import BLOCK, DISGUISES, TARGETS, WIDE_DISGUISES

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_WORDS = (
    "The ferry leaves at six.",
    "User likes green tea & milk",
    "see [1] for a < b",
    "caf\u00e9 \u4f60\u597d",
    "x",
)
_PIECES = (
    *("<", ">", "/", "[", "]", "#", "###", " ", "\n", "-", "_", "|", "&", "%", "\\", ";", ":"),
    *("memory", "mem", "ory", "context", "text", "System", "note", "system note", "x", "\u200b"),
    *("&lt;", "%3c", "\\u003c", "\u202e", "\uff1c", "\u0435", "\u0301", "\u2010", "\U000e003c"),
    *("caf\u00e9 ", "The ferry ", "12", "(", ")", "{", "}", "`", "*", "=", "\t", "\r\n", "\x00"),
)

#: Family to targets and disguise, of both kinds.
_ALL = DISGUISES | WIDE_DISGUISES


@dataclasses.dataclass(frozen=True)
class Attack:
    """
    One text that somebody stores to break out.

    Attributes:
        text: The text that is stored.
        target: The delimiter that it hides.
        families: The disguises, in the order in which they were put on.
        core: The disguised delimiter without the text around it.

    """

    text: str
    target: str
    families: tuple[str, ...]
    core: str


def disguised(target: str, families: tuple[str, ...], rng: random.Random) -> Attack:
    """One attack: the target in these disguises, those left out that cannot dress it."""
    core, worn = TARGETS[target], []
    for family in families:
        targets, disguise = _ALL[family]
        if target in targets:
            core = disguise(rng, core)
            worn.append(family)
    return Attack(_placed(rng, core, target), target, tuple(worn), core)


def _placed(rng: random.Random, core: str, target: str) -> str:
    """The disguised delimiter among plain words; a heading stands on a line of its own."""
    before, behind = (rng.choice(("", *_WORDS)) for _ in range(2))
    if target == "heading":
        return f"{before}\n{core}\n{behind}" if before else f"{core}\n{behind}"
    return rng.choice(("{} {} {}", "{}\n{}\n{}", "{}{}\n{}")).format(before, core, behind)


def attack(rng: random.Random) -> Attack:
    """One attack, drawn as `attacks` draws it."""
    target = rng.choice([*BLOCK, *BLOCK, "role"])
    fitting = [family for family, (targets, _) in _ALL.items() if target in targets]
    count = rng.choice((0, 1, 1, 1, 2, 2, 3))
    return disguised(target, tuple(rng.choices(fitting, k=count)) if fitting else (), rng)


def near_miss(rng: random.Random) -> str:
    """Pieces of delimiters and of their disguises in any order: most of them are no attack."""
    pieces = [rng.choice(_PIECES) for _ in range(rng.randint(1, 12))]
    strange = [chr(rng.choice((rng.randint(0x80, 0x2FFF), rng.randint(0xE000, 0x1FFFF))))]
    return "".join([*pieces, *(strange if rng.random() < 0.5 else []), rng.choice(_PIECES)])


def attacks() -> "SearchStrategy[Attack]":
    """Attacks that shrink to fewer disguises."""
    from hypothesis import strategies as st

    return st.builds(
        lambda target, families, seed: disguised(target, tuple(families), random.Random(seed)),
        st.sampled_from([*BLOCK, "role"]),
        st.lists(st.sampled_from([*_ALL]), max_size=3),
        st.integers(0, 2**32 - 1),
    )


def cut(text: str, rng: random.Random, most: int = 6) -> list[str]:
    """The text in up to `most` pieces, at places drawn by `rng`; some may be empty."""
    places = sorted(rng.randint(0, len(text)) for _ in range(rng.randint(1, most - 1)))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
