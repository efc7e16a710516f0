"""
The grammar's speed in finding each family in a fence that strips in one pass, as shipped hosts do.

    python -P tests/testing/fence/attack_search.py [EXAMPLES] [SEED ...]

Prints for each seed the example that first got through, by family; 1 where a family never did.
"""

import random
import re
import sys
from pathlib import Path

if str(Path(__file__).parents[3]) not in sys.path:
    sys.path.append(str(Path(__file__).parents[3]))

from memproto.fence import NOTE
from memproto.testing.fence.attacks import attack
from memproto.testing.fence.disguises import DISGUISES
from memproto.testing.fence.oracle import effective

#: Every family of which a strip in one pass leaves something. It takes nested ones away.
FAMILIES = tuple(family for family in DISGUISES if family not in ("case", "nest"))


def single_pass(text):
    """As shipped hosts do it: whole blocks, their own note, and tags, each taken out once."""
    text = re.sub(r"(?is)<\s*memory-context\s*>.*?</\s*memory-context\s*>", "", text)
    text = text.replace(NOTE, "")
    return re.sub(r"(?i)</?\s*memory-context\s*>", "", text)


def first_hits(strip, seed, examples):
    """
    Family to the number of the first example, in this disguise alone, that got through.

    Notes and headings the strip leaves in any dress: they count for the families of their own.
    """
    rng, hits = random.Random(seed), {}
    for number in range(1, examples + 1):
        tried = attack(rng)
        if len(tried.families) == 1 and tried.families[0] not in hits:
            is_own = tried.target in ("open", "close") or tried.families[0] in ("label", "note")
            if is_own and effective(strip(tried.text)):
                hits[tried.families[0]] = number
    return hits


def main(words):
    examples = int(words[0]) if words else 2_000
    missed = 0
    for seed in map(int, words[1:] or ["1", "2", "3"]):
        hits = first_hits(single_pass, seed, examples)
        absent = [family for family in FAMILIES if family not in hits]
        told = ", ".join(f"{family} {hits[family]}" for family in FAMILIES if family in hits)
        shown = f"seed {seed}: {told}; never: {absent or 'none'}"
        print(shown)  # noqa: T201 - the result of this command
        missed += len(absent)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
