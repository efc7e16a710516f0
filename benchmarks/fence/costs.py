"""
The cost of sanitizing and scrubbing, beside a shipped fence in the same run.

    python benchmarks/fence/costs.py [benign] [worst] [stream] [memory]

All four by default. The peer is hermes-agent's `sanitize_context`; where it cannot be imported its
columns are empty.
Outputs are checked before anything is timed. Times are medians of 5, processor time, on one core.
"""

import functools
import math
import os
import pathlib
import statistics
import sys
import sysconfig
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

from memproto import StreamingContextScrubber, build_memory_context_block, sanitize_context

try:
    from agent.memory_manager import sanitize_context as peer
except ImportError:
    peer = None

ROUNDS = 5
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 200_000)
PEER_NOTE = (
    "[System note: The following is recalled memory context, NOT new user input. "
    "Treat as authoritative reference data"
)
BLOCK = build_memory_context_block([("a", "fact " * 20)])

PLAIN = "The ferry to the northern harbour leaves at six, and the quay is lit until nine. "
MARKDOWN = (
    "## Ports of the north\n\nSee [the list](ports.md#north) or run `make -j4 && ./sync 2>&1`.\n\n"
    "- if a < b, then 50% of C:\\data\\new goes first; the rest waits for the morning tide,\n"
    "  as Tom & Ann wrote in their note about the memory of the old ferry and its context\n"
    "- [x] call `f(x[0])`, it returns a <b>list</b> of the ports that are open in winter\n\n"
)
MIXED = (
    "Паром уходит в шесть; набережная освещена до девяти. 渡轮六点出发。码头的灯亮到九点。 "
    "Der Hafen schließt früh, « dit-il » — “naïve” café… שלום עולם, مرحبا بالعالم 🚢👨‍👩‍👧 "
    "The ferry leaves at six & returns [see list] at 50% load.\n## Порты севера\n"
)


def repeated(unit: str) -> Callable[[int], str]:
    """Texts of a size that consist of `unit`."""
    return lambda size: (unit * (size // len(unit) + 1))[:size]


@functools.cache
def library() -> str:
    """The sources of the standard library that runs, one behind the other."""
    paths = sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("*.py"))
    return "".join(path.read_text("utf-8") for path in paths)


def tags(text: str) -> str:
    """`text` in the Tags block."""
    return "".join(chr(0xE0000 + ord(c)) for c in text)


WORST: dict[str, Callable[[int], str]] = {
    "opening tags, no close": repeated("<memory-context>"),
    "closing tags": repeated("</memory-context>"),
    "alternating tags": repeated("<memory-context></memory-context>"),
    "<": repeated("<"),
    "< and spaces": lambda n: "<" + " " * n,
    "< , repeated": repeated("< "),
    "</ and spaces": lambda n: "</" + " " * n,
    "tag and spaces": lambda n: "<memory-context" + " " * n,
    "tag and 50 spaces, repeated": repeated("<memory-context" + " " * 50),
    "note and spaces": lambda n: "[System note:" + " " * n,
    "notes": repeated("[System note:"),
    "the peer's note, no ]": repeated(PEER_NOTE),
    "splice": lambda n: "</memory-" * (n // 17) + "</memory-context>" + "context>" * (n // 17),
    "#": repeated("#"),
    "# , repeated": repeated("# "),
    "# and words": lambda n: "# " + "memory " * (n // 7) + "x",
    "& amp; ... lt;": lambda n: "&" + "amp;" * (n // 4) + "lt;/memory-context",
    "&amp;": repeated("&amp;"),
    "%25 ... 3C": lambda n: "%25" * (n // 3) + "3C",
    "backslashes": repeated("\\"),
    "backslashes and x": lambda n: "\\" * n + "x",
    "\\x3c": repeated("\\x3c"),
    "a percent escape in a backslash": repeated("\\%5c"),
    "a reference of a backslash": repeated("&bsol;\\45"),
    "octal backslashes": repeated("\\134"),
    "escaped octal backslashes": repeated("\\\\134"),
    "backslashes and lines": repeated("134\\\\\\\n"),
    "an encoded tag, in turns": repeated("\\%75003c/memory&#45;context>"),
    "zero width spaces": lambda n: "<" + "\u200b" * n,
    "combining marks": lambda n: "<" + "\u0301" * n,
    "Tags": repeated(tags("<m")),
    "overrides": repeated("\u202e"),
    "overrides and tags": repeated("\u202e<m"),
    "m , inside a bracket": lambda n: "<" + "m " * (n // 2),
    "ligatures": repeated("<\ufb06"),
    "one line": repeated("m"),
    "line breaks": repeated("\n"),
}

STREAMS: dict[str, Callable[[int], str]] = {
    "benign": repeated(PLAIN),
    "many blocks": repeated(BLOCK + "x"),
    "many mentions": repeated("<memory-context> "),
    "brackets": repeated("<"),
    "tag and spaces": lambda n: "<memory-context" + " " * n,
}


def seconds(function: Callable[..., Any], *args: Any, rounds: int = ROUNDS) -> float:
    """The median of some rounds, each long enough to be measured."""
    calls = 1
    # The first call of all makes the tables, so that none of these counts.
    while _each_s(calls, function, *args) * calls <= 0.002:
        calls *= 4
    return statistics.median(_each_s(calls, function, *args) for _ in range(rounds))


def _each_s(calls: int, function: Callable[..., Any], *args: Any) -> float:
    began = time.process_time()
    for _ in range(calls):
        function(*args)
    return (time.process_time() - began) / calls


def slope(times: list[float], sizes: Sequence[int] = SIZES) -> float:
    """The exponent of growth over the last four sizes."""
    xs = [math.log(size) for size in sizes[-4:]]
    ys = [math.log(took) for took in times[-4:]]
    return statistics.linear_regression(xs, ys).slope


def benign() -> None:
    """Texts without a delimiter."""
    print(f"\n{'benign':22} {'characters':>10} {'us':>10} {'peer us':>10} {'ratio':>6}")
    texts = {"plain ASCII": PLAIN, "ASCII markdown": MARKDOWN, "mixed Unicode": MIXED}
    texts["Python's own sources"] = library()
    for name, unit in texts.items():
        for size in (1_000, 100_000, 10_000_000):
            text = repeated(unit)(size)
            assert sanitize_context(text) == text
            assert peer is None or peer(text) == text or unit is library()
            # Side by side, so that a change of the machine's speed meets both.
            pairs = [(seconds(sanitize_context, text), _peer_s(text)) for _ in range(ROUNDS)]
            own, other = (statistics.median(side) for side in zip(*pairs, strict=True))
            ratio = statistics.median(mine / theirs for mine, theirs in pairs)
            print(f"{name:22} {size:10} {own * 1e6:10.1f} {other * 1e6:10.1f} {ratio:6.2f}")


def _peer_s(text: str) -> float:
    return seconds(peer, text) if peer is not None else math.nan


def worst() -> None:
    """Texts made to be slow."""
    print(f"\n{'worst':30} {'ms at 200k':>10} {'slope':>6} {'peer ms':>10} {'times':>8}")
    for name, text in WORST.items():
        clean = sanitize_context(text(1_000))
        assert sanitize_context(clean) == clean
        times = [seconds(sanitize_context, text(size)) for size in SIZES]
        other = _once(peer, text(SIZES[-1])) if peer is not None else math.nan
        print(
            f"{name:30} {times[-1] * 1e3:10.2f} {slope(times):6.2f} {other * 1e3:10.1f}"
            f" {other / times[-1]:8.1f}"
        )


def _once(function: Callable[..., Any], text: str) -> float:
    began = time.process_time()
    function(text)
    return time.process_time() - began


def stream() -> None:
    """The scrubber, with one chunk and with chunks of one character."""
    print(f"\n{'stream':22} {'one chunk, ms':>14} {'slope':>6} {'us/character':>13} {'slope':>6}")
    for name, text in STREAMS.items():
        assert scrub([text(1_000)]) == scrub(text(1_000))
        whole = [seconds(scrub, [text(size)]) for size in SIZES]
        single = [seconds(scrub, text(size)) for size in SIZES]
        each = single[-1] / SIZES[-1] * 1e6
        row = f"{whole[-1] * 1e3:14.2f} {slope(whole):6.2f} {each:13.2f} {slope(single):6.2f}"
        print(f"{name:22} {row}")


def scrub(chunks: Any) -> str:
    """The shown text of a stream."""
    scrubber = StreamingContextScrubber()
    return "".join([*map(scrubber.feed, chunks), scrubber.flush()])


def memory() -> None:
    """Memory that is allocated at the peak, as a multiple of the text."""
    print(f"\n{'memory':30} {'times the text':>14}")
    texts = {"benign markdown": repeated(MARKDOWN), "benign mixed": repeated(MIXED), **WORST}
    for name, text in texts.items():
        given = text(1_000_000)
        sanitize_context(given[:2_000])
        tracemalloc.start()
        sanitize_context(given)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"{name:30} {peak / sys.getsizeof(given):14.2f}")


def main() -> None:
    """Measure what was asked for."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    tables = {"benign": benign, "worst": worst, "stream": stream, "memory": memory}
    for name in sys.argv[1:] or tables:
        tables[name]()


if __name__ == "__main__":
    main()
