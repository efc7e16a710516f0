"""
Odd texts that the contract allows: every one is a str that a user or a model may write.

`NAMED` is the fixed list, so that a message can say which one it was; `generated` adds texts that
nobody thought of, the same for the same seed; `any_text` is the strategy for property tests.
"""

import dataclasses
import random
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from memproto.testing import incidents, locate
from memproto.testing.evidence import Raised
from memproto.testing.facts import Fact
from memproto.testing.provider.run import Run
from memproto.testing.provider.subject import BackendAway, HookRaised
from memproto.testing.scenarios import smallest
from memproto.testing.scenarios.smallest import Least
from memproto.testing.wire import show

_WORDS = "the harbour keeps its lamps lit while the last ferry crosses "

#: Name to text; the name completes the sentence "it raised for ...".
NAMED: dict[str, str] = {
    "an empty text": "",
    "a single space": " ",
    "nothing but line breaks": "\n\r\n\t\n",
    "a NUL": "before\x00after",
    "nothing but a NUL": "\x00",
    "control characters": "bell \x07 escape \x1b[31mred\x1b[0m delete \x7f unit \x1f",
    "a lone high surrogate": "half of an emoji: \ud83d",
    "a lone low surrogate": "\udc80 from an undecodable file name",
    "a surrogate inside a word": "the har\ud83dbour",
    "a surrogate pair the wrong way round": "\ude00\ud83d",
    "right-to-left text": "שלום עולם، مرحبا بالعالم",
    "bidirectional overrides": "invoice\u202efdp.exe\u202c \u2066isolated\u2069",
    "combining marks": "Z\u0351\u036b\u0343a\u0363l\u0358g\u0321o\u0337 e\u0301 \u0301",
    "emoji with joiners": "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d\u26a7",
    "invisible characters": "\ufeffzero\u200bwidth\u2060joined\u00ad",
    "noncharacters": "\uffff \ufffe \ufdd0 \U0010ffff",
    "unusual line separators": "one\u2028two\u2029three\x85four\x0bfive\x0csix",
    "line ends of Windows": "first line\r\nsecond line\rthird line\n",
    "SQL": '\'; DROP TABLE memories; -- " OR "1"="1',
    "wildcards of LIKE": "100% of _all_ \\ [a-z]",
    "operators of full-text search": 'NEAR("a" "b", 2) AND OR NOT * ^ {x y}: -z +',
    "an operator at the end": "the harbour AND NOT",
    "an operator at the beginning": "OR the harbour",
    "nothing but an operator": "NOT",
    "brackets that are not closed": "(the harbour OR (the lamps",
    "brackets that were not opened": "the harbour) AND the lamps)",
    "an unbalanced quotation mark": 'he said "never',
    "nothing but punctuation": "?!*\"'()[]{}^~:;.,-",
    "a column filter": "title: secret -body:* session:1",
    "a regular expression": "(a+)+$ [unclosed *? {2,1} (?P<x",
    "format fields": "{name} {0!r} {} %s %(key)d %",
    "shell and template syntax": "${HOME} $(id) `id` {{ config }} <%= x %>",
    "JSON": '{"role": "system", "content": null, "n": NaN}',
    "broken JSON": '{"a": "\\ud800", "b": [1, 2',
    "backslashes": "C:\\new\\table\\u00e9 \\\\ \\x00 \\",
    "markdown": "# Title\n\n```python\nprint(1)\n```\n- [ ] *item* | a | b |\n---\n",
    "front matter": "---\nkey: [unclosed\n---\n!!python/object:os.system\n",
    "markup": "<b>bold</b> &amp; <![CDATA[ x ]]> <!-- y --> <script>",
    "tags of the context block": "</memory-context> <memory-context> </mem</memory-context>ory>",
    "a line with a section sign": "one\n§\ntwo",
    "a path": "../../etc/passwd",
    "the word None": "None",
    "a number": "0",
    "20 kB without a space": "a" * 20_000,
    "20 kB of words": (_WORDS * 350)[:20_000],
    "5,000 lines": "line\n" * 5_000,
}

#: For the hooks whose chapters ask for it: a pasted log, or a file.
LONG = {"100,000 characters": (_WORDS * 1_700)[:100_000]}
LONGEST = {"250,000 characters": (_WORDS * 4_100)[:250_000]}

#: The length from which on texts grow.
_LEAST_CHARS = 16

_ALPHABET = (
    "abc xyz \n\t0",
    "\x00\x01\x1f\x7f\x85",
    "'\"`\\%_*?^~(){}[]<>|&;:-+=/$#@!.,",
    "éßçñøЖяשםعمあ漢字한",
    "\u0301\u0358\u200b\u200d\u200e\u202e\u2028\ufeff\ufffd\uffff",
    "\ud800\ud83d\udbff\udc00\ude00\udfff",
    "\U0001f600\U0001f468\U0010ffff§",
)


_CALM = "it was a calm day and "

_MENTION = "See <memory-context>."


def around(facts: Sequence[Fact], long_chars: int) -> list[tuple[str, Fact, str]]:
    """
    Each of eight facts in unusual surroundings: what is unusual, the fact, and the text to store.

    The first of these completes the sentence "it returned for a text ...".
    """
    long, below, half, ends, accented, quoted, behind, asks = facts
    accented = accented.accented()
    told = [
        (f"of {long_chars:,} characters", long, padded(long.text, long_chars)),
        ("of three lines", below, f"Also:\n\n{below.text}"),
        ("with half a surrogate pair in it", half, f"{half.text} \ud83d"),
        ("with a NUL in it", ends, f"{ends.text} \x00 So much for that."),
        ("with letters beyond ASCII", accented, accented.text),
        ("with quotation marks", quoted, f'{quoted.text} "It\'s" C:\\new, he said.'),
        # No block: a user who asks about one says its name.
        ("behind a mention of <memory-context>", behind, f"{_MENTION} {behind.text}"),
        ("that ends in a question", asks, f"{asks.text} Did you know?"),
    ]
    return [(what, fact.within(text), text) for what, fact, text in told]


def behind_as_much(facts: Sequence[Fact], other: Fact) -> list[Fact]:
    """The facts, each behind as many plain words as stand before `other` in its surroundings."""
    chars = max(other.whole.find(other.text), 0)
    before = f"{(_CALM * chars)[: chars - 1]} " if chars else ""
    return [fact.within(f"{before}{fact.text}") for fact in facts]


def padded(text: str, chars: int) -> str:
    """The text, and after it other sentences up to that length."""
    parts, size = [text], len(text)
    for day in range(1, chars):
        line = f"On day {day} the harbour was calm and nothing was moved."
        size += len(line) + 1
        if size > chars:
            break
        parts.append(line)
    return " ".join(parts)


def filled(text: str, chars: int) -> str:
    """The text, and after it other sentences up to exactly that length."""
    known = padded(text, chars)
    return known if len(known) >= chars else f"{known} {'a' * (chars - len(known) - 1)}"


def odd(run: Run, long: Mapping[str, str] | None = None) -> dict[str, str]:
    """Each of the named texts, then those of `long`, then generated ones as the profile asks."""
    return {**named(run, long), **generated(run.context.seed, run.examples)}


def named(run: Run, long: Mapping[str, str] | None = None) -> dict[str, str]:
    """
    Each of the named texts, then those of `long`.

    If texts are to grow, the beginnings of long ones come first, the shortest before all others.
    """
    known = {**NAMED, **(long or {})}
    lasting = {name: text for name, text in known.items() if len(text) >= incidents.LONG_CHARS}
    grown = {
        f"{chars:,} characters of {name}": text[:chars]
        for chars in lengths(run, max(map(len, lasting.values())))[:-1]
        for name, text in lasting.items()
        if chars < len(text)
    }
    return {**grown, **known}


def lengths(run: Run, most: int) -> list[int]:
    """The lengths of which a check makes long texts: one, or also its halves, the least first."""
    found = [most]
    while run.context.grows and found[0] >= 2 * _LEAST_CHARS:
        found.insert(0, found[0] // 2)
    return found


def generated(seed: int, count: int) -> dict[str, str]:
    """`count` random texts of odd characters; the same seed gives the same texts."""
    source = random.Random(seed)
    texts = (_random_text(source) for _ in range(count))
    return {f"the generated text {show(text, 80)}": text for text in texts}


def _random_text(source: random.Random) -> str:
    length = source.choice((1, 2, 3, 5, 8, 13, 40, 200))
    return "".join(source.choice(source.choice(_ALPHABET)) for _ in range(length))


def any_text() -> Any:
    """Returns a Hypothesis strategy for every str: surrogates included, odd texts preferred."""
    from hypothesis import strategies as st

    free = st.text(st.characters())
    odd = st.text(st.sampled_from("".join(_ALPHABET)))
    return st.one_of(free, odd, st.sampled_from(list(NAMED.values())))


#: Seconds for which one hook is fed with texts; a quick one takes all of them in a fraction of it.
PATIENCE_S = 60.0


@dataclasses.dataclass(frozen=True)
class Raising:
    """
    A text for which a hook raised.

    Attributes:
        name: The name of the text, which completes "it raised for ...".
        failure: The exception that was raised.
        least: The smallest part of the text for which it raises as well; None if none was found.
        is_plain: True for the plain text, after which no other one was tried.

    """

    name: str
    failure: HookRaised
    least: Least | None = None
    is_plain: bool = False


def is_report(failure: HookRaised) -> bool:
    """True for an exception by which a provider reports a refusal."""
    return failure.is_report


def raised_for(
    run: Run,
    texts: Mapping[str, str],
    use: Callable[[str], None],
    *,
    allows: Callable[[HookRaised], bool] = is_report,
    makes_smaller: bool = True,
) -> list[Raising]:
    """
    Use every text, and give those for which a hook raised what it may not.

    A plain text is used first. If the hook raises for it, that is the one to tell, and none of the
    others is used: nothing in them is to blame. Else the smallest part that fails is looked for in
    the first of them. Names of something else (`makes_smaller` is False) are not texts, and have
    neither a plain one nor parts. A hook that is slow and inside its bound is not asked for ever:
    after `PATIENCE_S` the texts that are left, the generated ones last, are let be.

    Raises:
        HookRaised: A hook raised what ends the process, or its backend is away.

    """
    plain = _failure(use, smallest.PLAIN) if makes_smaller else None
    if plain is not None and not allows(plain):
        return [Raising(f"the plain text {smallest.PLAIN!r}", plain, is_plain=True)]
    found: list[Raising] = []
    end = monotonic() + PATIENCE_S
    for name, text in texts.items():
        if monotonic() > end:
            break
        failure = _failure(use, text)
        if failure is not None and not allows(failure):
            found.append(Raising(name, failure))
    if found and makes_smaller:
        found[0] = made_smaller(run, found[0], texts[found[0].name], use)
    return found


def made_smaller(run: Run, raising: Raising, text: str, use: Callable[[str], None]) -> Raising:
    """
    The same with the smallest part of the text for which the same line raises the same.

    None is told if a plain text raises anything: a provider that waits before it tries its backend
    again raises from another line meanwhile.
    """

    def fails(part: str) -> bool:
        again = _failure(use, part)
        if again is None:
            return False
        return part == smallest.PLAIN or _kind(again) == _kind(raising.failure)

    return dataclasses.replace(raising, least=smallest.of_text(run, text, fails))


def _kind(failure: HookRaised) -> tuple[str, str, str]:
    """A failure by its hook, its exception's class, and the author's line that it came from."""
    return failure.operation, type(failure.error).__name__, locate.raised(failure.error)


def _failure(use: Callable[[str], None], text: str) -> HookRaised | None:
    try:
        use(text)
    except HookRaised as failure:
        if failure.ends_process or isinstance(failure, BackendAway):
            raise
        return failure
    return None


def none_raises(
    run: Run, found: list[Raising], operation: str, wanted: str, *, of: int = 0
) -> None:
    """
    See that a hook raised for no text, of as many as were tried; 0 if the message counts none.

    Raises:
        Violation: It did.

    """
    if not found:
        return
    first, count = found[0], len({one.name for one in found})
    seen = Raised.by(
        first.failure.error,
        wanted=wanted,
        hook=run.hook(operation),
        given=first.name,
        count=count,
        of=0 if first.is_plain else of,
    )
    run.violated(seen if first.least is None else first.least.told(seen))
