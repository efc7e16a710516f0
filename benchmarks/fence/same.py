"""
The fence of this checkout beside that of another wheel, on drawn texts: the same output.

    python benchmarks/fence/same.py WHEEL [TEXTS] [SEED]

Draws attacks of the grammar, near misses, delimiters in nested escapes, and pieces of them with
characters that are read as others, alone and in long texts. Prints how many differed, in how many
of these the oracle still sees a delimiter, and the first ones; 1 if there is one of the second
kind. Without numbers: 100,000 texts of seed 1.
"""

import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import orders
from kinds import former

from memproto import sanitize_context
from memproto.fence import folding
from memproto.fence.characters import visible
from memproto.testing.fence.attacks import attack, near_miss
from memproto.testing.fence.oracle import effective

MOST_SHOWN = 10
_PLAIN = "The ferry <b>leaves</b> at six & returns [see](list#north) at 50% load.\n# Ports\n"
_OTHER = "Früh — „ja“ … → 渡轮六点出发 שלום é😀"


def drawn(rng: random.Random, likes: list[str]) -> str:
    """One text."""
    which = rng.random()
    if which < 0.35:
        text = attack(rng).text
    elif which < 0.5:
        text = near_miss(rng)
    elif which < 0.65:
        text = orders.drawn(rng)
    else:
        words = rng.choice(("<memory-context>", "</memory-context>", "[System note", "## a memory"))
        text = words + rng.choice(("", " x", ">", "\n"))
    text = list(text)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 4))):
        at = rng.randrange(len(text) + 1)
        text[at : at + rng.choice((0, 1))] = rng.choice(likes)
    if rng.random() < 0.5:
        around = "".join(rng.choices((_PLAIN, _PLAIN, _OTHER), k=rng.choice((1, 2, 30))))
        at = rng.randrange(len(around) + 1)
        return around[:at] + "".join(text) + around[at:]
    return "".join(text)


def main(words: list[str]) -> int:
    """Draw, compare, print."""
    texts = int(words[1]) if len(words) > 1 else 100_000
    seed = int(words[2]) if len(words) > 2 else 1
    rng = random.Random(seed)
    likes = [chr(code) for code, fold in [*visible().items()] if code > 0x7F and fold != chr(code)]
    likes += list("\ud800\udc00\U000e003c\ufe0f\u3001中é\U0001f600\U00010400")
    differ = folds = holes = 0
    with TemporaryDirectory() as folder:
        theirs = former(Path(words[0]), folder)
        for number in range(texts):
            # Each way of searching takes its turn: a process changes from one to the other.
            folding.most_short = (1 << 60) * (number % 2)
            text = drawn(rng, likes)
            folds += not text.isascii() and folding.folded(text) is not None
            clean, former_clean = sanitize_context(text), theirs(text)
            if clean != former_clean:
                differ += 1
                holes += bool(effective(clean))
                if differ <= MOST_SHOWN:
                    print(*map(ascii, (text, clean, former_clean)), sep="\n  ")
    print(f"seed {seed}: {texts} texts, {folds} of them folded, {differ} differ, {holes} show one")
    return int(holes > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
