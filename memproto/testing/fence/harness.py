"""Common parts of the checks of a fence: its functions under a budget, examples, and times."""

import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from memproto.testing.clauses import NotApplicable, Violation
from memproto.testing.evidence import Raised, Returned
from memproto.testing.fence.attacks import Attack, attack
from memproto.testing.fence.bypasses import EFFECTIVE
from memproto.testing.fence.spellings import each_form, misspelled, spelled
from memproto.testing.host.run import HostRun
from memproto.testing.wire import show

SANITIZE = "sanitize_context"
BUILD = "build_memory_context_block"
INJECT = "inject_memory_context"
PARSE = "parse_memory_context"
SCRUBBER = "StreamingContextScrubber"

#: An example of the grammar costs a fence some ten microseconds, and the reader a few hundred.
_EXAMPLES_EACH = 20
_SPELLINGS_EACH = 40

_SURROGATES = re.compile("[\ud800-\udfff]")


def sanitized(run: HostRun, text: str) -> str:
    """The host's result for a text."""
    clean = run.fenced(SANITIZE, text)
    if not isinstance(clean, str):
        run.violated(
            Returned(
                wanted="a str", value=show(clean), given=show(text), tail=f" for {show(text)}"
            ),
            operation=SANITIZE,
        )
    return clean


def encodable(text: str) -> str:
    """The text with each lone surrogate replaced, as a fence replaces it."""
    return _SURROGATES.sub("\ufffd", text)


def each_attack(run: HostRun, holds: Callable[[str], None]) -> None:
    """The fixed attack strings, then the profile's number of attacks of the grammar."""
    for text in EFFECTIVE.values():
        holds(f"Tea. {text} Milk.")
        holds(f"Tea.\n{text}\nMilk.")
    rng = random.Random(run.context.seed)
    for _ in range(run.examples * _EXAMPLES_EACH):
        _smallest(attack(rng), holds)


def _smallest(found: Attack, holds: Callable[[str], None]) -> None:
    """Try an attack; where it gets through, report it without the words around it if that does."""
    try:
        holds(encodable(found.text))
    except Violation:
        holds(encodable(found.core))
        raise


def each_spelling(run: HostRun, holds: Callable[[str], None]) -> None:
    """Each character of a delimiter as each escape, then escapes of escapes, drawn by the seed."""
    for text in each_form():
        holds(text)
    rng = random.Random(run.context.seed)
    for _ in range(run.examples * _SPELLINGS_EACH):
        _shortest(spelled(rng), holds)


def each_misspelling(run: HostRun, holds: Callable[[str], None]) -> None:
    """The same of what is no delimiter, for one letter of it is another, one more, or missing."""
    rng = random.Random(run.context.seed)
    for _ in range(run.examples * _SPELLINGS_EACH):
        _shortest(misspelled(rng), holds)


def _shortest(text: str, holds: Callable[[str], None]) -> None:
    """Try a text; where it gets through, tell it without each character that it can spare."""
    found: Violation | None = None
    place = 0
    while place <= len(text):
        # First the text as it is, then without the character before each place.
        shorter = text[: max(0, place - 1)] + text[place:]
        try:
            holds(shorter)
        except Violation as violation:
            text, found = shorter, violation
            place = max(1, place)
        else:
            if found is None:
                return
            place += 1
    if found is not None:
        raise found


def examples(run: HostRun, strategy: Any, holds: Callable[[Any], None], *, each: int = 1) -> None:
    """Run a property in the profile's number of examples, the same ones for the same seed."""
    from hypothesis import HealthCheck, Phase, given, seed, settings

    is_deep = run.context.profile == "deep"
    shape: Any = settings(
        max_examples=run.examples * each,
        deadline=None,
        database=None,
        derandomize=not is_deep,
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    property_of: Any = given(strategy)
    seeded: Any = seed(run.context.seed)
    test: Any = shape(property_of(holds))
    (seeded(test) if is_deep else test)()


# -- streams ---------------------------------------------------------------------------------------


def scrubbed(run: HostRun, pieces: Sequence[str]) -> str:
    """The result of the host's scrubber for a stream of pieces, in all."""
    return "".join(stream(run, pieces))


def stream(run: HostRun, pieces: Sequence[str]) -> list[str]:
    """The result of the host's scrubber for each piece, and at the end."""
    scrubber = new_scrubber(run)
    with run.watched("recall", 5.0):
        try:
            given = [*(scrubber.feed(piece) for piece in pieces), scrubber.flush()]
        except Exception as error:
            run.violated(
                Raised.by(error, wanted="feed and flush return", tail=f" for {show(pieces)}")
            )
    for answer in given:
        if not isinstance(answer, str):
            run.violated(
                Returned(wanted="a str from feed and from flush", value=show(answer)),
                operation=SCRUBBER,
            )
    return given


def new_scrubber(run: HostRun) -> Any:
    """
    A scrubber of the host.

    Raises:
        NotApplicable: It has none.

    """
    if SCRUBBER not in run.loaded.fence:
        raise NotApplicable(f"the host shows no {SCRUBBER}")
    return run.fenced(SCRUBBER)


# -- time ------------------------------------------------------------------------------------------


def seconds(function: Callable[[str], Any], text: str, times: int = 1) -> float:
    """The least processor time of some calls."""
    best = float("inf")
    for _ in range(times):
        began = time.process_time()
        function(text)
        best = min(best, time.process_time() - began)
    return best


def worst_cases(size: int) -> Iterator[tuple[str, str]]:
    """Texts of about `size` characters on which careless fences take quadratic time, by name."""
    for name, (head, unit, tail) in _WORST.items():
        repeats = max(1, (size - len(head) - len(tail)) // max(1, len(unit)))
        yield name, head + unit * repeats + tail
    half = size // 18
    yield "a splice of that depth", "</memory-" * half + "</memory-context>" + "context>" * half


_WORST = {
    "opening tags without an end": ("", "<memory-context>", ""),
    "closing tags": ("", "</memory-context>", ""),
    "brackets": ("", "<", ""),
    "a bracket, then spaces": ("<", " ", ""),
    "brackets and spaces": ("", "< ", ""),
    "a bracket and a slash, then spaces": ("</", " ", ""),
    "a tag without its end, then spaces": ("<memory-context", " ", ""),
    "tags without their end": ("", "<memory-context" + " " * 50, ""),
    "a note, then spaces": ("[System note:", " ", ""),
    "notes": ("", "[System note:", ""),
    "notes without their end": (
        "",
        "[System note: The following context was auto-retrieved from\nlong-term memory. ",
        "",
    ),
    "marks of headings": ("", "#", ""),
    "a heading that does not end": ("# ", "memory ", "x"),
    "headings": ("", "### x memory\n", ""),
    "an entity of an entity": ("&", "amp;", "lt;/memory-context"),
    "a percent sign of a percent sign": ("%", "25", "3C/memory-context"),
    "percent signs": ("", "%25", "3C"),
    "digits of an entity": ("&#", "0", "60;/memory-context"),
    "backslashes": ("", "\\", ""),
    "zero width spaces": ("<", "\u200b", "/memory-context>"),
    "combining marks": ("m", "\u0301", ""),
    "tag characters": ("", "\U000e003c", ""),
    "marks of direction": ("", "\u202e", ""),
    "turned lines": ("", "\u202e>", ""),
    "letters in an open bracket": ("<", "m ", ""),
    "opening and closing": ("", "<memory-context></memory-context>", ""),
    "one line of letters": ("", "a", ""),
    "line breaks": ("", "\n", ""),
}
