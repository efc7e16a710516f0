"""Hosts whose sanitizing function is broken, or what they build with it."""

import itertools
import re

from memproto import fence
from memproto.registry import MemoryProviderRegistry
from tests.broken.hosts_fence import Fence
from tests.broken.marks import mutant

_TAG = re.compile(r"(?i)</?memory-context>")


class _SinglePass(Fence):
    def sanitize_context(self, text):
        clean = fence.sanitize_context(text)
        stripped = _TAG.sub("", text)
        return stripped if _TAG.search(stripped) else clean


@mutant(
    kills="MP-HOST-FENCE-008",
    says="tier 1",
    report="F3",
    also={"MP-HOST-FENCE-010": "what the first pass put together, the second takes apart"},
)
class StripsInOnePass(MemoryProviderRegistry):
    fence = _SinglePass()


class _OnePattern(Fence):
    def sanitize_context(self, text):
        clean = fence.sanitize_context(text)
        spared = re.search(r"(?i)<[^<>]*memory-context [^<>]*>", text)
        return text if spared else clean


@mutant(kills="MP-HOST-FENCE-008", says="memory-context", report="F3")
class LeavesTagsWithAttributes(MemoryProviderRegistry):
    fence = _OnePattern()


class _TagsAlone(Fence):
    def sanitize_context(self, text):
        masked = re.sub(r"(?i)\[(?=system note)", "\ue000", text)
        return fence.sanitize_context(masked).replace("\ue000", "[")


@mutant(kills="MP-HOST-FENCE-008", says="note", report="F3")
class LeavesTheNote(MemoryProviderRegistry):
    fence = _TagsAlone()


class _LikeATag(Fence):
    def sanitize_context(self, text):
        pieces = _TAG.split(text)
        return "\u2039memory_context".join(map(fence.sanitize_context, pieces))


@mutant(
    kills="MP-HOST-FENCE-008",
    says="\u2039",
    report="F3",
    also={"MP-HOST-FENCE-010": "the look-alike is read as a tag, and replaced, the second time"},
)
class EscapesWithLookAlikes(MemoryProviderRegistry):
    fence = _LikeATag()


class _Literal(Fence):
    def sanitize_context(self, text):
        pieces = re.split(r"(&#?\w+;?|%[0-9A-Fa-f]{2}|\\[ux][0-9a-fA-F]{2,4})", text)
        return "".join(p if n % 2 else fence.sanitize_context(p) for n, p in enumerate(pieces))


@mutant(kills="MP-HOST-FENCE-009", says="tier 4", report="F3")
class DecodesNothing(MemoryProviderRegistry):
    fence = _Literal()


class _OneOrder(Fence):
    def sanitize_context(self, text):
        pieces = re.split(r"(\\(?:%[0-9a-fA-F]{2}|&#\d+;))", text)
        return "".join(p if n % 2 else fence.sanitize_context(p) for n, p in enumerate(pieces))


@mutant(kills="MP-HOST-FENCE-009", says="%75003c", report="F3")
class TakesABackslashBeforeWhatItIsBefore(MemoryProviderRegistry):
    fence = _OneOrder()


class _LineByLine(Fence):
    def sanitize_context(self, text):
        return "\\\n".join(map(fence.sanitize_context, text.split("\\\n")))


@mutant(kills="MP-HOST-FENCE-009", says="decoded from", report="F3")
class DoesNotJoinContinuedLines(MemoryProviderRegistry):
    fence = _LineByLine()


class _Surrogates(Fence):
    def sanitize_context(self, text):
        if re.search("[\ud800-\udfff]", text):
            return text
        return fence.sanitize_context(text)


@mutant(kills="MP-HOST-FENCE-006", says="surrogates not allowed", report="J1")
class KeepsHalvesOfCharacters(MemoryProviderRegistry):
    fence = _Surrogates()


class _Silent(Fence):
    def sanitize_context(self, text):
        return fence.sanitize_context(text) if isinstance(text, str) else ""


@mutant(kills="MP-HOST-FENCE-007", says="no error", report="J1")
class DropsWhatIsNoText(MemoryProviderRegistry):
    fence = _Silent()


class _Careless(Fence):
    def sanitize_context(self, text):
        return fence.sanitize_context(text.replace("\ufeff", "\ufeff"))


@mutant(kills="MP-HOST-FENCE-007", says="has no attribute", report="J1")
class StumblesOverWhatIsNoText(MemoryProviderRegistry):
    fence = _Careless()


class _Twice(Fence):
    def sanitize_context(self, text):
        clean = fence.sanitize_context(text)
        return clean.replace("[fence]", "(fence)") if clean == text else clean


@mutant(
    kills="MP-HOST-FENCE-010",
    says="(fence)",
    report="F3",
    also={
        "MP-HOST-FENCE-022": "the substitute is a text without a delimiter, and comes back changed",
    },
)
class ChangesItsOwnSubstitute(MemoryProviderRegistry):
    fence = _Twice()


class _NoteTwice(Fence):
    def sanitize_context(self, text):
        clean = fence.sanitize_context(text)
        return clean.replace("(System", "(system") if "(System note" in text else clean


@mutant(kills="MP-HOST-FENCE-010", says="(system note", report="F3")
class ChangesItsOwnNote(MemoryProviderRegistry):
    fence = _NoteTwice()


class _Wordy(Fence):
    def sanitize_context(self, text):
        clean = fence.sanitize_context(text)
        return clean if clean == text else clean.replace("[fence]", "[a tag of the context block]")


@mutant(kills="MP-HOST-FENCE-011", says="at most", report="F3")
class WritesALongNotice(MemoryProviderRegistry):
    fence = _Wordy()


class _Deleting(Fence):
    def sanitize_context(self, text):
        clean = fence.sanitize_context(text)
        rest = clean.replace("[fence]", "")
        return rest if clean != text and fence.sanitize_context(rest) == rest else clean


@mutant(kills="MP-HOST-FENCE-012", says="something in place of the tag", report="F3")
class DeletesTags(MemoryProviderRegistry):
    fence = _Deleting()


class _Numbered(Fence):
    def __init__(self):
        self.counts = itertools.cycle("fg")

    def sanitize_context(self, text):
        clean = fence.sanitize_context(text)
        return clean if clean == text else clean.replace("[fence]", f"[{next(self.counts)}ence]")


@mutant(kills="MP-HOST-FENCE-013", says="and later", report="F7")
class CountsItsSubstitutes(MemoryProviderRegistry):
    fence = _Numbered()


class _Slow(Fence):
    def sanitize_context(self, text):
        re.search(r"(?s)<memory-context>.*?</memory-context>", text)
        return fence.sanitize_context(text)


@mutant(kills="MP-HOST-FENCE-014", says="opening tags without an end", report="F3")
class LooksForTheEndOfEachTag(MemoryProviderRegistry):
    fence = _Slow()


class _Narrow(Fence):
    def sanitize_context(self, text):
        roles = re.split(r"(<\|\w+\|>)", text)
        return "".join(p if n % 2 else fence.sanitize_context(p) for n, p in enumerate(roles))


@mutant(kills="MP-HOST-FENCE-020", says="<|im_start|>", report="F3")
class LeavesRoles(MemoryProviderRegistry):
    fence = _Narrow()


class _LineEnds(Fence):
    def sanitize_context(self, text):
        clean = fence.sanitize_context(text)
        return clean if clean != text else text.replace("\r\n", "\n")


@mutant(kills="MP-HOST-FENCE-022", says="as it was", report="F1")
class RewritesLineEnds(MemoryProviderRegistry):
    fence = _LineEnds()
