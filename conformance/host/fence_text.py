"""Chapter 75: what a host's sanitizing function makes of a text."""

import contextlib
import locale
import random
from collections.abc import Callable, Iterator
from typing import Any

from memproto.testing.attacks import attack, near_miss
from memproto.testing.bypasses import BENIGN, EFFECTIVE, ROLES
from memproto.testing.clauses import Inconclusive, check
from memproto.testing.disguises import TARGETS
from memproto.testing.fencing import (
    BUILD,
    INJECT,
    SANITIZE,
    each_attack,
    sanitized,
    seconds,
    worst_cases,
)
from memproto.testing.hostrun import HostRun
from memproto.testing.oracle import DECODED, SMUGGLED, TURNED, effective, may, must
from memproto.testing.oracle_decoders import decodings
from memproto.testing.texts import NAMED
from memproto.testing.wire import show

_HALVES = ("\ud800", "\udfff x", "<\udc3c/memory-context>", "\udc80" * 3, "\ud83d\ude00")

# -- any value -------------------------------------------------------------------------------------


@check("MP-HOST-FENCE-006")
def every_text_comes_back_as_a_text_that_can_be_encoded(run: HostRun) -> None:
    for text in (*_HALVES, *NAMED.values(), *EFFECTIVE.values(), *BENIGN.values()):
        _assert_encodes(run, text)
    rng = random.Random(run.context.seed)
    for _ in range(run.examples * 5):
        _assert_encodes(run, "".join(chr(rng.randrange(0x110000)) for _ in range(20)))
        _assert_encodes(run, "".join(chr(rng.randrange(0x3000)) for _ in range(20)))
        _assert_encodes(run, attack(rng).text)


def _assert_encodes(run: HostRun, text: str) -> None:
    clean = sanitized(run, text)
    try:
        clean.encode("utf-8")
    except UnicodeEncodeError as error:
        expected = "a text that can be encoded as UTF-8"
        run.violated(expected, f"{show(error)} for {show(text)}", operation=SANITIZE)


#: Errors that say that a function met what it did not expect, and not that it refused it.
_ACCIDENTS = (AttributeError, LookupError, AssertionError, RuntimeError, NameError)


@check("MP-HOST-FENCE-007")
def what_is_no_text_is_refused_by_its_type(run: HostRun) -> None:
    for value in (None, 7, b"</memory-context>", ["x"], {"text": "x"}):
        _assert_refused(run, SANITIZE, value, value)
    for value in (7, b"x", {"text": "x"}):
        _assert_refused(run, BUILD, value, [(run.label(), value)])
    context = [(run.label(), "The ferry leaves at six.")]
    for value in (7, b"Hello.", {"text": "Hello."}):
        _assert_refused(run, INJECT, value, value, context)


def _assert_refused(run: HostRun, name: str, value: Any, *args: Any) -> None:
    kind = type(value).__name__
    expected = f"an error of its own, a TypeError or a ValueError, that says {kind}"
    run.needs_fence(name)
    error = run.refusal(name, *args)
    if error is None:
        run.violated(expected, f"no error for {show(value)}", operation=name)
    if isinstance(error, _ACCIDENTS) or kind not in str(error):
        run.violated(expected, f"{show(error)} for {show(value)}", operation=name)


# -- delimiters ------------------------------------------------------------------------------------


@check("MP-HOST-FENCE-008", budget_s=300.0)
def no_delimiter_is_left_to_be_seen(run: HostRun) -> None:
    each_attack(run, lambda text: _assert_none_left(run, text, SMUGGLED))


@check("MP-HOST-FENCE-009", budget_s=300.0)
def no_delimiter_is_left_to_be_decoded(run: HostRun) -> None:
    each_attack(run, lambda text: _assert_none_left(run, text, TURNED))


def _assert_none_left(run: HostRun, text: str, level: int) -> None:
    if not effective(text, level):
        return
    clean = sanitized(run, text)
    # What a literal reader sees is the business of the lower level alone.
    lowest = 0 if level == SMUGGLED else SMUGGLED
    left = [finding for finding in effective(clean, level) if finding.tier > lowest]
    if left:
        shown = clean[left[0].start : left[0].end]
        expected = f"no delimiter that is read at tier {left[0].tier}"
        observed = f"{left[0].kind} {show(shown)} in {show(clean)}, out of {show(text)}"
        if left[0].tier == DECODED and left[0].end - left[0].start == len(clean):
            observed = f"{left[0].kind} in {show(_shown(clean))}, decoded from {show(clean)}"
        run.violated(expected, observed, operation=SANITIZE)


def _shown(clean: str) -> str:
    """The first decoding that shows a delimiter; the text itself where no order of them does."""
    return next((one for one in decodings(clean) if effective(one, SMUGGLED)), clean)


@check("MP-HOST-FENCE-020")
def no_role_token_is_left(run: HostRun) -> None:
    for text in (*ROLES.values(), *(f"a {text} b" for text in ROLES.values())):
        clean = sanitized(run, text)
        left = [finding for finding in must(clean, SMUGGLED) if finding.kind == "role"]
        if left:
            observed = f"{show(clean)} out of {show(text)}"
            run.violated("a role token that is broken", observed, operation=SANITIZE)


# -- what a function has to hold -------------------------------------------------------------------


@check("MP-HOST-FENCE-010", budget_s=300.0)
def sanitizing_twice_is_sanitizing_once(run: HostRun) -> None:
    each_attack(run, lambda text: _assert_idempotent(run, text))


def _assert_idempotent(run: HostRun, text: str) -> None:
    once = sanitized(run, text)
    twice = sanitized(run, once)
    if twice != once:
        observed = f"{show(twice)} out of {show(once)}, out of {show(text)}"
        run.violated("a sanitized text that is left as it is", observed, operation=SANITIZE)


@check("MP-HOST-FENCE-011", budget_s=300.0)
def a_text_does_not_get_longer(run: HostRun) -> None:
    each_attack(run, lambda text: _assert_no_longer(run, text))


def _assert_no_longer(run: HostRun, text: str) -> None:
    clean = sanitized(run, text)
    if len(clean) > len(text):
        observed = f"{len(clean)}: {show(clean)} out of {show(text)}"
        run.violated(f"at most {len(text)} characters", observed, operation=SANITIZE)


@check("MP-HOST-FENCE-012", budget_s=300.0)
def what_stands_beside_a_delimiter_stays_and_stays_apart(run: HostRun) -> None:
    for name in ("open", "close"):
        _assert_apart(run, "before", TARGETS[name], "behind")
    block = f"one {TARGETS['open']} two {TARGETS['close']} three"
    clean = sanitized(run, block)
    if [word for word in ("one", "two", "three") if word not in clean.split()]:
        run.violated("the words around two tags", f"{show(clean)} out of {show(block)}")
    each_attack(run, lambda text: _assert_words_stay(run, text))


def _assert_apart(run: HostRun, before: str, core: str, behind: str) -> None:
    clean = sanitized(run, before + core + behind)
    if not clean.startswith(before) or not clean.endswith(behind) or clean == before + behind:
        expected = f"{before!r}, something in place of the tag, and {behind!r}"
        run.violated(expected, f"{show(clean)} out of {show(core)}", operation=SANITIZE)


def _assert_words_stay(run: HostRun, text: str) -> None:
    """Each stretch that nobody takes for a part of a delimiter stands there, in order."""
    clean, done = sanitized(run, text), 0
    for stretch in _stretches(text):
        place = clean.find(stretch, done)
        if place < 0:
            expected = f"{show(stretch)}, which is no delimiter, in its place"
            run.violated(expected, f"{show(clean)} out of {show(text)}", operation=SANITIZE)
        done = place + len(stretch)


def _stretches(text: str) -> list[str]:
    found, done = [], 0
    for finding in may(text):
        found.append(text[done : finding.start])
        done = max(done, finding.end)
    return [stretch for stretch in [*found, text[done:]] if stretch]


@check("MP-HOST-FENCE-013")
def the_same_text_gives_the_same_result(run: HostRun) -> None:
    texts = [*EFFECTIVE.values(), *BENIGN.values(), *ROLES.values()]
    first = [sanitized(run, text) for text in texts]
    with _another_locale():
        again = [sanitized(run, text) for text in reversed(texts)]
    for text, one, other in zip(texts, first, reversed(again), strict=True):
        if one != other:
            observed = f"{show(one)}, and later {show(other)}, out of {show(text)}"
            run.violated("the same result each time", observed, operation=SANITIZE)


@contextlib.contextmanager
def _another_locale() -> Iterator[None]:
    """Another locale than that of the process, where the machine has one."""
    before = locale.setlocale(locale.LC_CTYPE)
    for name in ("tr_TR.UTF-8", "C"):
        with contextlib.suppress(locale.Error):
            locale.setlocale(locale.LC_CTYPE, name)
            break
    try:
        yield
    finally:
        locale.setlocale(locale.LC_CTYPE, before)


# -- time ------------------------------------------------------------------------------------------

_SIZES = (2_500, 10_000, 40_000)

#: Below it a result says nothing, and hurts nobody.
_SHORT_S = 0.05

#: Four times the text takes four times as long; with quadratic growth, sixteen times.
_MOST_TIMES = 9.0


@check("MP-HOST-FENCE-014", budget_s=240.0)
def time_grows_as_the_text_does(run: HostRun) -> None:
    def clean(text: str) -> str:
        return sanitized(run, text)

    previous = dict(worst_cases(_SIZES[0]))
    for size in _SIZES[1:]:
        current = dict(worst_cases(size))
        for name, text in current.items():
            _assert_linear(run, clean, name, previous[name], text)
        previous = current


def _assert_linear(
    run: HostRun, clean: Callable[[str], str], name: str, short: str, long: str
) -> None:
    if seconds(clean, long) <= _SHORT_S:
        return
    growths = [_growth(clean, short, long) for _ in range(2)]
    if max(growths) <= _MOST_TIMES:
        return
    told = " and ".join(f"{growth:.1f}" for growth in growths)
    if min(growths) <= _MOST_TIMES:
        raise Inconclusive(f"for {len(long)} characters of {name} it took {told} times as long")
    observed = f"{told} times as long for {len(long)} as for {len(short)} characters of {name}"
    run.violated("time in proportion to the text", observed, operation=SANITIZE)


def _growth(clean: Callable[[str], str], short: str, long: str) -> float:
    quick = seconds(clean, short, 5)
    return seconds(clean, long, 3) / max(quick, 1e-6)


# -- unchanged -------------------------------------------------------------------------------------


@check("MP-HOST-FENCE-022", budget_s=300.0)
def what_nobody_takes_for_a_delimiter_comes_back_as_it_was(run: HostRun) -> None:
    for text in BENIGN.values():
        _assert_untouched(run, text)
    each_attack(run, lambda text: _assert_untouched(run, text))
    rng = random.Random(run.context.seed)
    for _ in range(run.examples * 50):
        _assert_untouched(run, near_miss(rng))


def _assert_untouched(run: HostRun, text: str) -> None:
    if may(text):
        return
    clean = sanitized(run, text)
    if clean != text:
        run.violated(f"{show(text)} as it was", show(clean), operation=SANITIZE)
