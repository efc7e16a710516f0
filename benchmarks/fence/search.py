"""
Looks for a hole in the fence: attacks of the grammar against the properties P1 to P13.

    python -P benchmarks/fence/search.py [EXAMPLES] [SEED ...]

Prints one line for each seed, and each violation with what reproduces it; 1 where there is any.
Without arguments: 6,000 examples for each of the seeds 1 to 5.
"""

import collections
import random
import sys
import time
from collections.abc import Iterator

from memproto import (
    StreamingContextScrubber,
    build_memory_context_block,
    parse_memory_context,
    sanitize_context,
)
from memproto.testing.fence.attacks import Attack, attack, cut, near_miss
from memproto.testing.fence.harness import encodable
from memproto.testing.fence.oracle import effective, may, must

_LABELS = ("before", "hostile", "behind")
_OTHERS = ("One </memory-context> two.", "context> three")


def violations(text: str, rng: random.Random) -> Iterator[str]:
    """The names of the properties that do not hold for a text."""
    whole = encodable(text)
    clean = sanitize_context(text)
    yield from _of_the_result(whole, clean)
    if sanitize_context(clean) != clean:
        yield "P3 idempotent"
    if sanitize_context(text) != clean:
        yield "P7 deterministic"
    yield from _of_the_block(text, clean)
    yield from _of_the_stream(text, rng)


def _of_the_result(text: str, clean: str) -> Iterator[str]:
    if not clean.isascii():
        clean.encode("utf-8")
    left = effective(clean)
    if left:
        yield f"P2 tier {left[0].tier} {left[0].kind}"
    if clean != text and not may(text):
        yield "P4 minimal"
    if len(clean) > len(text):
        yield "P5 length"
    if any(finding.kind == "role" for finding in must(clean)):
        yield "SHOULD role"
    done = 0
    for stretch in _stretches(text):
        place = clean.find(stretch, done)
        if place < 0:
            yield "P6 substitution"
            return
        done = place + len(stretch)


def _stretches(text: str) -> list[str]:
    found, done = [], 0
    for finding in may(text):
        found.append(text[done : finding.start])
        done = max(done, finding.end)
    return [stretch for stretch in [*found, text[done:]] if stretch]


def _of_the_block(text: str, clean: str) -> Iterator[str]:
    texts = (_OTHERS[0], text, _OTHERS[1])
    block = build_memory_context_block(list(zip(_LABELS, texts, strict=True)))
    kept = [
        (label, sanitize_context(one).strip()) for label, one in zip(_LABELS, texts, strict=True)
    ]
    wanted = [(label, one) for label, one in kept if one]
    counts = collections.Counter(finding.kind for finding in effective(block))
    if [counts[kind] for kind in ("open", "close", "note", "heading")] != [1, 1, 1, len(wanted)]:
        yield f"P9 {dict(counts)}"
    if parse_memory_context(block) != wanted:
        yield "P9 parse"
    plain = build_memory_context_block([(_LABELS[0], texts[0]), (_LABELS[2], texts[2])])
    if clean.strip() and block.replace(f"### hostile memory\n{clean.strip()}\n", "", 1) != plain:
        yield "P10 sections"


def _of_the_stream(text: str, rng: random.Random) -> Iterator[str]:
    leak = rng.choice((text, text + build_memory_context_block([("leaked", text)]) + text))
    whole = _scrubbed([leak])
    if any(_scrubbed(cut(leak, rng)) != whole for _ in range(3)):
        yield "P13 streaming"


def _scrubbed(pieces: list[str]) -> str:
    scrubber = StreamingContextScrubber()
    return "".join([*(scrubber.feed(piece) for piece in pieces), scrubber.flush()])


def search(seed: int, examples: int) -> list[tuple[Attack, str]]:
    """Every violation that the examples of one seed show."""
    rng = random.Random(seed)
    found = []
    for number in range(examples):
        tried = attack(rng)
        if number % 5 == 0:
            text = near_miss(rng)
            tried = Attack(text, "near miss", (), text)
        try:
            found += [(tried, name) for name in violations(tried.text, rng)]
        except Exception as error:
            found.append((tried, f"P1 total: {error!r}"))
    return found


def main(words: list[str]) -> int:
    """Search, and print what was found."""
    examples = int(words[0]) if words else 6_000
    worst = 0
    for seed in map(int, words[1:] or ["1", "2", "3", "4", "5"]):
        began = time.perf_counter()
        found = search(seed, examples)
        took_s = time.perf_counter() - began
        print(f"seed {seed}: {examples} examples, {len(found)} violations, {took_s:.0f} s")
        for tried, name in found[:20]:
            print(f"  {name}: {tried.families} {tried.core!r} in {tried.text!r}")
        worst |= bool(found)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
