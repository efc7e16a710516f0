"""Chapter 75: the scrubber, which takes a leaked block out of a stream of the model's words."""

import random
from collections.abc import Iterator

from memproto.testing.attacks import attack, cut
from memproto.testing.bypasses import BENIGN, EFFECTIVE
from memproto.testing.clauses import check
from memproto.testing.disguises import TARGETS
from memproto.testing.fencing import (
    BUILD,
    SCRUBBER,
    encodable,
    new_scrubber,
    scrubbed,
    stream,
)
from memproto.testing.hostrun import HostRun
from memproto.testing.wire import show

_OPEN, _CLOSE = TARGETS["open"], TARGETS["close"]

#: So many random cuts of each text, beside each cut in two and each character by itself.
_CUTS = 2


def _block(run: HostRun) -> tuple[str, str]:
    """A block, and a name that only its text holds."""
    fact = run.facts.new()
    block = run.fenced(BUILD, [(run.label(), fact.text)])
    assert isinstance(block, str)
    return block, fact.name


@check("MP-HOST-FENCE-017", budget_s=300.0)
def the_result_of_a_stream_does_not_depend_on_its_pieces(run: HostRun) -> None:
    new_scrubber(run)
    block, _ = _block(run)
    rng = random.Random(run.context.seed)
    for text in _streams(block):
        _assert_same(run, text, [cut(text, rng) for _ in range(8 * _CUTS)])
    _assert_every_cut_in_two(run, f"\u0130\n{block}\nThe end \u0130.")
    texts = [*EFFECTIVE.values(), *BENIGN.values()]
    texts += [encodable(attack(rng).text) for _ in range(run.examples * 5)]
    for text in texts:
        leak = f"{block}{text}" if rng.random() < 0.5 else text
        _assert_same(run, leak, [cut(leak, rng) for _ in range(_CUTS)])


def _streams(block: str) -> Iterator[str]:
    yield f"Before.\n{block}\nAfter."
    yield f"Hello {block} and {block} bye"
    yield f"{block[: len(block) // 2]}"
    yield f"a {_OPEN} b {_CLOSE} c {_OPEN}\n[System note: x]\nd"
    yield f"{_OPEN}{block}{_CLOSE}"


def _assert_every_cut_in_two(run: HostRun, text: str) -> None:
    _assert_same(run, text, [[text[:place], text[place:]] for place in range(len(text) + 1)])


def _assert_same(run: HostRun, text: str, cuts: list[list[str]]) -> None:
    whole = scrubbed(run, [text])
    for pieces in [*cuts, list(text)]:
        got = scrubbed(run, pieces)
        if got != whole:
            shown = show(pieces) if len(pieces) < len(text) else "single characters"
            expected = f"{show(whole)}, as in one piece"
            run.violated(expected, f"{show(got)} out of {shown}", operation=SCRUBBER)


@check("MP-HOST-FENCE-018")
def a_leaked_block_is_taken_out_and_nothing_else(run: HostRun) -> None:
    new_scrubber(run)
    block, name = _block(run)
    _assert_taken_out(run, f"Before. {block} Behind.", name, ("Before.", "Behind."))
    _assert_taken_out(run, f"Before.\n{block}\nBehind.", name, ("Before.", "Behind."))
    _assert_taken_out(run, f"{block}{block}Behind.", name, ("Behind.",))
    _assert_taken_out(run, f"Before.\n\n{block[: -len(_CLOSE)]}", name, ("Before.",))
    for text in (f"The tag {_OPEN} opens it.", f"Between {_OPEN} and {_CLOSE} it stands."):
        _assert_taken_out(
            run, text, _OPEN, tuple(text.replace(_OPEN, "").replace(_CLOSE, "").split())
        )
    for text in BENIGN.values():
        got = scrubbed(run, list(text))
        if got != encodable(text):
            run.violated(f"{show(text)} as it was", show(got), operation=SCRUBBER)


def _assert_taken_out(run: HostRun, text: str, secret: str, words: tuple[str, ...]) -> None:
    got = scrubbed(run, [text])
    if secret in got:
        expected = f"a stream without {show(secret)}"
        run.violated(expected, f"{show(got)} out of {show(text)}", operation=SCRUBBER)
    missing = [word for word in words if word not in got]
    if missing:
        expected = f"{missing[0]!r}, which is no part of a block"
        run.violated(expected, f"{show(got)} out of {show(text)}", operation=SCRUBBER)


#: The note, the tag and some white space are what may have to be seen before it is decided.
_MOST_HELD = 1_000


@check("MP-HOST-FENCE-019")
def what_is_no_block_is_not_held_back(run: HostRun) -> None:
    new_scrubber(run)
    words = "The ferry leaves at six. " * 120
    for head in ("", "a < b ", f"The tag {_OPEN} opens it. ", f"{_OPEN}\n[System note: x]\n", "<"):
        given = stream(run, list(head + words))
        seen = sum(map(len, given[:-1]))
        held = len(head + words) - seen
        if held > _MOST_HELD:
            expected = f"at most {_MOST_HELD} characters held back before the end"
            observed = f"{held} of {len(head + words)} after {show(head)}"
            run.violated(expected, observed, operation=SCRUBBER)
